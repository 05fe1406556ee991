"""How long a call may go on. Work that outlasts it is parked and continues in the next call."""

from __future__ import annotations

from datetime import datetime

from shared.ports import Clock


class OutOfTimeError(Exception):
    """Not a failure: the work so far is kept and the rest is the next call's."""


class Deadline:
    def __init__(self, clock: Clock, until: datetime) -> None:
        self._clock = clock
        self._until = until

    def check(self) -> None:
        """Between two pieces of work. Raises `OutOfTimeError` when the time is over."""
        if self._clock.now() >= self._until:
            raise OutOfTimeError
