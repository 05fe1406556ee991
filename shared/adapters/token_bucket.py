"""A rate per minute as providers keep it: a bucket that fills all the time and holds a few seconds' worth."""

from __future__ import annotations

# What a provider lets through at once after a pause. Anthropic and OpenAI refill continuously too, and both
# refuse bursts that a whole minute's allowance would cover.
_BURST_SECONDS = 10.0


class TokenBucket:
    """`per_minute` 0 means no limit. Not safe to share: whoever shares it holds a lock."""

    def __init__(self, per_minute: float, now: float) -> None:
        self._per_second = per_minute / 60
        self._most = max(1.0, self._per_second * _BURST_SECONDS)
        self._level = self._most
        self._at = now

    def wait(self, amount: float, now: float) -> float:
        """Seconds until `amount` may be taken. More than the bucket holds goes when it is full."""
        if not self._per_second:
            return 0.0
        self._fill(now)
        return max(0.0, (min(amount, self._most) - self._level) / self._per_second)

    def take(self, amount: float, now: float) -> None:
        """Takes it; the level may fall below nothing, which those that follow wait for."""
        if self._per_second:
            self._fill(now)
            self._level -= amount

    def _fill(self, now: float) -> None:
        self._level = min(self._most, self._level + (now - self._at) * self._per_second)
        self._at = now
