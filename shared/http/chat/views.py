"""What the chat function shows."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from shared.answer.standing import Cited, Standing
from shared.domain.conversation import ContextItem, Message, Run, RunRetrieval, RunStatus, Thread
from shared.domain.models import StopReason, TokenUse, TurnRole
from shared.domain.retrieval import (
    Dropped,
    Retrieval,
    RetrievalStatus,
    RetrievedPassage,
    RetrievedSummary,
    ScopeEntry,
    Tier,
)
from shared.http.models import View

_PAGES = Field(description="First and last page, where the format has pages.")


class CitationView(View):
    """`n` is the number in the text. `standing` tells whether the source is still as it was read; when it is
    gone, so is the quote."""

    n: int
    passage_id: str
    document_id: str
    knowledge_base_id: str
    title: str
    heading_path: tuple[str, ...]
    pages: tuple[int, int] | None = _PAGES
    quote: str
    version: int
    is_summary: bool
    standing: Standing

    @classmethod
    def of(cls, cited: Cited) -> CitationView:
        one = cited.citation
        return cls(
            n=one.n,
            passage_id=one.passage_id,
            document_id=one.document_id,
            knowledge_base_id=one.knowledge_base_id,
            title=one.title,
            heading_path=one.heading_path,
            pages=one.pages,
            quote=one.quote,
            version=one.version,
            is_summary=one.is_summary,
            standing=cited.standing,
        )


class UsageView(View):
    """Tokens as the model's provider counted them; `cached_tokens` is the part of the input that its prompt
    cache held."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int

    @classmethod
    def of(cls, use: TokenUse) -> UsageView:
        return cls(input_tokens=use.input, output_tokens=use.output, cached_tokens=use.cached)


class RetrievalView(View):
    """How the search for an answer went. `covered` is the judgement whether it found what was asked."""

    status: RetrievalStatus
    query: str
    covered: bool
    tokens: int
    detail: str | None

    @classmethod
    def of(cls, retrieval: RunRetrieval) -> RetrievalView:
        return cls(
            status=retrieval.status,
            query=retrieval.query,
            covered=retrieval.covered,
            tokens=retrieval.tokens,
            detail=retrieval.detail,
        )


class SourceView(View):
    """A passage (or summary) that the model was given."""

    passage_id: str
    document_id: str
    knowledge_base_id: str
    chunk_id: str
    version: int
    tokens: int
    score: float
    similarity: float
    lexical: float
    is_summary: bool

    @classmethod
    def of(cls, item: ContextItem) -> SourceView:
        return cls(
            passage_id=item.passage_id,
            document_id=item.document_id,
            knowledge_base_id=item.knowledge_base_id,
            chunk_id=item.chunk_id,
            version=item.version,
            tokens=item.tokens,
            score=item.score,
            similarity=item.similarity,
            lexical=item.lexical,
            is_summary=item.is_summary,
        )


class AnswerView(View):
    """`id` is the run's: it opens under /v1/runs."""

    id: str
    thread_id: str
    answer: str
    citations: tuple[CitationView, ...]
    sources: tuple[SourceView, ...]
    retrieval: RetrievalView
    usage: UsageView
    model: str
    stop_reason: StopReason | None

    @classmethod
    def of(cls, run: Run) -> AnswerView:
        """A run that has just ended: its sources are as they were read."""
        return cls(
            id=run.id,
            thread_id=run.thread_id,
            answer=run.answer,
            citations=tuple(CitationView.of(Cited(one, Standing.CURRENT)) for one in run.citations),
            sources=tuple(map(SourceView.of, run.context)),
            retrieval=RetrievalView.of(run.retrieval),
            usage=UsageView.of(run.usage),
            model=run.model,
            stop_reason=run.stop_reason,
        )


class SectionView(View):
    kind: str
    tokens: int


class FailureView(View):
    code: str
    message: str
    hint: str


class TimingView(View):
    """Milliseconds."""

    retrieval: int
    model: int
    total: int


class RunView(AnswerView):
    status: RunStatus
    question: str
    created_at: datetime
    finished_at: datetime
    sections: tuple[SectionView, ...]
    prompt_tokens: int
    timing: TimingView
    error: FailureView | None

    @classmethod
    def now(cls, run: Run, answer: str, cited: tuple[Cited, ...]) -> RunView:
        """A run as it may be shown today."""
        shown = AnswerView.of(run).model_dump() | {
            "answer": answer,
            "citations": tuple(CitationView.of(one).model_dump() for one in cited),
        }
        error = run.error
        return cls(
            **shown,
            status=run.status,
            question=run.request.question,
            created_at=run.created_at,
            finished_at=run.finished_at,
            sections=tuple(SectionView(kind=one.kind, tokens=one.tokens) for one in run.sections),
            prompt_tokens=run.prompt_tokens,
            timing=TimingView(retrieval=run.timing.retrieval, model=run.timing.model, total=run.timing.total),
            error=FailureView(code=error.code, message=error.message, hint=error.hint) if error else None,
        )


