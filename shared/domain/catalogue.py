"""The models that can be called: their limits and what they cost. The one place that knows either."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from pydantic import TypeAdapter, ValidationError

from shared.domain.errors import MisconfiguredError
from shared.domain.models import TokenUse


class Provider(StrEnum):
    ANTHROPIC = "anthropic"
    OPENAI = "openai"


class Task(StrEnum):
    WRITING = "writing"  # answers and summaries
    EMBEDDING = "embedding"


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens. `cache_read` and `cache_write` are for input that the provider's
    prompt cache gave or took in. Holds for prompts of more than `above` tokens."""

    input: float
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0
    above: int = 0


@dataclass(frozen=True, slots=True)
class Model:
    """`context` is the most tokens of one call, `max_output` the most that it writes. A model that embeds
    reads `context` tokens of each input, and of one request at most `most_inputs` with `most_request_tokens`
    together. `prices` are ordered by `above`; `priced_on` is the day on which they were looked up.

    `token_factor` is how many tokens it counts for one of ours (cl100k_base).
    """

    id: str
    provider: Provider
    task: Task
    context: int
    prices: tuple[Price, ...]
    priced_on: str
    max_output: int = 0
    dimensions: int = 0
    token_factor: float = 1.0
    most_inputs: int = 1
    most_request_tokens: int = 0

    def use(self, fresh: int = 0, output: int = 0, *, cache_read: int = 0, cache_write: int = 0) -> TokenUse:
        """One call: `fresh` input that no cache held or took in, and what else was counted; with its cost."""
        prompt = fresh + cache_read + cache_write
        price = next(one for one in reversed(self.prices) if prompt > one.above or not one.above)
        dollars = (
            fresh * price.input
            + output * price.output
            + cache_read * price.cache_read
            + cache_write * price.cache_write
        )
        # A dollar a million tokens is a thousand nano-dollars a token.
        return TokenUse(self.id, prompt, output, cache_read, cache_write, calls=1, cost=round(1000 * dollars))


def _claude(name: str, *prices: Price) -> Model:
    return Model(
        name,
        Provider.ANTHROPIC,
        Task.WRITING,
        context=1_000_000,
        max_output=128_000,
        prices=prices,
        priced_on="2026-11-30",
        token_factor=1.3,  # the tokenizer of this line counts about 30 % more than older ones
    )


def _prompts(input_price: float, output_price: float, above: int = 0) -> Price:
    """Anthropic's cache (of five minutes) costs a quarter more to fill and a tenth to read."""
    return Price(input_price, output_price, input_price / 10, input_price * 1.25, above)


def _embedding(name: str, dimensions: int, price: float) -> Model:
    return Model(
        name,
        Provider.OPENAI,
        Task.EMBEDDING,
        context=8_192,
        dimensions=dimensions,
        prices=(Price(price),),
        priced_on="2026-11-30",
        most_inputs=2_048,
        most_request_tokens=300_000,
    )


# Sources: platform.claude.com, "Models overview" and "Pricing"; platform.openai.com, "Pricing".
KNOWN = (
    _claude("claude-haiku-5-5", _prompts(0.10, 0.50), _prompts(0.50, 2.50, above=100_000)),
    _claude("claude-sonnet-5-5", _prompts(2.0, 10.0)),
    _claude("claude-opus-5-5", _prompts(4.0, 20.0)),
    _claude("claude-fable-5-1", _prompts(10.0, 50.0)),
    _embedding("text-embedding-3-small", 1_536, 0.02),
    _embedding("text-embedding-3-large", 3_072, 0.13),
)


class Catalogue:
    """The models of this deployment: those above, and what its settings add or price anew."""

    def __init__(self, more: Iterable[Model] = ()) -> None:
        self._models = {model.id: model for model in (*KNOWN, *more)}

    def find(self, name: str, provider: Provider, task: Task) -> Model:
        """Raises `MisconfiguredError`, which says what could be named instead."""
        model = self._models.get(name)
        if model is not None and (model.provider, model.task) == (provider, task):
            return model
        fitting = ", ".join(m.id for m in self._models.values() if (m.provider, m.task) == (provider, task))
        raise MisconfiguredError(
            f"{name!r} is no known model of {provider} for {task}; known are {fitting}.",
            hint="Name one of these, or describe the model in ALMANAC_MODELS: its limits and prices.",
        )


def read_models(text: str) -> tuple[Model, ...]:
    """Models from JSON: a list of objects with the fields of `Model`. Raises `MisconfiguredError`."""
    if not text.strip():
        return ()
    try:
        found = TypeAdapter(tuple[Model, ...]).validate_json(text, strict=False)
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors(include_input=False)
        )
        raise MisconfiguredError(f"ALMANAC_MODELS is not a list of models: {wrong}") from error
    for model in found:
        _check(model)
    return found


def _check(model: Model) -> None:
    if not model.prices or model.prices[0].above:
        raise MisconfiguredError(f"ALMANAC_MODELS: {model.id} has no price for short prompts")
    if model.task is Task.EMBEDDING and min(model.dimensions, model.most_request_tokens) < 1:
        raise MisconfiguredError(f"ALMANAC_MODELS: {model.id} lacks dimensions or most_request_tokens")
    if model.task is Task.WRITING and model.max_output < 1:
        raise MisconfiguredError(f"ALMANAC_MODELS: {model.id} writes and has no max_output")
