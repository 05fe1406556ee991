"""What retrieval found, why, and what it left out."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from shared.domain.models import TokenUse


class Tier(StrEnum):
    """Why a knowledge base is in scope; the first that applies wins."""

    EXPLICIT = "explicit"
    ATTACHED = "attached"
    AUTO = "auto"


class RetrievalStatus(StrEnum):
    OK = "ok"
    FALLBACK = "fallback"
    EMPTY = "empty"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class ScopeEntry:
    """`document_ids` None means the whole knowledge base."""

    knowledge_base_id: str
    tier: Tier
    reason: str
    document_ids: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class RetrievedPassage:
    """`version` is the document's revision. `similarity` is the raw cosine, `lexical` the raw BM25 score,
    `fused` the chance of relevance that both come to, `score` the same with the boost: it orders. `tokens`
    counts `text` as the answering model sees it. `url` is where the document was read from, if it has an
    address. `text` is the chunk's from `start` on, behind `lead` characters of a table's header that were
    repeated in front."""

    id: str
    document_id: str
    knowledge_base_id: str
    chunk_id: str
    version: int
    title: str
    heading_path: tuple[str, ...]
    pages: tuple[int, int] | None
    text: str
    score: float
    similarity: float
    lexical: float
    boost: float
    tokens: int
    url: str | None = None
    start: int = 0
    lead: int = 0
    fused: float = 0.0


@dataclass(frozen=True, slots=True)
class RetrievedSummary:
    """A chunk's summary, standing in where no passage passed. `id` is the chunk's and can be cited."""

    id: str
    document_id: str
    knowledge_base_id: str
    version: int
    title: str
    heading_path: tuple[str, ...]
    pages: tuple[int, int] | None
    text: str
    score: float
    tokens: int
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Dropped:
    """A candidate that is not in the result. Its scores are those of `RetrievedPassage`."""

    passage_id: str
    document_id: str
    reason: str
    similarity: float
    lexical: float
    score: float
    fused: float = 0.0
    boost: float = 1.0


@dataclass(frozen=True, slots=True)
class Retrieval:
    """`covered` is the judgement whether what was found answers the question (always False when empty).
    `tokens` is the sum over passages or summaries. `detail` says what failed when `status` is failed. `use`
    is what it took to embed the question."""

    status: RetrievalStatus
    query: str
    passages: tuple[RetrievedPassage, ...] = ()
    summaries: tuple[RetrievedSummary, ...] = ()
    scope: tuple[ScopeEntry, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    tokens: int = 0
    covered: bool = False
    detail: str | None = None
    use: TokenUse = field(default_factory=TokenUse)