class ThreadView(View):
    id: str
    title: str
    knowledge_base_ids: tuple[str, ...]
    message_count: int
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, thread: Thread) -> ThreadView:
        return cls(
            id=thread.id,
            title=thread.title,
            knowledge_base_ids=thread.knowledge_base_ids,
            message_count=thread.message_count,
            created_at=thread.created_at,
            updated_at=thread.updated_at,
        )


class MessageView(View):
    id: str
    number: int
    role: TurnRole
    text: str
    citations: tuple[CitationView, ...]
    run_id: str
    created_at: datetime

    @classmethod
    def now(cls, message: Message, text: str, cited: tuple[Cited, ...]) -> MessageView:
        return cls(
            id=message.id,
            number=message.number,
            role=message.role,
            text=text,
            citations=tuple(map(CitationView.of, cited)),
            run_id=message.run_id,
            created_at=message.created_at,
        )


class PassageFoundView(View):
    """`similarity` is the raw cosine, `lexical` the raw BM25 score, `score` what ordered the result."""

    id: str
    document_id: str
    knowledge_base_id: str
    chunk_id: str
    version: int
    title: str
    heading_path: tuple[str, ...]
    pages: tuple[int, int] | None = _PAGES
    text: str
    score: float
    similarity: float
    lexical: float
    boost: float
    tokens: int

    @classmethod
    def of(cls, passage: RetrievedPassage) -> PassageFoundView:
        return cls(
            id=passage.id,
            document_id=passage.document_id,
            knowledge_base_id=passage.knowledge_base_id,
            chunk_id=passage.chunk_id,
            version=passage.version,
            title=passage.title,
            heading_path=passage.heading_path,
            pages=passage.pages,
            text=passage.text,
            score=passage.score,
            similarity=passage.similarity,
            lexical=passage.lexical,
            boost=passage.boost,
            tokens=passage.tokens,
        )


class SummaryFoundView(View):
    """The summary of a chunk, standing in where no passage passed. `id` is the chunk's."""

    id: str
    document_id: str
    knowledge_base_id: str
    version: int
    title: str
    heading_path: tuple[str, ...]
    pages: tuple[int, int] | None = _PAGES
    text: str
    score: float
    tokens: int

    @classmethod
    def of(cls, summary: RetrievedSummary) -> SummaryFoundView:
        return cls(
            id=summary.id,
            document_id=summary.document_id,
            knowledge_base_id=summary.knowledge_base_id,
            version=summary.version,
            title=summary.title,
            heading_path=summary.heading_path,
            pages=summary.pages,
            text=summary.text,
            score=summary.score,
            tokens=summary.tokens,
        )


class ScopeView(View):
    knowledge_base_id: str
    tier: Tier
    reason: str

    @classmethod
    def of(cls, entry: ScopeEntry) -> ScopeView:
        return cls(knowledge_base_id=entry.knowledge_base_id, tier=entry.tier, reason=entry.reason)


class DroppedView(View):
    passage_id: str
    document_id: str
    reason: str
    similarity: float
    lexical: float
    score: float

    @classmethod
    def of(cls, dropped: Dropped) -> DroppedView:
        return cls(
            passage_id=dropped.passage_id,
            document_id=dropped.document_id,
            reason=dropped.reason,
            similarity=dropped.similarity,
            lexical=dropped.lexical,
            score=dropped.score,
        )


class FoundView(View):
    """What a question finds, in which scope, and what was left out and why."""

    status: RetrievalStatus
    query: str
    covered: bool
    passages: tuple[PassageFoundView, ...]
    summaries: tuple[SummaryFoundView, ...]
    scope: tuple[ScopeView, ...]
    dropped: tuple[DroppedView, ...]
    tokens: int
    detail: str | None

    @classmethod
    def of(cls, retrieval: Retrieval, *, explain: bool) -> FoundView:
        return cls(
            status=retrieval.status,
            query=retrieval.query,
            covered=retrieval.covered,
            passages=tuple(map(PassageFoundView.of, retrieval.passages)),
            summaries=tuple(map(SummaryFoundView.of, retrieval.summaries)),
            scope=tuple(map(ScopeView.of, retrieval.scope)),
            dropped=tuple(map(DroppedView.of, retrieval.dropped)) if explain else (),
            tokens=retrieval.tokens,
            detail=retrieval.detail,
        )
