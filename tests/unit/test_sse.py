from __future__ import annotations

import threading
from collections.abc import Generator

import pytest

from shared.http.sse import kept_alive


def test_items_pass_in_order() -> None:
    assert list(kept_alive((n for n in range(5)), every=60)) == [0, 1, 2, 3, 4]


def test_silence_gives_signs_of_life() -> None:
    gate = threading.Event()

    def items() -> Generator[str, None, None]:
        yield "first"
        gate.wait()
        yield "second"

    found = kept_alive(items(), every=0.01)
    assert next(found) == "first"
    assert [next(found) for _ in range(3)] == [None, None, None]
    gate.set()
    assert [item for item in found if item is not None] == ["second"]


def test_leaving_closes_the_items() -> None:
    closed = threading.Event()

    def items() -> Generator[int, None, None]:
        try:
            for n in range(1_000_000_000):  # noqa: UP028 - closed in the middle
                yield n
        finally:
            closed.set()

    found = kept_alive(items(), every=60)
    assert next(found) == 0
    found.close()  # type: ignore[attr-defined]
    assert closed.is_set()


def test_an_error_of_the_items_is_raised_here() -> None:
    def items() -> Generator[int, None, None]:
        yield 1
        raise LookupError("gone")

    found = kept_alive(items(), every=60)
    assert next(found) == 1
    with pytest.raises(LookupError, match="gone"):
        next(found)
