"""Questions, answered."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, StringConstraints

from shared.domain.accounts import Permission
from shared.domain.errors import InvalidRequestError
from shared.http.chat.views import AnswerView
from shared.http.models import Body, Id, NoParams, Strict
from shared.http.routes import AnyRoute, Call, Route

if TYPE_CHECKING:
    from shared.answer.flow import ChatRequest
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


def post_chat(deps: ChatDeps, call: Call[ChatBody, NoParams]) -> AnswerView:
    from shared.answer.flow import answer
    from shared.retrieve.flow import retrieve

    return AnswerView.of(answer(deps, call.caller, chat_request(call.body), partial(retrieve, deps)))


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
    ),
)
