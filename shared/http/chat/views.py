"""Answers, conversations and runs as the API shows them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self

from pydantic import ConfigDict, Field, field_validator

from shared.answer.standing import Cited, Standing
from shared.domain.conversation import Message, Rewriting, Run, RunStatus
from shared.domain.models import StopReason, TurnRole
from shared.domain.retrieval import RetrievalStatus
from shared.domain.spending import Purpose, total
from shared.domain.usage import TOKENS
from shared.http.models import View


class _Mirror(View):
    """Shows fields of a domain type by their names."""

    model_config = ConfigDict(frozen=True, from_attributes=True, populate_by_name=True)

    @classmethod
    def of(cls, value: Any) -> Self:
        return cls.model_validate(value)


class CitationView(View):
    """`n` is the number in the text. `standing` tells whether the source is still as it was read; when it is
    gone, so is the quote."""

    n: int
    passage_id: str
    document_id: str
    knowledge_base_id: str
    title: str
    heading_path: tuple[str, ...]
    pages: tuple[int, int] | None = Field(description="First and last page, where the format has pages.")
    quote: str
    version: int
    is_summary: bool
    url: str | None = Field(description="Where the document was read from, if it has an address.")
    standing: Standing

    @classmethod
    def of(cls, cited: Cited) -> Self:
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
            url=one.url,
            standing=cited.standing,
        )


class UsageView(_Mirror):
    """Tokens as the model's provider counted them. `cached_tokens` is the part of the input that its prompt
    cache held, `cache_write_tokens` the part that it took in."""

    input_tokens: int = Field(validation_alias="input")
    output_tokens: int = Field(validation_alias="output")
    cached_tokens: int = Field(validation_alias="cached")
    cache_write_tokens: int = Field(validation_alias="written")
    cost_microdollars: float = Field(validation_alias="cost", description="Millionths of a US dollar.")

    @field_validator("cost_microdollars", mode="before")
    @classmethod
    def _from_nano(cls, value: int) -> float:
        return value / 1000


class SpendingView(UsageView):
    """The calls to one model for one purpose."""

    purpose: Purpose
    model: str
    calls: int

    @classmethod
    def of(cls, value: Any) -> Self:
        use = {name: getattr(value.use, name) for name in (*TOKENS, "model")}
        return cls.model_validate({"purpose": value.purpose, **use})


class SearchedView(_Mirror):
    """How the search for an answer went. `query` is what was searched: the question, or for one that leans on
    the conversation what `rewriting` made of it, for `reason`. `covered` is the judgement whether the search
    found what was asked."""

    status: RetrievalStatus
    query: str
    rewriting: Rewriting
    reason: str
    covered: bool
    tokens: int
    detail: str | None


class SourceView(_Mirror):
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


class AnswerView(View):
    """`id` is the run's: it opens under /v1/runs."""

    id: str
    thread_id: str
    answer: str
    citations: tuple[CitationView, ...]
    sources: tuple[SourceView, ...]
    retrieval: SearchedView
    usage: UsageView
    model: str
    stop_reason: StopReason | None

    @classmethod
    def of(cls, run: Run) -> Self:
        """A run that has just ended: its sources are as they were read."""
        return cls(**_answer(run, run.answer, tuple(Cited(one, Standing.CURRENT) for one in run.citations)))

    @classmethod
    def now(cls, run: Run, answer: str, cited: tuple[Cited, ...]) -> Self:
        """A run as it may be shown today."""
        return cls(**_answer(run, answer, cited))


class SectionView(_Mirror):
    kind: str
    tokens: int


class FailureView(_Mirror):
    code: str
    message: str
    hint: str


class TimingView(_Mirror):
    """Milliseconds."""

    retrieval: int
    model: int
    total: int


class LeftOutView(_Mirror):
    """A part of the prompt that was left out, and why."""

    kind: str
    title: str
    tokens: int
    reason: str


class UnresolvedView(_Mirror):
    """An entry of the agent's `field` that brings no knowledge, and why."""

    field: str
    name: str
    reason: str
    detail: str


class RunView(AnswerView):
    status: RunStatus
    question: str
    agent_id: str | None
    space_id: str | None
    references: tuple[str, ...] = Field(description="Documents that alone were searched.")
    files: tuple[str, ...] = Field(description="What the message brought whole: documents, or names.")
    created_at: datetime
    finished_at: datetime
    sections: tuple[SectionView, ...]
    omitted: tuple[LeftOutView, ...]
    unresolved: tuple[UnresolvedView, ...]
    prompt_tokens: int
    spent: tuple[SpendingView, ...] = Field(description="Every call to a model that the run needed.")
    cost_microdollars: float = Field(description="Of all of it, in millionths of a US dollar.")
    timing: TimingView
    error: FailureView | None

    @classmethod
    def now(cls, run: Run, answer: str, cited: tuple[Cited, ...]) -> Self:
        return cls(
            **_answer(run, answer, cited),
            status=run.status,
            question=run.request.question,
            agent_id=run.request.agent_id,
            space_id=run.request.space_id,
            references=run.request.references,
            files=run.request.files,
            created_at=run.created_at,
            finished_at=run.finished_at,
            sections=tuple(map(SectionView.of, run.sections)),
            omitted=tuple(map(LeftOutView.of, run.omitted)),
            unresolved=tuple(map(UnresolvedView.of, run.unresolved)),
            prompt_tokens=run.prompt_tokens,
            spent=tuple(map(SpendingView.of, run.spent)),
            cost_microdollars=total(run.spent).cost / 1000,
            timing=TimingView.of(run.timing),
            error=FailureView.of(run.error) if run.error else None,
        )


def _answer(run: Run, answer: str, cited: tuple[Cited, ...]) -> dict[str, Any]:
    return {
        "id": run.id,
        "thread_id": run.thread_id,
        "answer": answer,
        "citations": tuple(map(CitationView.of, cited)),
        "sources": tuple(map(SourceView.of, run.context)),
        "retrieval": SearchedView.of(run.retrieval),
        "usage": UsageView.of(run.usage),
        "model": run.model,
        "stop_reason": run.stop_reason,
    }


class ThreadView(_Mirror):
    id: str
    title: str
    knowledge_base_ids: tuple[str, ...]
    space_id: str | None
    thread_ref: tuple[str, ...]
    message_count: int
    created_at: datetime
    updated_at: datetime


class MessageView(View):
    id: str
    number: int
    role: TurnRole
    text: str
    citations: tuple[CitationView, ...]
    run_id: str
    created_at: datetime

    @classmethod
    def now(cls, message: Message, text: str, cited: tuple[Cited, ...]) -> Self:
        """A message as it may be shown today."""
        return cls(
            id=message.id,
            number=message.number,
            role=message.role,
            text=text,
            citations=tuple(map(CitationView.of, cited)),
            run_id=message.run_id,
            created_at=message.created_at,
        )
