"""Questions, answered."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import AliasChoices, Field, StringConstraints, model_validator

from shared.domain.accounts import Permission
from shared.domain.errors import ConflictError, InvalidRequestError, NotFoundError
from shared.http.chat.views import AnswerView
from shared.http.models import Body, Id, NoParams, Strict
from shared.http.routes import AnyRoute, Call, Reply, Route

if TYPE_CHECKING:
    from shared.answer.flow import ChatRequest
    from shared.answer.standing import Cited
    from shared.domain.conversation import Run
    from shared.http.chat.deps import ChatDeps

# About 8,000 tokens of English: a long letter, and still far below what a prompt holds.
_MOST_CHARACTERS = 32_000
# Far over what a message carries, so that a file that is too large is told its size in tokens.
_MOST_FILE = 1_048_576

Text = Annotated[str, StringConstraints(min_length=1, max_length=_MOST_CHARACTERS)]
Ids = Annotated[tuple[str, ...], Field(max_length=100)]


class TextPart(Strict):
    type: Literal["text"]
    text: Text


class ReferencePart(Strict):
    """A document to search: with one or more of these, this message searches nothing else."""

    type: Literal["reference"]
    document_id: Id


class FilePartBody(Strict):
    """A file that is attached whole: a document of the library, or a name and a text."""

    type: Literal["file"]
    document_id: Id | None = None
    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)] | None = None
    text: Annotated[str, StringConstraints(min_length=1, max_length=_MOST_FILE)] | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        given = (self.document_id is not None, self.name is not None, self.text is not None)
        if given not in {(True, False, False), (False, True, True)}:
            raise ValueError("takes either document_id, or name and text")
        return self


Part = Annotated[TextPart | ReferencePart | FilePartBody, Field(discriminator="type")]


class ChatBody(Body):
    """`message` is text, or parts of which at least one is text. With `agent_id` an agent answers, with its
    instructions and its knowledge; `space_id` adds the space's. A thread that was begun in a space is
    answered in it."""

    message: Text | Annotated[tuple[Part, ...], Field(min_length=1, max_length=50)] = Field(
        validation_alias=AliasChoices("message", "msg_content")
    )
    agent_id: Id | None = Field(default=None, validation_alias=AliasChoices("agent_id", "user_agent_id"))
    space_id: Id | None = None
    thread_id: Id | None = None
    document_ids: Ids = ()
    knowledge_base_ids: Ids = ()


def post_chat(deps: ChatDeps, call: Call[ChatBody, NoParams]) -> Reply:
    from shared.answer.flow import answer
    from shared.retrieve.flow import retrieve

    run = answer(deps, call.caller, chat_request(call.body), partial(retrieve, deps))
    return Reply(AnswerView.of(run), 200, {"Content-Location": run_path(run.id)})


def chat_again(deps: ChatDeps, call: Call[ChatBody, NoParams]) -> Reply:
    """The answer of a run as it may be shown now: what was deleted since is gone from it too."""
    run, answer, cited = made_before(deps, call)
    return Reply(AnswerView.now(run, answer, cited), 200, {"Content-Location": run_path(run.id)})


def made_before(deps: ChatDeps, call: Call[ChatBody, NoParams]) -> tuple[Run, str, tuple[Cited, ...]]:
    """The run of an earlier call. Raises `ConflictError` while it is still being written."""
    from shared.answer.standing import present, standings
    from shared.answer.threads import get_run

    store = deps.store.of(call.caller.account_id)
    try:
        run = get_run(store, call.caller, call.path["made"])
    except NotFoundError as error:
        raise ConflictError(
            "The first request with this idempotency key still runs, or broke off unseen.",
            hint="Repeat it in a few seconds; for one more answer, use a new key.",
        ) from error
    found = standings(store, call.caller, run.citations)
    return run, *present(run.answer, run.citations, found)


def run_path(run_id: str) -> str:
    return f"/v1/runs/{run_id}"


def chat_request(body: ChatBody) -> ChatRequest:
    """Raises `InvalidRequestError` for a message without words."""
    from shared.answer.files import FilePart
    from shared.answer.flow import ChatRequest
    from shared.retrieve.scope import Asked

    parts: tuple[Part, ...] = (
        (TextPart(type="text", text=body.message),) if isinstance(body.message, str) else body.message
    )
    text = "\n\n".join(part.text for part in parts if isinstance(part, TextPart))
    if not text.replace("\0", " ").strip():
        raise InvalidRequestError("The message holds no text.", fields=(("message", "must hold text"),))
    referenced = (part.document_id for part in parts if isinstance(part, ReferencePart))
    files = (part for part in parts if isinstance(part, FilePartBody))
    return ChatRequest(
        text,
        body.thread_id,
        Asked(body.document_ids, body.knowledge_base_ids),
        body.agent_id,
        body.space_id,
        tuple(dict.fromkeys(referenced)),
        tuple(FilePart(part.document_id, part.name or "", part.text or "") for part in files),
    )


ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "POST",
        "/v1/chat",
        post_chat,
        "Answer a message from the knowledge, with citations",
        Permission.RUN_CREATE,
        body=ChatBody,
        response=AnswerView,
        secret=True,  # it quotes documents: a copy for repeats would outlive them
        again=chat_again,
    ),
)
