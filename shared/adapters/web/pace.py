"""One reader at a time and host, and pauses between them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from shared.domain.errors import RateLimitedError

_HOSTS_KEPT = 1_000


class HostPace:
    """Slots of one process: `seconds` apart for each host.

    What spreads the fetches of many processes is the schedule of their tasks; this holds when they bunch.
    """

    def __init__(
        self,
        seconds: float,
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._seconds = seconds
        self._now = now
        self._sleep = sleep
        self._lock = threading.Lock()
        self._next: dict[str, float] = {}

    def wait(self, host: str, *, delay: float, at_most: float) -> None:
        """Waits for the host's next slot; `delay` is what the host itself asks for between two reads. Raises
        `RateLimitedError` when the slot is more than `at_most` seconds away: then none is taken."""
        pause = max(self._seconds, delay)
        with self._lock:
            now = self._now()
            slot = max(now, self._next.get(host, now))
            if slot - now > at_most:
                raise RateLimitedError(
                    f"The host {host} is being read by others for {slot - now:.0f} more seconds.",
                    retry_after=slot - now,
                )
            if len(self._next) > _HOSTS_KEPT:
                self._next = {name: at for name, at in self._next.items() if at > now}
            self._next[host] = slot + pause
        if slot > now:
            self._sleep(slot - now)
