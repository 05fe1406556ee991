"""What goes to a model and what comes back. Providers differ; these values do not."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class TokenUse:
    """Tokens of one or more calls, as the provider counted them (an estimate for local models).

    `cached` is the part of `input` that the provider read from its prompt cache, `written` the part that it
    took into it. `cost` is in billionths of a US dollar: a token of an embedding costs twenty of them.
    """

    model: str = ""
    input: int = 0
    output: int = 0
    cached: int = 0
    written: int = 0
    calls: int = 0
    cost: int = 0

    def __add__(self, other: TokenUse) -> TokenUse:
        return TokenUse(
            self.model or other.model,
            self.input + other.input,
            self.output + other.output,
            self.cached + other.cached,
            self.written + other.written,
            self.calls + other.calls,
            self.cost + other.cost,
        )


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one process may ask of a provider; 0 means no limit. Tokens are those that are sent."""

    requests_per_minute: int = 0
    tokens_per_minute: int = 0
    concurrency: int = 32


@dataclass(frozen=True, slots=True)
class EmbeddingProfile:
    """An embedding model as retrieval must know it.

    `fingerprint` names provider, model and dimensions: vectors of different fingerprints are never compared.
    `floor` is the cosine that unrelated text has on average, `deviation` how much that scatters. `minimums`
    maps a retrieval policy (`run`, `message`) to the raw cosine below which a passage is out; the numbers
    belong to the model.
    """

    fingerprint: str
    dimensions: int
    floor: float
    minimums: tuple[tuple[str, float], ...]
    max_input_tokens: int
    deviation: float = 0.07


class TurnRole(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class Turn:
    role: TurnRole
    text: str


@dataclass(frozen=True, slots=True)
class Reference:
    """A passage as a model sees it. `id` is what it cites."""

    id: str
    title: str
    heading_path: tuple[str, ...]
    pages: tuple[int, int] | None
    text: str
    is_summary: bool = False


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A question that may lean on what was said before it: the latest turns, oldest first."""

    question: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Fold:
    """Turns, oldest first, that are to be taken into the summary of the ones before them; it may have
    `max_tokens`."""

    earlier: str
    turns: tuple[Turn, ...]
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The question as one that can be understood alone."""

    text: str
    use: TokenUse = field(default_factory=TokenUse)


@dataclass(frozen=True, slots=True)
class Prompt:
    """Everything that one answer call sends. `system` and `user` are the exact texts; the structured parts
    (`question`, `references`, `covered`) are what they were made from, for answerers that need no prose.

    `covered` says whether retrieval judged that the references answer the question. `searched` is the
    question as it was searched, where that is not its own words. `earlier` says in short what was said before
    the latest turns; its text stands in the first of `history`.
    """

    system: str
    history: tuple[Turn, ...]
    user: str
    question: str
    references: tuple[Reference, ...] = ()
    covered: bool = True
    max_output_tokens: int = 2048
    searched: str = ""
    earlier: str = ""


class StopReason(StrEnum):
    END = "end"
    MAX_TOKENS = "max_tokens"
    REFUSAL = "refusal"


@dataclass(frozen=True, slots=True)
class Reply:
    """`text` holds citation markers as the model wrote them, `[[passage_id]]`; they are validated later."""

    text: str
    use: TokenUse
    stop_reason: StopReason = StopReason.END


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """`heading_path` gives the place of the text; `language` is an ISO 639-1 code or None."""

    text: str
    heading_path: tuple[str, ...] = ()
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    text: str
    use: TokenUse = field(default_factory=TokenUse)
