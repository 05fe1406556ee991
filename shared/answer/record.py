"""What is kept of an answer: the run, and its messages in the thread."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from shared.answer.cite import citations, context_items
from shared.answer.fold import enqueue_fold, is_full
from shared.answer.places import placed
from shared.answer.threads import record_run
from shared.context.flow import Composition
from shared.context.sections import Omitted, SectionKind
from shared.domain.accounts import Caller
from shared.domain.agents import Unresolved
from shared.domain.conversation import (
    Citation,
    ContextItem,
    LeftOut,
    Message,
    Run,
    RunRequest,
    RunRetrieval,
    RunStatus,
    RunTiming,
    SectionTokens,
    Standalone,
    Thread,
)
from shared.domain.errors import AlmanacError
from shared.domain.ids import new_id
from shared.domain.knowledge import Failure
from shared.domain.models import Reply, TokenUse, Turn, TurnRole
from shared.domain.retrieval import Retrieval
from shared.domain.spending import Purpose, Spending, spent
from shared.ports import AnswerModel, Clock, Store, TaskQueue, TokenCounter


class RecordDeps(Protocol):
    @property
    def store(self) -> Store: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def queue(self) -> TaskQueue: ...
    @property
    def count_tokens(self) -> TokenCounter: ...


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything before the model is called: what will be sent, and why. `spent` is what it took to get
    there, `turns` are those of the thread that its summary does not hold, `is_new` says that the thread is
    not stored yet."""

    run_id: str
    caller: Caller
    asked: RunRequest
    thread: Thread
    is_new: bool
    turns: tuple[Turn, ...]
    standalone: Standalone
    retrieval: Retrieval
    composition: Composition
    unresolved: tuple[Unresolved, ...]
    spent: tuple[Spending, ...]
    model: AnswerModel
    started: datetime
    composed: datetime


@dataclass(frozen=True, slots=True)
class Written:
    """What reached the reader: `text`, and the ids cited in it, number 1 first."""

    text: str
    cited: tuple[str, ...]


def record_answer(deps: RecordDeps, prepared: Prepared, written: Written, reply: Reply) -> Run:
    """A whole answer, with both messages."""
    run = _run(prepared, RunStatus.DONE, written, reply.use, deps.clock.now())
    run = replace(run, stop_reason=reply.stop_reason)
    return _stored(deps, prepared, run)


def record_break(
    deps: RecordDeps, prepared: Prepared, written: Written, use: TokenUse, error: AlmanacError | None
) -> Run:
    """An answer that broke off: with an error, or, without one, because the reader left. What was written
    until then stays in the thread; where nothing was, the run alone is kept, to be looked into. `use` is what
    the model's call had cost by then."""
    status = RunStatus.CANCELLED if error is None else RunStatus.FAILED
    run = _run(prepared, status, written, use, deps.clock.now())
    if error is not None:
        run = replace(run, error=Failure(error.code, error.message, error.hint))
    return _stored(deps, prepared, run)


def retrieval_of(prepared: Prepared) -> RunRetrieval:
    """How retrieval went, as a run keeps it."""
    found = prepared.retrieval
    asked = prepared.standalone
    return RunRetrieval(
        found.status, found.query, found.covered, found.tokens, found.detail, asked.how, asked.reason
    )


def context_of(prepared: Prepared) -> tuple[ContextItem, ...]:
    """What stands in the prompt, as a run keeps it."""
    sent = (reference.id for reference in prepared.composition.prompt.references)
    return context_items(prepared.retrieval, sent)


def _stored(deps: RecordDeps, prepared: Prepared, run: Run) -> Run:
    account_id = prepared.caller.account_id
    store = deps.store.of(account_id)
    run = replace(run, citations=placed(store, run.citations, run.answer, prepared.retrieval))
    messages = _messages(prepared, run) if run.answer else ()
    record_run(store, prepared.thread, run, messages, is_new=prepared.is_new)
    turns = (*prepared.turns, *(Turn(message.role, message.text) for message in messages))
    if messages and is_full(turns, deps.count_tokens):
        enqueue_fold(deps.queue, account_id, prepared.thread)
    return run


def _run(prepared: Prepared, status: RunStatus, written: Written, use: TokenUse, now: datetime) -> Run:
    composition = prepared.composition
    context = context_of(prepared)
    return Run(
        id=prepared.run_id,
        owner=prepared.caller.principal,
        thread_id=prepared.thread.id,
        status=status,
        request=prepared.asked,
        created_at=prepared.started,
        finished_at=now,
        model=prepared.model.name,
        retrieval=retrieval_of(prepared),
        context=context,
        document_ids=tuple(dict.fromkeys(item.document_id for item in context)),
        sections=tuple(SectionTokens(s.kind.value, s.tokens) for s in composition.sections),
        omitted=tuple(map(_left_out, composition.omitted)),
        unresolved=prepared.unresolved,
        prompt_tokens=composition.tokens,
        answer=written.text.strip(),
        citations=citations(written.cited, prepared.retrieval),
        usage=use,
        spent=spent(*prepared.spent, Spending(Purpose.ANSWER, use)),
        timing=RunTiming(
            retrieval=_milliseconds(prepared.started, prepared.composed),
            model=_milliseconds(prepared.composed, now),
            total=_milliseconds(prepared.started, now),
        ),
    )


def _left_out(omitted: Omitted) -> LeftOut:
    title = "A passage" if omitted.kind is SectionKind.REFERENCES else omitted.title
    return LeftOut(omitted.kind.value, title, omitted.tokens, omitted.reason)


def _messages(prepared: Prepared, run: Run) -> tuple[Message, Message]:
    """The thread numbers them when it takes them in."""
    question, query = run.request.question, prepared.standalone.query
    searched = query if query != question else ""
    asked = Message(new_id("msg"), 0, TurnRole.USER, question, prepared.started, run.id, searched=searched)
    answered = Message(
        new_id("msg"),
        0,
        TurnRole.ASSISTANT,
        run.answer,
        run.finished_at,
        run.id,
        citations=run.citations,
        document_ids=_quoted(run.citations),
    )
    return asked, answered


def _quoted(sources: tuple[Citation, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(citation.document_id for citation in sources))


def _milliseconds(start: datetime, end: datetime) -> int:
    return round((end - start).total_seconds() * 1000)
