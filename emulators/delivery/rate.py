"""How many deliveries a second."""

from __future__ import annotations


class Rate:
    """A token bucket (the way Cloud Tasks describes its queues): `burst` at once, then `per_second`."""

    def __init__(self, per_second: float, burst: float) -> None:
        self._per_second = per_second
        self._burst = max(burst, 1.0)
        self._tokens = self._burst
        self._at = 0.0

    def take(self, now: float) -> bool:
        """Whether one more may go at `now` (seconds)."""
        self._fill(now)
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True

    def wait(self, now: float) -> float:
        """Seconds until the next may go."""
        self._fill(now)
        return max(0.0, (1.0 - self._tokens) / self._per_second)

    def _fill(self, now: float) -> None:
        if self._at:
            self._tokens = min(self._burst, self._tokens + max(0.0, now - self._at) * self._per_second)
        self._at = max(now, self._at)
