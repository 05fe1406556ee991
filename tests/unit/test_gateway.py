"""Attempts, waits and deadlines of calls to a model provider, on a clock that only sleeping moves."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from shared.adapters.gateway import Gateway, Patience
from shared.adapters.openai_embeddings import OpenAIEmbedder, batches
from shared.adapters.provider_errors import from_status, retry_after
from shared.domain.errors import ModelRejectedError, ModelUnavailableError

PATIENCE = Patience(attempts=3, attempt_seconds=10, total_seconds=30)


class Scene:
    """A provider that plays its part: errors first, then an answer; every call takes `cost` seconds."""

    def __init__(self, *errors: ModelUnavailableError, cost: float = 0.0) -> None:
        self.errors = list(errors)
        self.cost = cost
        self.time = 0.0
        self.waits: list[float] = []
        self.allowed: list[float] = []
        self.gateway = Gateway("Test", now=lambda: self.time, sleep=self.sleep, jitter=lambda: 1.0)

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += seconds

    def once(self, seconds: float) -> str:
        self.allowed.append(seconds)
        self.time += self.cost
        if self.errors:
            raise self.errors.pop(0)
        return "answer"

    def call(self, patience: Patience = PATIENCE) -> str:
        return self.gateway.call(self.once, patience)


def passing(after: float | None = None) -> ModelUnavailableError:
    return ModelUnavailableError("busy", retry_after=after)


def test_waits_grow() -> None:
    scene = Scene(passing(), passing())
    assert scene.call() == "answer"
    assert scene.waits == [0.5, 1.0]


def test_the_providers_own_wait_is_kept() -> None:
    scene = Scene(passing(7))
    assert scene.call() == "answer"
    assert scene.waits == [7]


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
    scene.call(Patience(attempts=3, attempt_seconds=10, total_seconds=25))
    assert scene.allowed == [10, 10, 5]


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


def test_batches_keep_within_both_limits() -> None:
    assert [len(batch) for batch in batches(["x"] * 5000, len)] == [2048, 2048, 904]
    assert [len(batch) for batch in batches(["x" * 100_000] * 7, len)] == [3, 3, 1]
    assert [len(batch) for batch in batches(["x" * 400_000, "y"], len)] == [1, 1]
    assert list(batches([], len)) == []


def test_an_unknown_embedding_model_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="ada-9"):
        OpenAIEmbedder(api_key="k", model="ada-9")
