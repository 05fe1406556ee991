"""Attempts, waits and deadlines of calls to a model provider, on a clock that only sleeping moves."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from shared.adapters.gateway import Gateway, Patience, patience
from shared.adapters.openai_embeddings import OpenAIEmbedder, batches
from shared.adapters.provider_errors import from_status, retry_after
from shared.domain.catalogue import Catalogue, Provider, Task
from shared.domain.errors import (
    MisconfiguredError,
    ModelContentError,
    ModelOverloadedError,
    ModelRejectedError,
    ModelUnavailableError,
)
from shared.domain.models import Allowance

PATIENCE = Patience(attempts=3, attempt_seconds=10, total_seconds=30)


class Scene:
    """A provider that plays its part: errors first, then an answer; every call takes `cost` seconds."""

    def __init__(
        self, *errors: ModelUnavailableError, cost: float = 0.0, allowance: Allowance | None = None
    ) -> None:
        self.errors = list(errors)
        self.cost = cost
        self.time = 0.0
        self.waits: list[float] = []
        self.allowed: list[float] = []
        self.jitter = 1.0
        self.gateway = Gateway(
            "Test", allowance, now=lambda: self.time, sleep=self.sleep, jitter=lambda: self.jitter
        )

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += seconds

    def once(self, seconds: float) -> str:
        self.allowed.append(seconds)
        self.time += self.cost
        if self.errors:
            raise self.errors.pop(0)
        return "answer"

    def call(self, patience: Patience = PATIENCE, *, model: str = "", tokens: int = 0) -> str:
        return self.gateway.call(self.once, patience, model=model, tokens=tokens)


def passing(after: float | None = None) -> ModelUnavailableError:
    return ModelUnavailableError("busy", retry_after=after)


@pytest.mark.parametrize("jitter", [0.0, 0.4, 1.0])
def test_waits_grow_up_to_a_limit_and_are_spread_over_all_of_their_length(jitter: float) -> None:
    scene = Scene(*(passing() for _ in range(6)))
    scene.jitter = jitter
    assert scene.call(Patience(attempts=7, attempt_seconds=1, total_seconds=100)) == "answer"
    assert scene.waits == pytest.approx([jitter * wait for wait in (0.5, 1, 2, 4, 8, 8)])


def test_the_providers_own_wait_is_kept_and_not_all_come_back_at_once() -> None:
    for jitter, wait in ((0.0, 7.0), (1.0, 7.5)):
        scene = Scene(passing(7))
        scene.jitter = jitter
        assert scene.call() == "answer"
        assert scene.waits == [wait]


def test_attempts_end() -> None:
    scene = Scene(*(passing() for _ in range(9)))
    with pytest.raises(ModelUnavailableError):
        scene.call()
    assert len(scene.allowed) == 3


def test_a_wait_beyond_the_deadline_is_the_callers_to_keep() -> None:
    scene = Scene(passing(120))
    with pytest.raises(ModelUnavailableError) as caught:
        scene.call()
    assert caught.value.retry_after == 120
    assert scene.waits == []


def test_the_last_attempt_gets_only_the_time_that_is_left() -> None:
    scene = Scene(passing(1), passing(1), cost=9)
    scene.jitter = 0.0
    scene.call(Patience(attempts=3, attempt_seconds=10, total_seconds=25))
    assert scene.allowed == [10, 10, 5]


def test_what_one_is_told_to_wait_all_wait_who_call_that_model() -> None:
    scene = Scene(passing(20))
    with pytest.raises(ModelUnavailableError):
        scene.call(Patience(attempts=1, attempt_seconds=1, total_seconds=30), model="slow")
    assert scene.call(model="other") == "answer"
    assert scene.waits == []
    with pytest.raises(ModelOverloadedError) as caught:
        scene.call(Patience(attempts=2, attempt_seconds=1, total_seconds=8), model="slow")
    assert caught.value.retry_after == 20
    assert len(scene.allowed) == 2  # the provider was not asked
    assert scene.call(model="slow") == "answer"
    assert scene.waits == [20]


def test_requests_keep_to_their_rate() -> None:
    scene = Scene(allowance=Allowance(requests_per_minute=60))
    for _ in range(15):
        scene.call()
    assert scene.time == pytest.approx(5)  # ten seconds' worth goes at once
    assert len(scene.waits) == 5


def test_tokens_keep_to_their_rate() -> None:
    scene = Scene(allowance=Allowance(tokens_per_minute=6_000))
    for tokens in (600, 400, 5_000, 100):
        scene.call(Patience(attempts=1, attempt_seconds=1, total_seconds=100), tokens=tokens)
    # 1,000 are there; the large call waits until the bucket is full and leaves it 4,000 below.
    assert scene.waits == pytest.approx([10, 41])


def test_a_turn_that_comes_too_late_is_not_waited_for() -> None:
    scene = Scene(allowance=Allowance(requests_per_minute=1))
    scene.call()
    with pytest.raises(ModelOverloadedError) as caught:
        scene.call()
    assert caught.value.retry_after == pytest.approx(60)
    assert (len(scene.allowed), scene.waits) == (1, [])


def test_only_so_many_calls_are_in_progress() -> None:
    gateway = Gateway("Test", Allowance(concurrency=3))
    now, most, lock = 0, 0, threading.Lock()

    def once(_: float) -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.005)
        with lock:
            now -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: gateway.call(once, PATIENCE), range(24)))
    assert most == 3


def test_a_stream_counts_until_it_ends_and_a_failure_does_not() -> None:
    gateway = Gateway("Test", Allowance(concurrency=1))
    quick = Patience(attempts=1, attempt_seconds=1, total_seconds=0.05)

    def fail(_: float) -> str:
        raise passing()

    for _ in range(3):
        with pytest.raises(ModelUnavailableError, match="busy"):
            gateway.call(fail, quick)
    with gateway.holding(lambda _: "stream", quick) as result:
        assert result == "stream"
        with pytest.raises(ModelOverloadedError, match="in progress"):
            gateway.call(lambda _: "second", quick)
    assert gateway.call(lambda _: "second", quick) == "second"


def test_patience_can_be_set_by_the_seconds_of_an_attempt() -> None:
    assert patience(PATIENCE, 20) == Patience(attempts=3, attempt_seconds=20, total_seconds=60)


def test_a_rejection_is_final() -> None:
    scene = Scene(ModelRejectedError("bad key"))
    with pytest.raises(ModelRejectedError):
        scene.call()
    assert len(scene.allowed) == 1


@pytest.mark.parametrize(
    ("status", "code", "final"),
    [
        (400, None, True),
        (401, None, True),
        (403, None, True),
        (404, None, True),
        (413, None, True),
        (408, None, False),
        (409, None, False),
        (429, None, False),
        (429, "insufficient_quota", True),
        (500, None, False),
        (503, None, False),
        (529, None, False),
    ],
)
def test_what_a_status_means(status: int, code: str | None, final: bool) -> None:
    error = from_status("Test", status, {"retry-after": "3"}, code)
    assert isinstance(error, ModelRejectedError) is final
    assert error.retryable is not final
    assert error.retry_after == (None if final else 3)
    assert str(status) in error.message


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2.5"}, 2.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:30 GMT"}, 30),
        ({"retry-after": "Mon, 30 Nov 2026 11:00:00 GMT"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, datetime(2026, 11, 30, 12, tzinfo=UTC)) == seconds


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (429, None, ModelOverloadedError),
        (503, None, ModelOverloadedError),
        (529, None, ModelOverloadedError),
        (500, None, ModelUnavailableError),
        (400, "context_length_exceeded", ModelContentError),
        (413, None, ModelContentError),
        (401, None, ModelRejectedError),
        (429, "insufficient_quota", ModelRejectedError),
    ],
)
def test_overload_and_content_are_told_apart(status: int, code: str | None, kind: type[Exception]) -> None:
    assert type(from_status("Test", status, {}, code)) is kind


def test_batches_keep_within_both_limits() -> None:
    model = Catalogue().find("text-embedding-3-small", Provider.OPENAI, Task.EMBEDDING)

    def sizes(texts: list[str]) -> list[int]:
        return [len(batch) for batch in batches(texts, len, model)]

    assert sizes(["x"] * 5000) == [2048, 2048, 904]
    assert sizes(["x" * 100_000] * 7) == [3, 3, 1]
    assert sizes(["x" * 400_000, "y"]) == [1, 1]
    assert sizes([]) == []


def test_an_unknown_embedding_model_is_refused_at_once() -> None:
    with pytest.raises(MisconfiguredError, match="ada-9"):
        OpenAIEmbedder(api_key="k", model="ada-9")
