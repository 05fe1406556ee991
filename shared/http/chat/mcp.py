"""The knowledge for any agent that speaks the Model Context Protocol: streamable HTTP, with keys and scopes
as everywhere. Each request stands alone: there are no sessions, so any instance answers any of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from flask import Response
from pydantic import BaseModel, ConfigDict, JsonValue

from shared.domain.accounts import Permission
from shared.http.models import NoParams, View
from shared.http.routes import AnyRoute, Call, RawRequest, Route

if TYPE_CHECKING:
    from shared.http.chat.deps import ChatDeps


class McpMessage(BaseModel):
    """A JSON-RPC request, notification or answer, as the protocol defines them."""

    model_config = ConfigDict(extra="forbid")

    jsonrpc: Literal["2.0"]
    method: str
    id: str | int | None = None
    params: dict[str, JsonValue] | None = None


class McpAnswer(View):
    jsonrpc: Literal["2.0"]
    id: str | int | None
    result: dict[str, JsonValue] | None = None
    error: dict[str, JsonValue] | None = None


def post_mcp(deps: ChatDeps, call: Call[None, NoParams]) -> Response:
    from shared.http.chat.mcp_server import answer

    raw = call.raw or RawRequest((), b"")
    return answer(deps, call.caller, raw)


ROUTES: tuple[AnyRoute, ...] = (
    Route[Any, Any, Any](
        "POST",
        "/mcp",
        post_mcp,
        "The Model Context Protocol over streamable HTTP: search, fetch, list_knowledge_bases",
        Permission.KB_READ,
        body=McpMessage,
        response=McpAnswer,
        raw=True,
        secret=True,  # it quotes documents: a copy for repeats would outlive them
    ),
)
