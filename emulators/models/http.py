"""What both stubs share: reading a request, and going wrong as the script says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from emulators.models.script import Call, Fault, Script

_HEADERS_NOTED = ("user-agent", "anthropic-version", "x-stainless-retry-count")


class Refused(Exception):  # noqa: N818  # an answer of the API, not a failure of the stub
    """A request that the real API refuses."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class ConnectionCut(Exception):  # noqa: N818  # how the server is made to drop a connection
    """Raised inside a body that has begun."""


Texts = Callable[[Mapping[str, Any]], Iterable[str]]
Answer = Callable[[Mapping[str, Any], Fault | None], dict[str, Any] | list[bytes]]
ErrorBody = Callable[[int, str], dict[str, Any]]


async def serve(request: Request, script: Script, texts: Texts, answer: Answer, error: ErrorBody) -> Response:
    """One call: into the log, then its fault or its answer. A dict is an answer of one body, a list of bytes
    are the events of a stream."""
    try:
        body = await _body(request)
        noted = {name: request.headers[name] for name in _HEADERS_NOTED if name in request.headers}
        fault = script.record(Call(request.url.path, noted, body, tuple(texts(body))))
        if fault is not None and fault.stall_after is None:
            await asyncio.sleep(fault.delay)
        return _failed(fault, error) or _sent(answer(body, fault), fault)
    except Refused as refused:
        return JSONResponse(error(refused.status, refused.message), refused.status)


async def _body(request: Request) -> dict[str, Any]:
    try:
        body = json.loads(await request.body())
    except ValueError as problem:
        raise Refused(400, "The body is not JSON.") from problem
    if not isinstance(body, dict):
        raise Refused(400, "The body is not a JSON object.")
    return body


def _failed(fault: Fault | None, error: ErrorBody) -> Response | None:
    if fault is None or (fault.status is None and not fault.malformed):
        return None
    if fault.status is None:
        return Response(b'{"object": "list", "data": [', media_type="application/json")
    headers = {} if fault.retry_after is None else {"Retry-After": fault.retry_after}
    return JSONResponse(error(fault.status, f"Scripted fault: {fault.name}."), fault.status, headers)


def _sent(made: dict[str, Any] | list[bytes], fault: Fault | None) -> Response:
    if isinstance(made, list):
        return StreamingResponse(_pieces(made, fault), media_type="text/event-stream")
    whole = json.dumps(made, ensure_ascii=False).encode()
    place = None if fault is None else fault.stall_after if fault.cut_after is None else fault.cut_after
    if fault is None or place is None:
        return Response(whole, media_type="application/json")
    headers = {"Content-Length": str(len(whole))}
    halves = _pieces([whole[:place], whole[place:]], replace(fault, **_after_the_first(fault)))
    return StreamingResponse(halves, headers=headers, media_type="application/json")


def _after_the_first(fault: Fault) -> dict[str, int]:
    """A body is sent in two pieces, so what happens to it happens between these."""
    return {"stall_after" if fault.cut_after is None else "cut_after": 1}


def authorised(request: Request) -> bool:
    """Whether a key came, in either of the two ways; any key will do."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return bool(request.headers.get("x-api-key")) or (scheme.lower() == "bearer" and bool(token.strip()))


async def _pieces(pieces: list[bytes], fault: Fault | None) -> AsyncIterator[bytes]:
    for number, piece in enumerate(pieces):
        if fault is not None and number == fault.cut_after:
            raise ConnectionCut
        if fault is not None and number == fault.stall_after:
            await asyncio.sleep(fault.delay)
        yield piece
        # Each event is a write of its own.
        await asyncio.sleep(fault.pause if fault is not None else 0)
    if fault is not None and fault.cut_after is not None:
        raise ConnectionCut
