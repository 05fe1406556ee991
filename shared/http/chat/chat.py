"""Questions: answered, or only searched for."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from shared.answer.flow import ChatRequest, answer
from shared.domain.accounts import Permission
from shared.domain.errors import InvalidRequestError
from shared.http.chat.deps import ChatDeps
from shared.http.chat.views import AnswerView, FoundView
from shared.http.models import Body, Id, NoParams, Strict
from shared.http.routes import AnyRoute, Call, Route
from shared.retrieve.flow import RetrieveRequest, retrieve
from shared.retrieve.policy import PolicyName
from shared.retrieve.scope import Asked

# About 8,000 tokens of English: a long letter, and still far below what a prompt holds.
_MOST_CHARACTERS = 32_000

Text = Annotated[str, StringConstraints(min_length=1, max_length=_MOST_CHARACTERS)]
Ids = Annotated[tuple[Id, ...], Field(max_length=100)]


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


class RetrieveBody(Body):
    query: Text
    document_ids: Ids = ()
    knowledge_base_ids: Ids = ()
    auto_context: bool = True
    policy: PolicyName = Field(default=PolicyName.RUN, strict=False)
    include_archived: bool = False
    explain: bool = Field(default=True, description="Whether `dropped` is filled.")


def post_chat(deps: ChatDeps, call: Call[ChatBody, NoParams]) -> AnswerView:
    answered = answer(deps, call.caller, chat_request(call.body), partial(retrieve, deps))
    return AnswerView.of(answered.run)


def post_retrieve(deps: ChatDeps, call: Call[RetrieveBody, NoParams]) -> FoundView:
    body = call.body
    _require_words(body.query, "query")
    asked = Asked(body.document_ids, body.knowledge_base_ids, body.auto_context)
    request = RetrieveRequest(body.query, asked, body.policy, include_archived=body.include_archived)
    return FoundView.of(retrieve(deps, call.caller, request), explain=body.explain)


def chat_request(body: ChatBody) -> ChatRequest:
    """Raises `InvalidRequestError` for a message without words."""
    parts: tuple[Part, ...] = (
        (TextPart(type="text", text=body.message),) if isinstance(body.message, str) else body.message
    )
    text = "\n\n".join(part.text for part in parts if isinstance(part, TextPart))
    _require_words(text, "message")
    referenced = tuple(part.document_id for part in parts if isinstance(part, ReferencePart))
    asked = (
        Asked(document_ids=tuple(dict.fromkeys(referenced)), auto_context=False, only_documents=True)
        if referenced
        else Asked(body.document_ids, body.knowledge_base_ids)
    )
    return ChatRequest(text, body.thread_id, asked)


def _require_words(text: str, field: str) -> None:
    if not text.replace("\0", " ").strip():
        raise InvalidRequestError(f"`{field}` holds no text.", fields=((field, "must hold text"),))


ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "POST",
        "/v1/chat",
        post_chat,
        "Answer a message from the knowledge, with citations",
        Permission.RUN_CREATE,
        body=ChatBody,
        response=AnswerView,
    ),
    Route(
        "POST",
        "/v1/retrieve",
        post_retrieve,
        "Search without answering, with every score explained",
        Permission.KB_READ,
        body=RetrieveBody,
        response=FoundView,
    ),
)
