"""A small web site on loopback for tests: pages as told, every request written down."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from emulators.serving import AsgiServer


@dataclass(frozen=True)
class SitePage:
    """`etag` makes it answer conditional requests. `drip` seconds pass before each byte of the body."""

    body: bytes = b""
    status: int = 200
    type: str = "text/html; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)
    etag: str | None = None
    seconds: float = 0.0
    drip: float = 0.0


def redirect(location: str, status: int = 302) -> SitePage:
    return SitePage(status=status, headers={"Location": location})


class Site:
    """`pages` by path (the query is not looked at); what is not there is a 404."""

    def __init__(self) -> None:
        self.pages: dict[str, SitePage] = {}
        self.requests: list[tuple[str, Mapping[str, str]]] = []
        self._lock = threading.Lock()
        self._server = AsgiServer(Starlette(routes=[Route("/{path:path}", self._answer)]))

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def host(self) -> str:
        return self.url.removeprefix("http://")

    @property
    def port(self) -> int:
        return int(self.host.rpartition(":")[2])

    def hits(self, path: str | None = None) -> int:
        """How many requests came, robots.txt aside."""
        with self._lock:
            return sum(
                1 for got, _ in self.requests if got == path or (path is None and got != "/robots.txt")
            )

    def __enter__(self) -> Site:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    async def _answer(self, request: Request) -> Response:
        path = request.url.path
        with self._lock:
            self.requests.append((path, dict(request.headers)))
        page = self.pages.get(path, SitePage(b"<h1>Not found</h1>", 404))
        await asyncio.sleep(page.seconds)
        headers = dict(page.headers) | ({"ETag": page.etag} if page.etag else {})
        if page.etag and request.headers.get("if-none-match") == page.etag:
            return Response(status_code=304, headers=headers)
        if page.drip:
            return StreamingResponse(_dripping(page), page.status, headers, page.type)
        return Response(page.body, page.status, headers, page.type)


async def _dripping(page: SitePage) -> AsyncIterator[bytes]:
    for at in range(len(page.body)):
        await asyncio.sleep(page.drip)
        yield page.body[at : at + 1]
