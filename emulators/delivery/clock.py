"""Time that tests can move forward."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class MovableClock:
    """Seconds since the epoch, plus what `advance` added."""

    def __init__(self) -> None:
        self._ahead = 0.0
        self._lock = threading.Lock()
        self._listeners: list[Callable[[], None]] = []

    def now(self) -> float:
        with self._lock:
            return time.time() + self._ahead

    def advance(self, seconds: float) -> None:
        """Moves the time forward and wakes whoever waits for it."""
        with self._lock:
            self._ahead += seconds
            listeners = tuple(self._listeners)
        for wake in listeners:
            wake()

    def on_advance(self, wake: Callable[[], None]) -> None:
        with self._lock:
            self._listeners.append(wake)
