"""The table of models: what calls cost, and what is refused."""

from __future__ import annotations

import json

import pytest

from shared.domain.catalogue import KNOWN, Catalogue, Provider, Task, read_models
from shared.domain.errors import MisconfiguredError
from shared.domain.models import TokenUse
from shared.domain.spending import Purpose, Spending, spent, total
from shared.settings import Settings

OWN = {
    "id": "claude-own-1",
    "provider": "anthropic",
    "task": "writing",
    "context": 200_000,
    "max_output": 8_000,
    "prices": [{"input": 1.0, "output": 5.0, "cache_read": 0.1, "cache_write": 1.25}],
    "priced_on": "2026-12-01",
}


def writing(name: str, catalogue: Catalogue | None = None) -> object:
    return (catalogue or Catalogue()).find(name, Provider.ANTHROPIC, Task.WRITING)


@pytest.mark.parametrize(
    ("name", "tokens", "nano_dollars"),
    [
        # fresh input, output, read from the cache, taken into it
        ("claude-sonnet-5-5", (1_000_000, 0, 0, 0), 2_000_000_000),
        ("claude-sonnet-5-5", (0, 1_000_000, 0, 0), 10_000_000_000),
        ("claude-sonnet-5-5", (0, 0, 1_000_000, 0), 200_000_000),
        ("claude-sonnet-5-5", (0, 0, 0, 1_000_000), 2_500_000_000),
        ("claude-haiku-5-5", (100_000, 100, 0, 0), 100_000 * 100 + 100 * 500),
        ("claude-haiku-5-5", (100_001, 100, 0, 0), 100_001 * 500 + 100 * 2_500),
        ("claude-haiku-5-5", (1, 0, 100_000, 0), 500 + 100_000 * 50),  # what the cache gave counts as prompt
        ("text-embedding-3-small", (7, 0, 0, 0), 140),
        ("text-embedding-3-large", (7, 0, 0, 0), 910),
    ],
)
def test_what_a_call_costs(name: str, tokens: tuple[int, int, int, int], nano_dollars: int) -> None:
    (model,) = [model for model in KNOWN if model.id == name]
    fresh, output, read, written = tokens
    use = model.use(fresh, output, cache_read=read, cache_write=written)
    assert use == TokenUse(name, fresh + read + written, output, read, written, 1, nano_dollars)


def test_every_model_has_limits_and_a_price_that_somebody_looked_up() -> None:
    for model in KNOWN:
        assert model.priced_on
        assert model.prices[0].above == 0
        assert model.prices[0].input > 0
        limits = (
            (model.dimensions, model.most_inputs) if model.task is Task.EMBEDDING else (model.max_output,)
        )
        assert min(model.context, *limits) > 0


@pytest.mark.parametrize("name", ["claude-2", "text-embedding-3-small", ""])
def test_a_model_that_is_not_known_is_refused_with_those_that_are(name: str) -> None:
    with pytest.raises(MisconfiguredError, match=r"known are claude-haiku-5-5, "):
        writing(name)


def test_a_deployment_can_describe_models_of_its_own() -> None:
    catalogue = Catalogue(read_models(json.dumps([OWN])))
    assert writing("claude-own-1", catalogue)
    dearer = {**OWN, "id": "claude-sonnet-5-5"}
    (model,) = read_models(json.dumps([dearer]))
    assert Catalogue((model,)).find(model.id, Provider.ANTHROPIC, Task.WRITING).use(1_000).cost == 1_000_000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not a list of models"),
        (json.dumps([{**OWN, "prices": []}]), "claude-own-1 has no price"),
        (json.dumps([{**OWN, "max_output": 0}]), "no max_output"),
        (json.dumps([{**OWN, "task": "embedding"}]), "lacks dimensions"),
        (json.dumps([{**OWN, "provider": "acme"}]), r"0\.provider"),
    ],
)
def test_a_model_that_is_half_described_is_refused(text: str, said: str) -> None:
    with pytest.raises(MisconfiguredError, match=said):
        read_models(text)


def test_settings_refuse_a_model_that_would_be_called_and_is_not_known() -> None:
    unknown = {"ALMANAC_ANSWER_MODEL": "claude-next"}
    Settings.from_env(unknown)  # without a key nothing is called
    with pytest.raises(MisconfiguredError, match="claude-next"):
        Settings.from_env({**unknown, "ANTHROPIC_API_KEY": "k"})
    own = {"ALMANAC_ANSWER_MODEL": "claude-own-1", "ALMANAC_MODELS": json.dumps([OWN])}
    assert Settings.from_env({**own, "ANTHROPIC_API_KEY": "k"}).answer_model == "claude-own-1"


def test_settings_of_rates_and_times() -> None:
    made = Settings.from_env(
        {
            "ALMANAC_ANTHROPIC_REQUESTS_PER_MINUTE": "50",
            "ALMANAC_ANTHROPIC_TOKENS_PER_MINUTE": "30000",
            "ALMANAC_OPENAI_CONCURRENCY": "4",
            "ALMANAC_SILENCE_SECONDS": "2.5",
        }
    )
    assert (made.anthropic_allowance.requests_per_minute, made.anthropic_allowance.tokens_per_minute) == (
        50,
        30_000,
    )
    assert (made.openai_allowance.concurrency, made.silence_seconds) == (4, 2.5)


def test_spending_adds_up_by_purpose_and_model() -> None:
    found = spent(
        Spending(Purpose.QUESTION, TokenUse("e", 5, calls=1, cost=100)),
        Spending(Purpose.ANSWER, TokenUse("a", 10, 3, 4, 2, 1, 50)),
        Spending(Purpose.ANSWER, TokenUse("a", 1, 1, calls=1, cost=7)),
        Spending(Purpose.REWRITE, TokenUse()),
    )
    assert found == (
        Spending(Purpose.QUESTION, TokenUse("e", 5, calls=1, cost=100)),
        Spending(Purpose.ANSWER, TokenUse("a", 11, 4, 4, 2, 2, 57)),
    )
    assert (total(found).cost, total(found).calls) == (157, 3)
