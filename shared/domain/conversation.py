"""Threads, messages and runs: what was asked, what it was answered from, and what came out."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from shared.domain.agents import Unresolved
from shared.domain.knowledge import Failure
from shared.domain.models import StopReason, TokenUse, TurnRole
from shared.domain.retrieval import RetrievalStatus
from shared.domain.spending import Spending


@dataclass(frozen=True, slots=True)
class Citation:
    """Number `n` in the text stands for one passage (or, with `is_summary`, one chunk's summary) as it was
    read: `quote` is its text, `version` the document's revision, `url` the address it was read from. Stored
    with the message, so that an old answer still shows what it rests on."""

    n: int
    passage_id: str
    document_id: str
    knowledge_base_id: str
    chunk_id: str
    title: str
    heading_path: tuple[str, ...]
    pages: tuple[int, int] | None
    quote: str
    version: int
    is_summary: bool = False
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Thread:
    """A conversation. `owner` is the principal that made it; nobody else can see it.

    `message_count` numbers the messages: a message's place is taken in the transaction that counts it.
    Knowledge of the space, and `knowledge_base_ids`, are in scope for every message; with `thread_ref` only
    these documents are searched. `earlier` sums up the first `earlier_count` messages, which quote
    `earlier_documents`.
    """

    id: str
    owner: str
    title: str
    created_at: datetime
    updated_at: datetime
    message_count: int = 0
    knowledge_base_ids: tuple[str, ...] = ()
    space_id: str | None = None
    thread_ref: tuple[str, ...] = ()
    earlier: str = ""
    earlier_count: int = 0
    earlier_documents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a thread; `number` counts from 0. `document_ids` are the documents that it quotes, by which
    a delete finds it. `searched` is a question as it was searched, where that is not its text."""

    id: str
    number: int
    role: TurnRole
    text: str
    created_at: datetime
    run_id: str
    citations: tuple[Citation, ...] = ()
    document_ids: tuple[str, ...] = ()
    searched: str = ""


class RunStatus(StrEnum):
    """`failed` and `cancelled` keep what was written until then."""

    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What the caller asked for. `references` are documents that alone were searched, `files` what the
    message brought whole: ids of documents, or names."""

    question: str
    document_ids: tuple[str, ...] = ()
    knowledge_base_ids: tuple[str, ...] = ()
    agent_id: str | None = None
    space_id: str | None = None
    references: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ContextItem:
    """A passage (or summary) that stood in the prompt, with the scores that brought it there."""

    passage_id: str
    document_id: str
    knowledge_base_id: str
    chunk_id: str
    version: int
    tokens: int
    score: float
    similarity: float
    lexical: float
    is_summary: bool = False


class Rewriting(StrEnum):
    """How the query of a question came about: it is the question, or the subject of the question before was
    carried over, or a model wrote it."""

    AS_ASKED = "as_asked"
    CARRIED = "carried"
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class Standalone:
    """A question as it is searched; `reason` is for people."""

    query: str
    how: Rewriting = Rewriting.AS_ASKED
    reason: str = "the question stands alone"
    use: TokenUse = field(default_factory=TokenUse)


@dataclass(frozen=True, slots=True)
class RunRetrieval:
    """How retrieval went for a run; `detail` says what failed. `rewriting` and `reason` tell how `query` came
    about."""

    status: RetrievalStatus
    query: str
    covered: bool
    tokens: int
    detail: str | None = None
    rewriting: Rewriting = Rewriting.AS_ASKED
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SectionTokens:
    """How much of the prompt one section took."""

    kind: str
    tokens: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A part of the prompt that was left out, and why. Of documents nothing is named: they may be deleted."""

    kind: str
    title: str
    tokens: int
    reason: str


@dataclass(frozen=True, slots=True)
class RunTiming:
    """Milliseconds of each stage."""

    retrieval: int = 0
    model: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class Run:
    """One execution: what went in, what came out, and which passages were used.

    `document_ids` are the documents of its context, by which a delete finds it. `prompt_tokens` is our count
    of what was sent, `usage` the provider's of what the answer took; `spent` is all that was paid for the
    run, the search and other calls to models included.
    """

    id: str
    owner: str
    thread_id: str
    status: RunStatus
    request: RunRequest
    created_at: datetime
    finished_at: datetime
    model: str
    retrieval: RunRetrieval
    context: tuple[ContextItem, ...] = ()
    document_ids: tuple[str, ...] = ()
    sections: tuple[SectionTokens, ...] = ()
    omitted: tuple[LeftOut, ...] = ()
    unresolved: tuple[Unresolved, ...] = ()
    prompt_tokens: int = 0
    answer: str = ""
    citations: tuple[Citation, ...] = ()
    stop_reason: StopReason | None = None
    usage: TokenUse = field(default_factory=TokenUse)
    spent: tuple[Spending, ...] = ()
    timing: RunTiming = field(default_factory=RunTiming)
    error: Failure | None = None
