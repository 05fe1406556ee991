"""Calling a model provider: how often, how many at a time, how long, and when to give up."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from shared.adapters.token_bucket import TokenBucket
from shared.domain.errors import ModelOverloadedError, ModelUnavailableError
from shared.domain.models import Allowance

log = logging.getLogger(__name__)

T = TypeVar("T")

_FIRST_WAIT = 0.5
_LONGEST_WAIT = 8.0
# What rounding leaves of a wait that is over: to sleep for it would not move the clock.
_NO_WAIT = 1e-6


@dataclass(frozen=True, slots=True)
class Patience:
    """`attempts` calls of at most `attempt_seconds` each; waits included, `total_seconds` in all."""

    attempts: int
    attempt_seconds: float
    total_seconds: float


def patience(usual: Patience, attempt_seconds: float) -> Patience:
    """The usual one with other seconds for an attempt, and as much longer or shorter in all."""
    factor = attempt_seconds / usual.attempt_seconds
    return Patience(usual.attempts, attempt_seconds, usual.total_seconds * factor)


class Gateway:
    """Every call to one provider goes through here, so that its waits and attempts are decided once, and for
    all threads together.

    The SDKs' own retries stay off: they would sleep through a `Retry-After` of two minutes in the middle of
    a live question, and multiply with ours.
    """

    def __init__(
        self,
        provider: str,
        allowance: Allowance | None = None,
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        allowance = allowance or Allowance()
        self._provider = provider
        self._sleep = sleep
        self._jitter = jitter
        self.now = now
        self._lock = threading.Lock()
        self._requests = TokenBucket(allowance.requests_per_minute, now())
        self._tokens = TokenBucket(allowance.tokens_per_minute, now())
        self._slots = threading.Semaphore(allowance.concurrency) if allowance.concurrency else None
        self._closed_until: dict[str, float] = {}

    def call(self, once: Callable[[float], T], patience: Patience, *, model: str = "", tokens: int = 0) -> T:
        """Runs `once` with the seconds it may take, again while the error is retryable and time remains.

        `tokens` is how much is sent, about. What a provider asks to wait for a model all callers of the model
        wait. Raises the last `ModelUnavailableError`, whose `retry_after` tells a queue when to come back; a
        wait that does not fit is not begun.
        """
        with self.holding(once, patience, model=model, tokens=tokens) as result:
            return result

    @contextmanager
    def holding(
        self, once: Callable[[float], T], patience: Patience, *, model: str = "", tokens: int = 0
    ) -> Iterator[T]:
        """As `call`, for an answer that still comes: it counts as a call in progress until the block ends."""
        result = self._begun(once, patience, model, tokens)
        try:
            yield result
        finally:
            self._release()

    def _begun(self, once: Callable[[float], T], patience: Patience, model: str, tokens: int) -> T:
        """What `once` gave, with a slot taken for it."""
        deadline = self.now() + patience.total_seconds
        for attempt in range(1, patience.attempts + 1):
            self._admit(model, tokens, deadline)
            try:
                return once(min(patience.attempt_seconds, deadline - self.now()))
            except BaseException as error:
                self._release()
                if not isinstance(error, ModelUnavailableError):
                    raise
                wait = self._wait_after(error, model, attempt)
                out_of_time = self.now() + wait >= deadline
                if not error.retryable or attempt == patience.attempts or out_of_time:
                    raise
                log.warning(
                    "calling the model again",
                    extra={"provider": self._provider, "attempt": attempt, "wait": round(wait, 2)},
                )
            self._sleep(wait)
        raise ValueError(f"patience allows {patience.attempts} attempts; at least one is needed")

    def _admit(self, model: str, tokens: int, deadline: float) -> None:
        """Waits for this call's turn; raises at once when that would be too late."""
        while wait := self._turn(model, tokens):
            if self.now() + wait >= deadline:
                raise ModelOverloadedError(
                    f"{self._provider} may not be called for another {wait:.0f} s.", retry_after=wait
                )
            self._sleep(wait)
        if self._slots is not None and not self._slots.acquire(timeout=max(0.0, deadline - self.now())):
            raise ModelOverloadedError(f"Too many calls to {self._provider} are in progress.")

    def _turn(self, model: str, tokens: int) -> float:
        """Seconds to wait; 0 when the call was counted and may go."""
        with self._lock:
            now = self.now()
            wait = max(
                self._closed_until.get(model, now) - now,
                self._requests.wait(1, now),
                self._tokens.wait(tokens, now),
            )
            if wait > _NO_WAIT:
                return wait
            self._requests.take(1, now)
            self._tokens.take(tokens, now)
            return 0.0

    def _release(self) -> None:
        if self._slots is not None:
            self._slots.release()

    def _wait_after(self, error: ModelUnavailableError, model: str, attempt: int) -> float:
        """What the provider asked for and a little more, so that not all come back at once; else exponential
        with full jitter (Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015)."""
        if error.retry_after is not None:
            with self._lock:
                until = self.now() + error.retry_after
                self._closed_until[model] = max(until, self._closed_until.get(model, until))
            return error.retry_after + _FIRST_WAIT * self._jitter()
        return min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** (attempt - 1)) * self._jitter()
