"""What was read a moment ago, kept for a moment."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from datetime import datetime, timedelta
from threading import Lock
from typing import Generic, TypeVar

from shared.ports import Clock

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """At most `size` values, each for at most `kept_for`; the one used least lately goes first. Thread-safe.

    What is absent is not kept, so that something just made is found at once.
    """

    def __init__(self, clock: Clock, kept_for: timedelta, *, size: int = 1_000) -> None:
        self._clock = clock
        self._kept_for = kept_for
        self._size = size
        self._values: OrderedDict[K, tuple[V, datetime]] = OrderedDict()
        self._lock = Lock()
        self._forgotten = 0

    def get(self, key: K, read: Callable[[], V | None]) -> V | None:
        """The value kept, else what `read` returns."""
        now = self._clock.now()
        with self._lock:
            kept = self._values.get(key)
            forgotten = self._forgotten
            if kept is not None and kept[1] > now:
                return kept[0]
        value = read()
        if value is None:
            return None
        with self._lock:
            if forgotten == self._forgotten:  # else it may have been read before what made it be forgotten
                self._values[key] = (value, now + self._kept_for)
                self._values.move_to_end(key)
                while len(self._values) > self._size:
                    self._values.popitem(last=False)
        return value

    def forget(self, key: K) -> None:
        """The next `get` reads, and a read that is under way now is not kept."""
        with self._lock:
            self._values.pop(key, None)
            self._forgotten += 1
