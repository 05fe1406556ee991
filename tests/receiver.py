"""A web server for tests that writes down what it gets and answers as told."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from emulators.serving import AsgiServer


@dataclass(frozen=True, slots=True)
class Received:
    path: str
    headers: dict[str, str]
    body: bytes
    at: float


class Receiver:
    """`statuses` are the next answers in turn, then 200. Each answer takes `seconds`."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.statuses: list[int] = []
        self.seconds = 0.0
        self.most_at_once = 0
        self._at_once = 0
        self._changed = threading.Condition()
        every = Route("/{path:path}", self._answer, methods=["GET", "POST", "PUT", "DELETE"])
        self._server = AsgiServer(Starlette(routes=[every]))

    @property
    def url(self) -> str:
        return self._server.url

    def __enter__(self) -> Receiver:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    def wait_for(self, condition: Callable[[list[Received]], bool], timeout: float = 10.0) -> list[Received]:
        """What was received by the time that `condition` held; `AssertionError` when it never does."""
        with self._changed:
            if not self._changed.wait_for(lambda: condition(self.received), timeout):
                raise AssertionError(f"After {timeout} s this was received: {self.received}")
            return list(self.received)

    async def _answer(self, request: Request) -> Response:
        body = await request.body()
        with self._changed:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        await asyncio.sleep(self.seconds)
        with self._changed:
            self._at_once -= 1
            status = self.statuses.pop(0) if self.statuses else 200
            self.received.append(Received(request.url.path, dict(request.headers), body, time.monotonic()))
            self._changed.notify_all()
        return Response(status_code=status)
