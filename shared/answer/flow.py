"""One question answered: history, retrieval, composition, model, citations, and a run that records it all."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Protocol

from shared.agents.agents import Found, get_agent
from shared.agents.spaces import get_space, space_of
from shared.answer.assemble import Ask, AssembleDeps, Retriever, Setting, assemble
from shared.answer.cite import found_by_id
from shared.answer.files import FilePart
from shared.answer.record import Prepared, RecordDeps, Written, record_answer, record_break
from shared.answer.standalone import standalone
from shared.answer.threads import get_thread, new_thread, recall
from shared.answer.writer import AnswerWriter
from shared.domain.accounts import Caller
from shared.domain.conversation import Run, RunRequest, Thread
from shared.domain.errors import AlmanacError, InvalidRequestError, ModelUnavailableError
from shared.domain.ids import new_id
from shared.domain.models import Reply, StopReason, TokenUse
from shared.domain.spending import Purpose, Spending
from shared.ports import AnswerModel, ConversationModel
from shared.retrieve.scope import Asked

_DECLINED = {
    True: "模型拒绝回答这个问题。",
    False: "The model declined to answer this question.",
}


class AnswerDeps(RecordDeps, AssembleDeps, Protocol):
    """What answering needs of the container."""

    @property
    def answer_model(self) -> AnswerModel: ...
    @property
    def conversation_model(self) -> ConversationModel | None: ...


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """`thread_id` None begins a new thread, in `space_id` where one is given. `asked` names documents and
    knowledge bases for this message; with `references` only named documents are searched for it."""

    message: str
    thread_id: str | None = None
    asked: Asked = field(default_factory=Asked)
    agent_id: str | None = None
    space_id: str | None = None
    references: tuple[str, ...] = ()
    files: tuple[FilePart, ...] = ()


@dataclass(frozen=True, slots=True)
class Broken:
    """How an answer ended that did not get to its end; `run` keeps what was written until then."""

    error: AlmanacError
    run: Run


def answer(deps: AnswerDeps, caller: Caller, request: ChatRequest, retrieve: Retriever) -> Run:
    """Answers in full. Raises `NotFoundError` for a thread, agent, space or document that is not the
    caller's, `AttachmentTooLargeError` for files that are too large to attach, and `ModelUnavailableError`
    when the model does not answer; that run is recorded as failed."""
    prepared = prepare(deps, caller, request, retrieve)
    writer = AnswerWriter(found_by_id(prepared.retrieval))
    use = TokenUse()
    try:
        reply = prepared.model.answer(prepared.composition.prompt)
        use = reply.use
        text = writer.feed(reply.text) + writer.close()
        text = text if text.strip() else _without_words(prepared, reply)
    except AlmanacError as error:
        record_break(deps, prepared, Written("", ()), use, error)
        raise
    return record_answer(deps, prepared, Written(text, writer.cited), reply)


def stream(deps: AnswerDeps, prepared: Prepared) -> Generator[str | Run | Broken, None, None]:
    """The answer in pieces as readers may see them, then the run, or how it broke. Closing the generator ends
    the model's call and records the run as cancelled."""
    telling = _Telling(AnswerWriter(found_by_id(prepared.retrieval)))
    try:
        reply = yield from _pieces(prepared, telling)
    except AlmanacError as error:
        yield Broken(error, record_break(deps, prepared, telling.written, telling.use, error))
        return
    except GeneratorExit:
        record_break(deps, prepared, telling.written, telling.use, None)
        raise
    yield record_answer(deps, prepared, telling.written, reply)


@dataclass(slots=True)
class _Telling:
    """An answer on its way to its reader: what may be shown of it so far, and what the call cost so far."""

    writer: AnswerWriter
    pieces: list[str] = field(default_factory=list)
    use: TokenUse = field(default_factory=TokenUse)

    @property
    def written(self) -> Written:
        return Written("".join(self.pieces), self.writer.cited)

    def take(self, piece: str) -> str:
        """What may be shown now that this piece came."""
        text = self.writer.feed(piece) if self.pieces else self.writer.feed(piece).lstrip()
        if text:
            self.pieces.append(text)
        return text


