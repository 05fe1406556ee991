"""The environment that the functions of a stack see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PROJECT = "demo-almanac"
UPLOADS = "almanac-uploads"
DERIVED = "almanac-derived"
SERVICE_ACCOUNT = f"tasks@{PROJECT}.iam.gserviceaccount.com"
QUEUE = f"projects/{PROJECT}/locations/local/queues/work"

# What would lead a function away from the stack, or make it believe that it is deployed.
_FOREIGN = frozenset(
    {
        "CLOUD_TASKS_EMULATOR_HOST",
        "FIREBASE_AUTH_EMULATOR_HOST",
        "FIRESTORE_EMULATOR_HOST",
        "FUNCTION_SIGNATURE_TYPE",
        "FUNCTION_SOURCE",
        "FUNCTION_TARGET",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "K_REVISION",
        "K_SERVICE",
        "PORT",
        "PUBSUB_EMULATOR_HOST",
        "STORAGE_EMULATOR_HOST",
    }
)
_PAID = ("ANTHROPIC_", "OPENAI_")


@dataclass(frozen=True, slots=True)
class Addresses:
    firestore_host: str
    storage_url: str
    tasks_host: str
    redis_url: str
    tasks_function_url: str
    tasks_certs_url: str = ""

    def variables(self) -> dict[str, str]:
        """What points the product at this stack; also for a process beside it, such as `infra.admin`."""
        return {
            "GOOGLE_CLOUD_PROJECT": PROJECT,
            "FIRESTORE_EMULATOR_HOST": self.firestore_host,
            "STORAGE_EMULATOR_HOST": self.storage_url,
            "CLOUD_TASKS_EMULATOR_HOST": self.tasks_host,
            "REDIS_URL": self.redis_url,
            "ALMANAC_UPLOADS_BUCKET": UPLOADS,
            "ALMANAC_DERIVED_BUCKET": DERIVED,
            "ALMANAC_TASKS_QUEUE": QUEUE,
            "ALMANAC_TASKS_URL": self.tasks_function_url,
            "ALMANAC_TASKS_SERVICE_ACCOUNT": SERVICE_ACCOUNT if self.tasks_certs_url else "",
            "ALMANAC_TASKS_CERTS_URL": self.tasks_certs_url,
        }


def function_environment(
    inherited: Mapping[str, str], addresses: Addresses, more: Mapping[str, str], *, paid_models: bool
) -> dict[str, str]:
    """`inherited` without what is foreign to the stack, and without the keys of paid models unless they are
    wanted; then the stack's own variables and `more`."""
    kept = {
        name: value
        for name, value in inherited.items()
        if name not in _FOREIGN and (paid_models or not name.startswith(_PAID))
    }
    local = ",".join(filter(None, [kept.get("NO_PROXY", kept.get("no_proxy", "")), "127.0.0.1", "localhost"]))
    return {**kept, "NO_PROXY": local, "no_proxy": local, **addresses.variables(), **more}
