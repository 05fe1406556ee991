"""The time."""

from __future__ import annotations

from datetime import UTC, datetime


class SystemClock:
    """`ports.Clock`."""

    def now(self) -> datetime:
        return datetime.now(UTC)
