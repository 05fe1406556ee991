"""Calling a model provider: how often, how long, and when to give up."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from shared.domain.errors import ModelUnavailableError

log = logging.getLogger(__name__)

T = TypeVar("T")

_FIRST_WAIT = 0.5
_LONGEST_WAIT = 8.0


@dataclass(frozen=True, slots=True)
class Patience:
    """`attempts` calls of at most `attempt_seconds` each; waits included, `total_seconds` in all."""

    attempts: int
    attempt_seconds: float
    total_seconds: float


class Gateway:
    """Every call to one provider goes through here, so that its waits and attempts are decided once.

    The SDKs' own retries stay off: they would sleep through a `Retry-After` of two minutes in the middle of
    a live question, and multiply with ours.
    """

    def __init__(
        self,
        provider: str,
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._provider = provider
        self._now = now
        self._sleep = sleep
        self._jitter = jitter

    def call(self, once: Callable[[float], T], patience: Patience) -> T:
        """Runs `once` with the seconds it may take, again while the error is retryable and time remains.

        Raises the last `ModelUnavailableError`, whose `retry_after` tells a queue when to come back.
        """
        deadline = self._now() + patience.total_seconds
        for attempt in range(1, patience.attempts + 1):
            seconds = min(patience.attempt_seconds, deadline - self._now())
            try:
                return once(seconds)
            except ModelUnavailableError as error:
                wait = self._wait(error, attempt)
                out_of_time = self._now() + wait >= deadline
                if not error.retryable or attempt == patience.attempts or out_of_time:
                    raise
                log.warning(
                    "calling the model again",
                    extra={"provider": self._provider, "attempt": attempt, "wait": round(wait, 2)},
                )
                self._sleep(wait)
        raise ValueError(f"patience allows {patience.attempts} attempts; at least one is needed")

    def _wait(self, error: ModelUnavailableError, attempt: int) -> float:
        """What the provider asked for, else exponential with full jitter over its upper half."""
        if error.retry_after is not None:
            return error.retry_after
        longest = min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** (attempt - 1))
        return longest * (0.5 + 0.5 * self._jitter())
