"""Structured logs: one JSON object a line, in the field names that Cloud Logging reads.

Content of documents and questions never goes into a log; ids, counts and codes do.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import TracebackType

_context: ContextVar[Mapping[str, object] | None] = ContextVar("log_context", default=None)
# What a record carries by itself; everything else on it came in through `extra`.
_OWN_ATTRIBUTES = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


@contextmanager
def log_context(**fields: object) -> Iterator[None]:
    """Adds fields, e.g. account and request id, to every line logged inside the block."""
    token = _context.set({**(_context.get() or {}), **fields})
    try:
        yield
    finally:
        _context.reset(token)


def add_to_log_context(**fields: object) -> None:
    """Adds fields that became known later, until the surrounding `log_context` ends."""
    _context.set({**(_context.get() or {}), **fields})


class JsonFormatter(logging.Formatter):
    """Of an exception it writes type and stack, not the message: that may quote what a tenant stored."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "severity": record.levelname,
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "logger": record.name,
            "message": record.getMessage(),
            **(_context.get() or {}),
            **{name: value for name, value in vars(record).items() if name not in _OWN_ATTRIBUTES},
        }
        if record.exc_info and record.exc_info[1] is not None:
            line["exception"] = describe(record.exc_info[1])
        return json.dumps(line, default=str, ensure_ascii=False)


def describe(error: BaseException) -> list[str]:
    """Types and stack frames of an error and of what caused it, outermost first, without messages."""
    lines: list[str] = []
    seen: BaseException | None = error
    while seen is not None:
        lines.append(type(seen).__qualname__)
        lines += _frames(seen.__traceback__)
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    return lines


def _frames(trace: TracebackType | None) -> list[str]:
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(trace)]


class _StandardError(logging.Handler):
    """Looks the stream up at every line: servers and test runners replace it."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(self.format(record) + "\n")
        except (OSError, ValueError, TypeError):
            self.handleError(record)


def configure(level: int = logging.INFO) -> None:
    """Sends the root logger's lines to standard error as JSON. Calling it again changes nothing."""
    root = logging.getLogger()
    if any(isinstance(handler, _StandardError) for handler in root.handlers):
        return
    handler = _StandardError()
    handler.setFormatter(JsonFormatter())
    root.addHandler(handler)
    root.setLevel(level)
