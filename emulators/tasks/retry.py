"""When a failed task is tried again."""

from __future__ import annotations

from datetime import timedelta

from google.cloud.tasks_v2.types import Queue, RateLimits, RetryConfig


def with_defaults(queue: Queue) -> Queue:
    """The queue with what Cloud Tasks fills in (`queue.proto`)."""
    made = Queue(queue)
    limits, retry = made.rate_limits, made.retry_config
    made.rate_limits = RateLimits(
        max_dispatches_per_second=limits.max_dispatches_per_second or 500.0,
        max_burst_size=limits.max_burst_size or 100,
        max_concurrent_dispatches=limits.max_concurrent_dispatches or 1000,
    )
    made.retry_config = RetryConfig(
        max_attempts=retry.max_attempts or 100,
        max_retry_duration=retry.max_retry_duration or timedelta(0),
        min_backoff=retry.min_backoff or timedelta(seconds=0.1),
        max_backoff=retry.max_backoff or timedelta(hours=1),
        max_doublings=retry.max_doublings or 16,
    )
    return made


def wait_after(config: RetryConfig, attempts: int) -> float:
    """Seconds between attempt `attempts` (from 1) and the next: doubling `max_doublings` times, from then on
    growing by equal steps, never over `max_backoff`."""
    shortest = config.min_backoff.total_seconds()
    doublings = min(attempts - 1, config.max_doublings)
    step = shortest * 2.0**doublings
    steps_more = max(0, attempts - 1 - config.max_doublings)
    return min(config.max_backoff.total_seconds(), step * (1 + steps_more))


def exhausted(config: RetryConfig, attempts: int, age: float) -> bool:
    """Whether there is no further attempt. `age` is the time since the first attempt; with both limits set,
    both must be passed."""
    limit = config.max_retry_duration.total_seconds()
    if config.max_attempts > 0 and attempts < config.max_attempts:
        return False
    if limit > 0:
        return age >= limit
    return config.max_attempts > 0
