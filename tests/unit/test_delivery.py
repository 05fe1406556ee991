"""Deliveries that wait, fail, survive and are made again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulators.delivery.clock import MovableClock
from emulators.delivery.dispatcher import Dispatcher
from emulators.delivery.outbox import Delivery, Outbox

LANE = "lane"


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def outbox() -> Iterator[Outbox]:
    outbox = Outbox(None)
    yield outbox
    outbox.close()


def add(outbox: Outbox, name: str, clock: MovableClock, after: float = 0.0) -> None:
    now = clock.now()
    assert outbox.add(LANE, name, now + after, now, name.encode())


def dispatcher(
    outbox: Outbox, clock: MovableClock, attempt: Callable[[Delivery], float | None], concurrency: int = 4
) -> Dispatcher:
    made = Dispatcher(outbox, LANE, attempt, clock, concurrency=concurrency)
    made.start()
    return made


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 3)), max_size=12), st.integers(1, 4))
def test_each_is_delivered_after_as_many_failures_as_it_meets(
    plans: list[tuple[int, int]], concurrency: int
) -> None:
    clock, outbox = MovableClock(), Outbox(None)
    attempts: dict[str, list[int]] = {}
    early: list[str] = []

    def attempt(delivery: Delivery) -> float | None:
        attempts.setdefault(delivery.name, []).append(delivery.attempts)
        if delivery.due > clock.now():
            early.append(delivery.name)
        failures = plans[int(delivery.name)][1]
        return clock.now() + 50 if delivery.attempts < failures else None

    for number, (after, _) in enumerate(plans):
        add(outbox, str(number), clock, after)
    made = dispatcher(outbox, clock, attempt, concurrency)
    for _ in range(6):
        assert made.wait_until_idle(10, due_only=True)
        clock.advance(101)
    assert made.wait_until_idle(10)
    made.stop()
    outbox.close()
    assert early == []
    assert attempts == {str(n): list(range(failures + 1)) for n, (_, failures) in enumerate(plans)}


def test_a_name_is_in_the_outbox_once(outbox: Outbox, clock: MovableClock) -> None:
    add(outbox, "a", clock)
    assert not outbox.add(LANE, "a", 0, 0, b"other")
    found = outbox.find("a")
    assert found is not None
    assert found.payload == b"a"


def test_an_attempt_that_breaks_off_is_made_again(
    outbox: Outbox, clock: MovableClock, caplog: pytest.LogCaptureFixture
) -> None:
    seen = []

    def attempt(delivery: Delivery) -> None:
        seen.append(delivery.attempts)
        if len(seen) == 1:
            raise RuntimeError("a fault of ours")

    add(outbox, "a", clock)
    made = dispatcher(outbox, clock, attempt)
    assert made.wait_until_idle(5, due_only=True)
    clock.advance(2)
    assert made.wait_until_idle(5)
    made.stop()
    assert seen == [0, 1]
    assert "a fault of ours" in caplog.text


def test_what_is_in_flight_at_the_end_is_delivered_by_the_next(tmp_path: Path, clock: MovableClock) -> None:
    path = tmp_path / "outbox.sqlite"
    begun, released = threading.Event(), threading.Event()

    def stuck(_: Delivery) -> None:
        begun.set()
        released.wait(30)

    first = Outbox(path)
    add(first, "a", clock)
    add(first, "later", clock, after=1000)
    made = dispatcher(first, clock, stuck)
    assert begun.wait(5)
    made.stop(grace=0.01)
    first.close()
    released.set()

    second = Outbox(path)
    seen: list[str] = []
    made = dispatcher(second, clock, lambda delivery: seen.append(delivery.name))
    assert made.wait_until_idle(5, due_only=True)
    assert seen == ["a"]
    second.hasten(LANE, clock.now())
    made.wake()
    assert made.wait_until_idle(5)
    made.stop()
    second.close()
    assert seen == ["a", "later"]


def test_what_is_held_waits_for_the_release(outbox: Outbox, clock: MovableClock) -> None:
    seen: list[str] = []
    made = dispatcher(outbox, clock, lambda delivery: seen.append(delivery.name))
    made.hold()
    add(outbox, "a", clock)
    made.wake()
    assert not made.wait_until_idle(0.1)
    assert seen == []
    made.release()
    assert made.wait_until_idle(5)
    made.stop()
    assert seen == ["a"]
