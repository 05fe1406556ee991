"""Server-sent events: one JSON object each, and a sign of life while there is nothing to say."""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from flask import Response
from pydantic import BaseModel

T = TypeVar("T")

# Proxies between here and the reader close a connection that is silent for a minute or less.
KEEP_ALIVE_SECONDS = 10.0
# What ends with the reader may take this long to be put away: until then the platform gives us CPU.
_CLOSING_SECONDS = 20.0

_SILENCE = ": still here\n\n"


@dataclass(frozen=True, slots=True)
class Event:
    name: str
    data: BaseModel


def event_stream(events: Generator[Event, None, None], every: float = KEEP_ALIVE_SECONDS) -> Response:
    """A response that writes the events as they come. When the reader leaves, the generator is closed."""
    response = Response(_lines(events, every), mimetype="text/event-stream")
    response.headers["X-Accel-Buffering"] = "no"  # a proxy that buffers would turn the stream into one piece
    return response


def _lines(events: Generator[Event, None, None], every: float) -> Iterator[str]:
    for event in kept_alive(events, every):
        yield _SILENCE if event is None else f"event: {event.name}\ndata: {event.data.model_dump_json()}\n\n"


@dataclass(frozen=True, slots=True)
class _Item(Generic[T]):
    value: T


@dataclass(frozen=True, slots=True)
class _End:
    error: BaseException | None


def kept_alive(items: Generator[T, None, None], every: float) -> Iterator[T | None]:
    """The items, and None after each `every` seconds without one. Closing closes `items`, at its next item at
    the latest. Errors of `items` are raised here."""
    passed: queue.SimpleQueue[_Item[T] | _End] = queue.SimpleQueue()
    left = threading.Event()

    def run() -> None:
        error: BaseException | None = None
        try:
            for item in items:
                if left.is_set():
                    break
                passed.put(_Item(item))
            items.close()
        except BaseException as raised:  # noqa: BLE001 - carried over to the thread that reads
            error = raised
        passed.put(_End(error))

    # The context carries the fields that log lines of this request have.
    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(run,), name="event-stream", daemon=True)
    thread.start()
    try:
        yield from _received(passed, every)
    finally:
        left.set()
        thread.join(_CLOSING_SECONDS)


def _received(passed: queue.SimpleQueue[_Item[T] | _End], every: float) -> Iterator[T | None]:
    while True:
        try:
            found = passed.get(timeout=every)
        except queue.Empty:
            yield None
            continue
        if isinstance(found, _Item):
            yield found.value
            continue
        if found.error is not None:
            raise found.error
        return
