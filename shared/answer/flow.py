"""One question answered: history, retrieval, composition, model, citations, and a run that records it all."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from shared.answer.cite import citations, context_items, found_by_id
from shared.answer.threads import get_thread, history, new_thread, record_run
from shared.answer.writer import AnswerWriter
from shared.context.flow import ComposeRequest, Composition, compose
from shared.domain.accounts import Caller
from shared.domain.conversation import (
    Citation,
    Message,
    Run,
    RunRequest,
    RunRetrieval,
    RunStatus,
    RunTiming,
    SectionTokens,
    Thread,
)
from shared.domain.errors import AlmanacError
from shared.domain.ids import new_id
from shared.domain.knowledge import Failure
from shared.domain.models import Reply, StopReason, TurnRole
from shared.domain.retrieval import Retrieval, RetrievalStatus
from shared.ports import AccountStore, AnswerModel, Clock, Store, TokenCounter
from shared.retrieve.flow import RetrieveRequest
from shared.retrieve.policy import PolicyName
from shared.retrieve.scope import Asked

log = logging.getLogger(__name__)

Retriever = Callable[[Caller, RetrieveRequest], Retrieval]

_DECLINED = {
    True: "模型拒绝回答这个问题。",
    False: "The model declined to answer this question.",
}


class AnswerDeps(Protocol):
    """What answering needs of the container."""

    @property
    def store(self) -> Store: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def answer_model(self) -> AnswerModel: ...
    @property
    def count_tokens(self) -> TokenCounter: ...


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """`thread_id` None begins a new thread. `asked` names documents and knowledge bases for this message;
    with `only_named` what is attached to the thread does not join them."""

    message: str
    thread_id: str | None = None
    asked: Asked = field(default_factory=Asked)
    only_named: bool = False


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything before the model is called: what will be sent, and why."""

    run_id: str
    caller: Caller
    request: ChatRequest
    thread: Thread
    retrieval: Retrieval
    composition: Composition
    started: datetime
    composed: datetime


@dataclass(frozen=True, slots=True)
class Answered:
    run: Run
    retrieval: Retrieval


def answer(deps: AnswerDeps, caller: Caller, request: ChatRequest, retrieve: Retriever) -> Answered:
    """Answers in full. Raises `NotFoundError` for a thread or document that is not the caller's, and
    `ModelUnavailableError` when the model does not answer; that run is recorded as failed."""
    prepared = prepare(deps, caller, request, retrieve)
    try:
        reply = deps.answer_model.answer(prepared.composition.prompt)
    except AlmanacError as error:
        fail(deps, prepared, error)
        raise
    writer = AnswerWriter(found_by_id(prepared.retrieval))
    text = writer.feed(reply.text) + writer.close()
    return finish(deps, prepared, reply, text, writer.cited)


def prepare(deps: AnswerDeps, caller: Caller, request: ChatRequest, retrieve: Retriever) -> Prepared:
    """Thread, retrieval and prompt."""
    started = deps.clock.now()
    store = deps.store.of(caller.account_id)
    thread = (
        get_thread(store, caller, request.thread_id)
        if request.thread_id is not None
        else new_thread(deps.clock, caller, request.message)
    )
    turns = history(store, thread)
    retrieval = _retrieved(caller, _query(request, thread), retrieve)
    composition = compose(ComposeRequest(request.message, retrieval, turns), deps.count_tokens)
    return Prepared(new_id("run"), caller, request, thread, retrieval, composition, started, deps.clock.now())


def _query(request: ChatRequest, thread: Thread) -> RetrieveRequest:
    asked = request.asked
    if not request.only_named:
        attached = dict.fromkeys((*asked.knowledge_base_ids, *thread.knowledge_base_ids))
        asked = replace(asked, knowledge_base_ids=tuple(attached))
    return RetrieveRequest(request.message, asked, PolicyName.RUN)


def _retrieved(caller: Caller, query: RetrieveRequest, retrieve: Retriever) -> Retrieval:
    """A search that fails on our side does not end the conversation; a caller's mistake is told."""
    try:
        return retrieve(caller, query)
    except AlmanacError as error:
        if error.status < 500:
            raise
        log.warning("retrieval failed", exc_info=True, extra={"code": error.code})
        return Retrieval(RetrievalStatus.FAILED, query.query, detail=f"{error.code}: {error.message}")


def finish(deps: AnswerDeps, prepared: Prepared, reply: Reply, text: str, cited: tuple[str, ...]) -> Answered:
    """Records the run and both messages."""
    if reply.stop_reason is StopReason.REFUSAL and not text.strip():
        text = _DECLINED[any("\u4e00" <= character <= "\u9fff" for character in prepared.request.message)]
    now = deps.clock.now()
    sources = citations(cited, prepared.retrieval)
    run = replace(
        _run(deps, prepared, RunStatus.DONE, now),
        answer=text.strip(),
        citations=sources,
        stop_reason=reply.stop_reason,
        usage=reply.use,
    )
    record_run(_store(deps, prepared), prepared.thread, run, _messages(prepared, run, sources))
    return Answered(run, prepared.retrieval)


def fail(deps: AnswerDeps, prepared: Prepared, error: AlmanacError) -> Run:
    """Records the run that failed, with the question, so that it can be looked into."""
    now = deps.clock.now()
    failure = Failure(error.code, error.message, error.hint)
    run = replace(_run(deps, prepared, RunStatus.FAILED, now), error=failure)
    record_run(_store(deps, prepared), prepared.thread, run, ())
    return run


def _store(deps: AnswerDeps, prepared: Prepared) -> AccountStore:
    return deps.store.of(prepared.caller.account_id)


def _run(deps: AnswerDeps, prepared: Prepared, status: RunStatus, now: datetime) -> Run:
    retrieval, composition = prepared.retrieval, prepared.composition
    sent = [reference.id for reference in composition.prompt.references]
    context = context_items(retrieval, sent)
    return Run(
        id=prepared.run_id,
        owner=prepared.caller.principal,
        thread_id=prepared.thread.id,
        status=status,
        request=RunRequest(
            prepared.request.message,
            prepared.request.asked.document_ids,
            prepared.request.asked.knowledge_base_ids,
        ),
        created_at=prepared.started,
        finished_at=now,
        model=deps.answer_model.name,
        retrieval=RunRetrieval(
            retrieval.status, retrieval.query, retrieval.covered, retrieval.tokens, retrieval.detail
        ),
        context=context,
        document_ids=tuple(dict.fromkeys(item.document_id for item in context)),
        sections=tuple(SectionTokens(s.kind.value, s.tokens) for s in composition.sections),
        prompt_tokens=composition.tokens,
        timing=RunTiming(
            retrieval=_milliseconds(prepared.started, prepared.composed),
            model=_milliseconds(prepared.composed, now),
            total=_milliseconds(prepared.started, now),
        ),
    )


def _messages(prepared: Prepared, run: Run, sources: tuple[Citation, ...]) -> tuple[Message, Message]:
    quoted = tuple(dict.fromkeys(citation.document_id for citation in sources))
    return (
        Message(new_id("msg"), 0, TurnRole.USER, prepared.request.message, prepared.started, run.id),
        Message(
            new_id("msg"),
            0,
            TurnRole.ASSISTANT,
            run.answer,
            run.finished_at,
            run.id,
            citations=sources,
            document_ids=quoted,
        ),
    )


def _milliseconds(start: datetime, end: datetime) -> int:
    return round((end - start).total_seconds() * 1000)
