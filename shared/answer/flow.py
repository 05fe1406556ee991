"""One question answered: history, retrieval, composition, model, citations, and a run that records it all."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from typing import Protocol

from shared.answer.cite import found_by_id
from shared.answer.record import Prepared, RecordDeps, Written, record_answer, record_break
from shared.answer.threads import get_thread, history, new_thread
from shared.answer.writer import AnswerWriter
from shared.context.flow import ComposeRequest, compose
from shared.domain.accounts import Caller
from shared.domain.conversation import Run, Thread
from shared.domain.errors import AlmanacError, ModelUnavailableError
from shared.domain.ids import new_id
from shared.domain.models import Reply, StopReason
from shared.domain.retrieval import Retrieval, RetrievalStatus
from shared.ports import AnswerModel, TokenCounter
from shared.retrieve.flow import RetrieveRequest
from shared.retrieve.policy import PolicyName
from shared.retrieve.scope import Asked

log = logging.getLogger(__name__)

Retriever = Callable[[Caller, RetrieveRequest], Retrieval]

_DECLINED = {
    True: "模型拒绝回答这个问题。",
    False: "The model declined to answer this question.",
}


class AnswerDeps(RecordDeps, Protocol):
    """What answering needs of the container."""

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
class Broken:
    """How an answer ended that did not get to its end; `run` keeps what was written until then."""

    error: AlmanacError
    run: Run


def answer(deps: AnswerDeps, caller: Caller, request: ChatRequest, retrieve: Retriever) -> Run:
    """Answers in full. Raises `NotFoundError` for a thread or document that is not the caller's, and
    `ModelUnavailableError` when the model does not answer; that run is recorded as failed."""
    prepared = prepare(deps, caller, request, retrieve)
    writer = AnswerWriter(found_by_id(prepared.retrieval))
    try:
        reply = deps.answer_model.answer(prepared.composition.prompt)
        text = writer.feed(reply.text) + writer.close()
        text = text if text.strip() else _without_words(prepared, reply)
    except AlmanacError as error:
        record_break(deps, prepared, Written("", ()), error)
        raise
    return record_answer(deps, prepared, Written(text, writer.cited), reply)


def stream(deps: AnswerDeps, prepared: Prepared) -> Generator[str | Run | Broken, None, None]:
    """The answer in pieces as readers may see them, then the run, or how it broke. Closing the generator ends
    the model's call and records the run as cancelled."""
    writer = AnswerWriter(found_by_id(prepared.retrieval))
    pieces: list[str] = []
    try:
        reply = yield from _pieces(deps.answer_model, prepared, writer, pieces)
    except AlmanacError as error:
        written = Written("".join(pieces), writer.cited)
        yield Broken(error, record_break(deps, prepared, written, error))
        return
    except GeneratorExit:
        record_break(deps, prepared, Written("".join(pieces), writer.cited), None)
        raise
    yield record_answer(deps, prepared, Written("".join(pieces), writer.cited), reply)


def _pieces(
    model: AnswerModel, prepared: Prepared, writer: AnswerWriter, pieces: list[str]
) -> Generator[str, None, Reply]:
    """Yields what may be shown, keeps it in `pieces`, and returns the model's reply."""
    reply: Reply | None = None
    parts = model.stream(prepared.composition.prompt)
    try:
        for part in parts:
            if isinstance(part, Reply):
                reply = part
                continue
            text = writer.feed(part) if pieces else writer.feed(part).lstrip()
            if text:
                pieces.append(text)
                yield text
    finally:
        parts.close()
    if reply is None:
        raise ModelUnavailableError(f"{model.name} ended its answer without saying so.")
    rest = writer.close().rstrip()
    if not pieces and not rest.strip():
        rest = _without_words(prepared, reply)
    if rest:
        pieces.append(rest)
        yield rest
    return reply


def prepare(deps: AnswerDeps, caller: Caller, request: ChatRequest, retrieve: Retriever) -> Prepared:
    """Thread, retrieval and prompt. Raises as `answer` does before it calls the model."""
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
    return Prepared(
        run_id=new_id("run"),
        caller=caller,
        message=request.message,
        asked=request.asked,
        thread=thread,
        retrieval=retrieval,
        composition=composition,
        model=deps.answer_model.name,
        started=started,
        composed=deps.clock.now(),
    )


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


def _without_words(prepared: Prepared, reply: Reply) -> str:
    """What stands for an answer that has none. Raises when that is the model's failure."""
    if reply.stop_reason is not StopReason.REFUSAL:
        raise ModelUnavailableError(f"{prepared.model} gave no answer; it stopped for {reply.stop_reason}.")
    return _DECLINED[any("\u4e00" <= character <= "\u9fff" for character in prepared.message)]
