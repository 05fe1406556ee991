"""Questions, answered."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, StringConstraints

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

Text = Annotated[str, StringConstraints(min_length=1, max_length=_MOST_CHARACTERS)]
Ids = Annotated[tuple[str, ...], Field(max_length=100)]


class TextPart(Strict):
    type: Literal["text"]
    text: Text


class ReferencePart(Strict):
    """A document to search: with one or more of these, this message searches nothing else."""

    type: Literal["reference"]
    document_id: Id


Part = Annotated[TextPart | ReferencePart, Field(discriminator="type")]


class ChatBody(Body):
    """`message` is text, or parts of which at least one is text."""

    message: Text | Annotated[tuple[Part, ...], Field(min_length=1, max_length=50)]
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
    from shared.answer.flow import ChatRequest
    from shared.retrieve.scope import Asked

    parts: tuple[Part, ...] = (
        (TextPart(type="text", text=body.message),) if isinstance(body.message, str) else body.message
    )
    text = "\n\n".join(part.text for part in parts if isinstance(part, TextPart))
    if not text.replace("\0", " ").strip():
        raise InvalidRequestError("The message holds no text.", fields=(("message", "must hold text"),))
    referenced = tuple(part.document_id for part in parts if isinstance(part, ReferencePart))
    if not referenced:
        return ChatRequest(text, body.thread_id, Asked(body.document_ids, body.knowledge_base_ids))
    asked = Asked(tuple(dict.fromkeys(referenced)), auto_context=False)
    return ChatRequest(text, body.thread_id, asked, only_named=True)


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
