"""What was read a moment ago."""

from __future__ import annotations

from datetime import timedelta

from shared.tenancy.recent import Recent
from tests.flows.workbench import HandClock


class Source:
    def __init__(self) -> None:
        self.value: str | None = "one"
        self.reads = 0

    def __call__(self) -> str | None:
        self.reads += 1
        return self.value


def test_a_value_is_read_once_in_its_time() -> None:
    clock, source = HandClock(), Source()
    recent: Recent[str, str] = Recent(clock, timedelta(seconds=3))
    for _ in range(3):
        assert recent.get("k", source) == "one"
    assert source.reads == 1
    source.value = "two"
    clock.pass_seconds(3)
    assert recent.get("k", source) == "two"


def test_what_is_absent_is_looked_for_again() -> None:
    source = Source()
    recent: Recent[str, str] = Recent(HandClock(), timedelta(seconds=3))
    source.value = None
    assert recent.get("k", source) is None
    source.value = "made"
    assert recent.get("k", source) == "made"


def test_what_was_forgotten_meanwhile_is_not_kept() -> None:
    recent: Recent[str, str] = Recent(HandClock(), timedelta(seconds=3))

    def read_before_the_end() -> str:
        recent.forget("k")
        return "old"

    assert recent.get("k", read_before_the_end) == "old"
    assert recent.get("k", lambda: "new") == "new"
    recent.forget("k")
    assert recent.get("k", lambda: "newer") == "newer"


def test_there_is_an_end_to_how_much_is_kept() -> None:
    source = Source()
    recent: Recent[int, str] = Recent(HandClock(), timedelta(seconds=3), size=2)
    for key in (1, 2, 3, 3, 2, 1):
        recent.get(key, source)
    assert source.reads == 4  # the first of three had to go
