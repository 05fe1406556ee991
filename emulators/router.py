"""The one address that clients know: path prefixes go to functions, as the load balancer does it."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import httpx2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from emulators.functions import Instance

CHAT_PREFIXES = (
    "/v1/chat",
    "/v1/retrieve",
    "/v1/agents",
    "/v1/spaces",
    "/v1/threads",
    "/v1/recipes",
    "/v1/workflows",
    "/v1/runs",
    "/mcp",
)
_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
# A request waits this long for an instance to start, as the platform lets it.
_PENDING_SECONDS = 10.0
_HOP_BY_HOP = frozenset(
    {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer"}
    | {"transfer-encoding", "upgrade"}
)
# Below the two seconds after which gunicorn closes an idle connection.
_LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=32, keepalive_expiry=1.0)


def owner(path: str) -> str:
    """The function that a path belongs to."""
    for prefix in CHAT_PREFIXES:
        if path == prefix or path.startswith((f"{prefix}/", f"{prefix}:")):
            return "chat"
    return "api"


def router(instances: Callable[[str], Sequence[Instance]]) -> Starlette:
    """`instances` gives the instances of a function; calls go to those that are ready, in turn."""
    turns = {name: itertools.count() for name in ("api", "chat")}

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with httpx2.AsyncHTTPTransport(limits=_LIMITS, trust_env=False) as transport:
            app.state.transport = transport
            yield

    async def forward(request: Request) -> Response:
        name = owner(request.url.path)
        instance = await _ready_instance(lambda: instances(name), turns[name])
        if instance is None:
            return _unavailable(f"No instance of {name} is ready.")
        try:
            answer = await request.app.state.transport.handle_async_request(_upstream(request, instance))
        except httpx2.TransportError as error:
            return _unavailable(f"The instance of {name} broke off: {type(error).__name__}.")
        response = StreamingResponse(_body(answer), answer.status_code)
        response.raw_headers = [
            (key, value) for key, value in answer.headers.raw if key.decode().lower() not in _HOP_BY_HOP
        ]
        return response

    return Starlette(routes=[Route("/{path:path}", forward, methods=_METHODS)], lifespan=lifespan)


async def _ready_instance(
    instances: Callable[[], Sequence[Instance]], turns: itertools.count[int]
) -> Instance | None:
    deadline = time.monotonic() + _PENDING_SECONDS
    while True:
        ready = [instance for instance in instances() if instance.ready]
        if ready:
            return ready[next(turns) % len(ready)]
        if time.monotonic() > deadline:
            return None
        await asyncio.sleep(0.02)


def _upstream(request: Request, instance: Instance) -> httpx2.Request:
    """The same request for an instance; its body is passed on as it comes."""
    headers = [(key, value) for key, value in request.headers.raw if key.decode().lower() not in _HOP_BY_HOP]
    client = request.client.host if request.client is not None else ""
    headers += [(b"x-forwarded-for", client.encode()), (b"x-forwarded-proto", b"http")]
    has_body = "content-length" in request.headers or "transfer-encoding" in request.headers
    raw_path: bytes = request.scope["raw_path"]
    query: bytes = request.scope["query_string"]
    target = raw_path + (b"?" + query if query else b"")
    url = httpx2.URL(instance.url).copy_with(raw_path=target)
    return httpx2.Request(
        request.method, url, headers=headers, content=request.stream() if has_body else None
    )


async def _body(answer: httpx2.Response) -> AsyncIterator[bytes]:
    """The answer's bytes as they arrive, compressed or not. Ends with the client, whose leaving the function
    then notices."""
    try:
        async for piece in answer.aiter_raw():
            yield piece
    finally:
        await answer.aclose()


def _unavailable(detail: str) -> Response:
    problem = {
        "type": "about:blank",
        "title": "Service Unavailable",
        "status": 503,
        "code": "internal",
        "detail": detail,
        "hint": "Try again in a moment.",
    }
    return Response(json.dumps(problem), 503, media_type="application/problem+json")