def _pieces(prepared: Prepared, telling: _Telling) -> Generator[str, None, Reply]:
    """Yields what may be shown, keeps it in `telling`, and returns the model's reply."""
    reply: Reply | None = None
    parts = prepared.model.stream(prepared.composition.prompt)
    try:
        for part in parts:
            if isinstance(part, Reply):
                reply = part
                telling.use = part.use
            elif isinstance(part, TokenUse):
                telling.use = part
            elif text := telling.take(part):
                yield text
    finally:
        parts.close()
    if reply is None:
        raise ModelUnavailableError(f"{prepared.model.name} ended its answer without saying so.")
    rest = telling.writer.close().rstrip()
    if not telling.pieces and not rest.strip():
        rest = _without_words(prepared, reply)
    if rest:
        telling.pieces.append(rest)
        yield rest
    return reply


def prepare(deps: AnswerDeps, caller: Caller, request: ChatRequest, retrieve: Retriever) -> Prepared:
    """Thread, retrieval and prompt. Raises as `answer` does before it calls the model."""
    started = deps.clock.now()
    store = deps.store.of(caller.account_id)
    setting, thread = _setting(deps, caller, request)
    recalled = recall(store, thread)
    searched = standalone(deps.conversation_model, request.message, recalled)
    ask = Ask(
        request.message,
        searched.query,
        request.asked,
        request.references,
        request.files,
        recalled.turns,
        recalled.earlier,
    )
    assembled = assemble(deps, caller, setting, ask, retrieve)
    return Prepared(
        run_id=new_id("run"),
        caller=caller,
        asked=_asked(request, thread),
        thread=thread,
        is_new=request.thread_id is None,
        turns=recalled.turns,
        standalone=searched,
        retrieval=assembled.retrieval,
        composition=assembled.composition,
        unresolved=assembled.selection.unresolved,
        spent=(
            Spending(Purpose.REWRITE, searched.use),
            Spending(Purpose.QUESTION, assembled.retrieval.use),
        ),
        model=_answering(deps, setting.agent),
        started=started,
        composed=deps.clock.now(),
    )


def _answering(deps: AnswerDeps, agent: Found | None) -> AnswerModel:
    """The agent's model where it has one, else the deployment's."""
    model = agent.agent.model if agent is not None else None
    return deps.answer_model if model is None else deps.answer_model.using(model)


def _setting(deps: AnswerDeps, caller: Caller, request: ChatRequest) -> tuple[Setting, Thread]:
    """Agent, space and thread. A new thread begins in the space of its first message."""
    store = deps.store.of(caller.account_id)
    agent = None if request.agent_id is None else get_agent(deps.store, caller, request.agent_id)
    space = None if request.space_id is None else get_space(store, caller, request.space_id)
    if request.thread_id is None:
        thread = new_thread(deps.clock, caller, request.message, space_id=request.space_id)
    else:
        thread = get_thread(store, caller, request.thread_id)
        if space is None:
            space = space_of(store, caller, thread.space_id)
        elif thread.space_id not in {None, space.id}:
            raise InvalidRequestError(
                f"The thread {thread.id} is in another space.",
                fields=(("space_id", "must be the thread's, or be left out"),),
            )
    return Setting(agent, space, thread), thread


def _asked(request: ChatRequest, thread: Thread) -> RunRequest:
    return RunRequest(
        request.message,
        request.asked.document_ids,
        request.asked.knowledge_base_ids,
        request.agent_id,
        request.space_id or thread.space_id,
        request.references,
        tuple(part.document_id or part.name for part in request.files),
    )


def _without_words(prepared: Prepared, reply: Reply) -> str:
    """What stands for an answer that has none. Raises when that is the model's failure."""
    if reply.stop_reason is not StopReason.REFUSAL:
        raise ModelUnavailableError(
            f"{prepared.model.name} gave no answer; it stopped for {reply.stop_reason}."
        )
    return _DECLINED[any("\u4e00" <= character <= "\u9fff" for character in prepared.asked.question)]
