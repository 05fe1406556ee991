"""Settings from the environment, read once at the edge and passed on as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shared.domain.catalogue import Catalogue, Model, Provider, Task, read_models
from shared.domain.errors import MisconfiguredError
from shared.domain.models import Allowance

_ALLOWANCE = Allowance()


def refuse_emulators(env: Mapping[str, str]) -> None:
    """For the start of a function: raises `MisconfiguredError` when it is deployed (`K_SERVICE` is set) and
    told of an emulator. With the Auth emulator's variable forged tokens would pass, with the others data
    would go astray; even an empty one counts for some clients."""
    found = sorted(name for name in env if name.endswith(("_EMULATOR_HOST", "_EMULATOR_HUB")))
    if "K_SERVICE" in env and found:
        raise MisconfiguredError(
            f"The deployed function {env['K_SERVICE']} is told to use emulators by {', '.join(found)}.",
            hint="Remove these variables from the deployment.",
        )


@dataclass(frozen=True, slots=True)
class Settings:
    """Empty strings mean "not set". The README's table says what each is for."""

    project: str = "demo-almanac"
    database: str = "(default)"
    uploads_bucket: str = "almanac-uploads"
    derived_bucket: str = "almanac-derived"
    tasks_queue: str = "projects/demo-almanac/locations/local/queues/work"
    tasks_url: str = ""
    tasks_service_account: str = ""
    tasks_certs_url: str = ""
    tasks_emulator_host: str = ""
    storage_emulator_url: str = ""
    redis_url: str = ""
    auth_emulator_host: str = ""
    openai_api_key: str = ""
    openai_base_url: str = ""
    embedding_model: str = "text-embedding-3-small"
    anthropic_api_key: str = ""
    anthropic_base_url: str = ""
    answer_model: str = "claude-sonnet-5-5"
    summary_model: str = "claude-haiku-5-5"
    index_cache_mb: int = 256
    lease_seconds: int = 120
    advance_seconds: int = 400
    call_seconds: int = 300
    max_attempts: int = 8
    web_sites: tuple[str, ...] = ()
    fetch_pause_seconds: float = 1.0
    models: tuple[Model, ...] = ()
    anthropic_allowance: Allowance = _ALLOWANCE
    openai_allowance: Allowance = _ALLOWANCE
    answer_seconds: float = 120
    silence_seconds: float = 30
    question_seconds: float = 5
    document_call_seconds: float = 40
    deployed: bool = False

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Settings:
        """Reads the variables of the README's table; `K_SERVICE` marks a deployed function.

        Raises `MisconfiguredError` for emulators in a deployed function, and for a model whose price nobody
        knows.
        """
        refuse_emulators(env)
        default = cls()
        made = cls(
            project=env.get("GOOGLE_CLOUD_PROJECT", default.project),
            database=env.get("ALMANAC_DATABASE", default.database),
            uploads_bucket=env.get("ALMANAC_UPLOADS_BUCKET", default.uploads_bucket),
            derived_bucket=env.get("ALMANAC_DERIVED_BUCKET", default.derived_bucket),
            tasks_queue=env.get("ALMANAC_TASKS_QUEUE", default.tasks_queue),
            tasks_url=env.get("ALMANAC_TASKS_URL", ""),
            tasks_service_account=env.get("ALMANAC_TASKS_SERVICE_ACCOUNT", ""),
            tasks_certs_url=env.get("ALMANAC_TASKS_CERTS_URL", ""),
            tasks_emulator_host=env.get("CLOUD_TASKS_EMULATOR_HOST", ""),
            storage_emulator_url=env.get("STORAGE_EMULATOR_HOST", ""),
            redis_url=env.get("REDIS_URL", ""),
            auth_emulator_host=env.get("FIREBASE_AUTH_EMULATOR_HOST", ""),
            openai_api_key=env.get("OPENAI_API_KEY", ""),
            openai_base_url=env.get("OPENAI_BASE_URL", ""),
            embedding_model=env.get("ALMANAC_EMBEDDING_MODEL", default.embedding_model),
            anthropic_api_key=env.get("ANTHROPIC_API_KEY", ""),
            anthropic_base_url=env.get("ANTHROPIC_BASE_URL", ""),
            answer_model=env.get("ALMANAC_ANSWER_MODEL", default.answer_model),
            summary_model=env.get("ALMANAC_SUMMARY_MODEL", default.summary_model),
            index_cache_mb=int(env.get("ALMANAC_INDEX_CACHE_MB", default.index_cache_mb)),
            lease_seconds=int(env.get("ALMANAC_LEASE_SECONDS", default.lease_seconds)),
            advance_seconds=int(env.get("ALMANAC_ADVANCE_SECONDS", default.advance_seconds)),
            call_seconds=int(env.get("ALMANAC_CALL_SECONDS", default.call_seconds)),
            max_attempts=int(env.get("ALMANAC_MAX_ATTEMPTS", default.max_attempts)),
            web_sites=_web_sites(env),
            fetch_pause_seconds=float(env.get("ALMANAC_FETCH_PAUSE_SECONDS", default.fetch_pause_seconds)),
            models=read_models(env.get("ALMANAC_MODELS", "")),
            anthropic_allowance=_allowance(env, "ALMANAC_ANTHROPIC"),
            openai_allowance=_allowance(env, "ALMANAC_OPENAI"),
            answer_seconds=float(env.get("ALMANAC_ANSWER_SECONDS", default.answer_seconds)),
            silence_seconds=float(env.get("ALMANAC_SILENCE_SECONDS", default.silence_seconds)),
            question_seconds=float(env.get("ALMANAC_QUESTION_SECONDS", default.question_seconds)),
            document_call_seconds=float(
                env.get("ALMANAC_DOCUMENT_CALL_SECONDS", default.document_call_seconds)
            ),
            deployed="K_SERVICE" in env,
        )
        made.check_models()
        return made

    def check_models(self) -> None:
        """Raises `MisconfiguredError` for a model that would be called and is not in the catalogue."""
        catalogue = Catalogue(self.models)
        if self.openai_api_key:
            catalogue.find(self.embedding_model, Provider.OPENAI, Task.EMBEDDING)
        if self.anthropic_api_key:
            catalogue.find(self.answer_model, Provider.ANTHROPIC, Task.WRITING)
            catalogue.find(self.summary_model, Provider.ANTHROPIC, Task.WRITING)


def _web_sites(env: Mapping[str, str]) -> tuple[str, ...]:
    """`host:port` of a test's own servers, which alone may be fetched from a private network. In a deployed
    function it would be a hole in the guard: `refuse_emulators` refuses it."""
    sites = env.get("ALMANAC_WEB_EMULATOR_HOST", "")
    return tuple(filter(None, (site.strip() for site in sites.split(","))))


def _allowance(env: Mapping[str, str], prefix: str) -> Allowance:
    default = _ALLOWANCE
    return Allowance(
        requests_per_minute=int(env.get(f"{prefix}_REQUESTS_PER_MINUTE", default.requests_per_minute)),
        tokens_per_minute=int(env.get(f"{prefix}_TOKENS_PER_MINUTE", default.tokens_per_minute)),
        concurrency=int(env.get(f"{prefix}_CONCURRENCY", default.concurrency)),
    )
