"""Time as whole microseconds since 1970: Firestore's precision, and integers order and compare exactly."""

from __future__ import annotations

import threading
import time

from emulators.firestore.errors import invalid
from emulators.firestore.protos import Timestamp

SECOND = 1_000_000
MILLISECOND = 1_000


def from_timestamp(stamp: Timestamp) -> int:
    """Rounds down to microseconds, as stored timestamps are."""
    return stamp.seconds * SECOND + stamp.nanos // 1_000


def to_timestamp(micros: int) -> Timestamp:
    return Timestamp(seconds=micros // SECOND, nanos=micros % SECOND * 1_000)


def exact(stamp: Timestamp, what: str) -> int:
    """The microseconds of a timestamp that must be aligned to them; INVALID_ARGUMENT otherwise."""
    if stamp.nanos % 1_000:
        raise invalid(f"{what} must have microsecond precision, got {stamp.nanos} nanoseconds.")
    return from_timestamp(stamp)


class HybridClock:
    """Wall time that never runs backwards, and gives every commit a moment of its own.

    A commit's time is greater than every time handed out before, so what was read at a time never changes.
    """

    def __init__(self, start: int = 0) -> None:
        self._last = start
        self._lock = threading.Lock()

    def wall(self) -> int:
        return time.time_ns() // 1_000

    def read(self) -> int:
        """A time at which everything committed so far is visible, and nothing that commits later."""
        with self._lock:
            self._last = max(self._last, self.wall())
            return self._last

    def commit(self) -> int:
        with self._lock:
            self._last = max(self._last + 1, self.wall())
            return self._last
