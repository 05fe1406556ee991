"""Takes what is due out of an outbox and tries to deliver it, several at once."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from emulators.delivery.clock import MovableClock
from emulators.delivery.outbox import Delivery, Outbox
from emulators.delivery.rate import Rate

log = logging.getLogger(__name__)

_AFTER_OUR_OWN_FAILURE = 1.0
_LONGEST_SLEEP = 60.0

# None when the delivery is settled, else when to try again.
Attempt = Callable[[Delivery], float | None]


class Dispatcher:
    """One lane of an outbox, at most `concurrency` deliveries in flight and no more a second than `rate`.

    A delivery stays in the outbox until its attempt has settled it, so one that was in flight when the
    process died is made again.
    """

    def __init__(
        self,
        outbox: Outbox,
        lane: str,
        attempt: Attempt,
        clock: MovableClock,
        *,
        concurrency: int,
        rate: Rate | None = None,
    ) -> None:
        self._outbox = outbox
        self._lane = lane
        self._attempt = attempt
        self._clock = clock
        self._concurrency = concurrency
        self._rate = rate
        self._changed = threading.Condition()
        self._in_flight: set[int] = set()
        self._stopping = False
        self._abandoned = False
        self._held = False
        self._pool = ThreadPoolExecutor(concurrency, thread_name_prefix=f"deliver-{lane[-20:]}")
        self._thread = threading.Thread(target=self._run, name=f"dispatch-{lane[-20:]}", daemon=True)
        clock.on_advance(self.wake)

    def start(self) -> None:
        self._thread.start()

    def stop(self, grace: float = 0.5) -> None:
        """Starts nothing more. What is still in flight after `grace` seconds counts as never delivered; the
        outbox may be closed when this returns."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join()
        with self._changed:
            self._changed.wait_for(lambda: not self._in_flight, grace)
            self._abandoned = True
        self._pool.shutdown(wait=False, cancel_futures=True)

    def wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def hold(self) -> None:
        """Starts no delivery until `release`."""
        with self._changed:
            self._held = True

    def release(self) -> None:
        with self._changed:
            self._held = False
            self._changed.notify_all()

    def wait_until_idle(self, timeout: float, *, due_only: bool = False) -> bool:
        """Whether within `timeout` real seconds nothing was left (or nothing that is due by now)."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while self._busy(due_only=due_only):
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(min(left, 0.05))
            return True

    def _busy(self, *, due_only: bool) -> bool:
        if self._in_flight:
            return True
        return self._outbox.count(self._lane, self._clock.now() if due_only else None) > 0

    def _run(self) -> None:
        with self._changed:
            while not self._stopping:
                if not self._held:
                    self._start_due()
                self._changed.wait(self._sleep())

    def _start_due(self) -> None:
        limit = len(self._in_flight) + self._concurrency
        for delivery in self._outbox.due(self._lane, self._clock.now(), limit):
            if len(self._in_flight) >= self._concurrency:
                return
            if delivery.id not in self._in_flight:
                if self._rate is not None and not self._rate.take(self._clock.now()):
                    return
                self._in_flight.add(delivery.id)
                self._pool.submit(self._deliver, delivery).add_done_callback(_report)

    def _sleep(self) -> float:
        if self._held or len(self._in_flight) >= self._concurrency:
            return _LONGEST_SLEEP
        due = self._outbox.next_due(self._lane, self._in_flight)
        if due is None:
            return _LONGEST_SLEEP
        now = self._clock.now()
        pause = self._rate.wait(now) if self._rate is not None else 0.0
        return min(_LONGEST_SLEEP, max(0.001, due - now, pause))

    def _deliver(self, delivery: Delivery) -> None:
        try:
            again = self._attempt(delivery)
        except Exception:  # the boundary of the thread: nothing that is to be delivered gets lost
            log.exception("a delivery broke off", extra={"lane": self._lane, "delivery": delivery.name})
            again = self._clock.now() + _AFTER_OUR_OWN_FAILURE
        with self._changed:
            self._in_flight.discard(delivery.id)
            if self._abandoned:
                return
            if again is None:
                self._outbox.remove(delivery.id)
            else:
                self._outbox.postpone(delivery, again)
            self._changed.notify_all()


def _report(future: Future[None]) -> None:
    if not future.cancelled() and future.exception() is not None:
        log.error("a delivery could not be settled", exc_info=future.exception())
