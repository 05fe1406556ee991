"""Who may work on a revision, and what a worker that lost it can still do: nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from shared.adapters.firestore.store import FirestoreAccountStore, FirestoreStore
from shared.domain.errors import LeaseLostError, ModelUnavailableError, NoTextError
from shared.domain.knowledge import Document, DocumentStatus, Progress, Source, SourceKind
from shared.ingest.claim import Lease, Refusal, Refused, claim
from shared.records import DOCUMENTS

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


class HandClock:
    def __init__(self) -> None:
        self.time = START

    def now(self) -> datetime:
        return self.time

    def pass_seconds(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def records(store: FirestoreStore) -> FirestoreAccountStore:
    records = store.of("acme")
    records.create(
        DOCUMENTS,
        Document(
            id="doc",
            knowledge_base_id="kb",
            title="T",
            source=Source(SourceKind.UPLOAD, "t.txt"),
            status=DocumentStatus.UPLOADED,
            latest_revision=1,
            object_name="o",
            created_at=START,
            updated_at=START,
        ),
    )
    return records


def take(records: FirestoreAccountStore, clock: HandClock, revision: int = 1) -> Lease | Refused:
    return claim(records, clock, "doc", revision, lease_seconds=60, max_attempts=3)


def taken(records: FirestoreAccountStore, clock: HandClock, revision: int = 1) -> Lease:
    lease = take(records, clock, revision)
    assert isinstance(lease, Lease)
    return lease


def document(records: FirestoreAccountStore) -> Document:
    found = records.get(DOCUMENTS, "doc")
    assert found is not None
    return found


def change(records: FirestoreAccountStore, **changes: object) -> None:
    records.put_many(DOCUMENTS, [replace(document(records), **changes)])  # type: ignore[arg-type]


def test_a_second_delivery_under_a_live_lease_is_told_when_it_ends(
    records: FirestoreAccountStore, clock: HandClock
) -> None:
    taken(records, clock)
    assert take(records, clock) == Refused(Refusal.BUSY, START + timedelta(seconds=60))


def test_a_dead_worker_is_followed_and_can_change_nothing_any_more(
    records: FirestoreAccountStore, clock: HandClock
) -> None:
    first = taken(records, clock)
    clock.pass_seconds(61)
    second = taken(records, clock)
    assert second.token > first.token
    assert second.attempt == 2
    for late in (
        lambda: first.checkpoint(DocumentStatus.EMBEDDING, Progress(1, 2)),
        first.park,
        lambda: first.fail(NoTextError("nothing")),
        lambda: first.release(ModelUnavailableError("down")),
        lambda: first.settle_as_duplicate("other", "sha", 1),
    ):
        with pytest.raises(LeaseLostError):
            late()
    second.checkpoint(DocumentStatus.CHUNKING, Progress())
    assert document(records).status is DocumentStatus.CHUNKING


def test_a_checkpoint_renews_the_lease(records: FirestoreAccountStore, clock: HandClock) -> None:
    lease = taken(records, clock)
    clock.pass_seconds(50)
    lease.checkpoint(DocumentStatus.SUMMARIZING, Progress(1, 3))
    clock.pass_seconds(50)
    assert isinstance(take(records, clock), Refused)


def test_parked_work_continues_at_once_and_is_no_new_attempt(
    records: FirestoreAccountStore, clock: HandClock
) -> None:
    taken(records, clock).park()
    following = taken(records, clock)
    assert following.attempt == 1
    assert following.document.work is not None
    assert following.document.work.continuations == 1


def test_a_passing_failure_is_shown_and_may_be_tried_until_attempts_are_used_up(
    records: FirestoreAccountStore, clock: HandClock
) -> None:
    for attempt in (1, 2, 3):
        lease = taken(records, clock)
        assert lease.attempt == attempt
        lease.release(ModelUnavailableError("the model is down"))
    assert take(records, clock) == Refused(Refusal.EXHAUSTED)
    failed = document(records)
    assert failed.status is DocumentStatus.FAILED
    assert failed.error is not None
    assert failed.error.code == "model_unavailable"
    assert "3 attempts" in failed.error.message
    assert take(records, clock) == Refused(Refusal.SETTLED)


@pytest.mark.parametrize(
    ("changes", "revision", "why"),
    [
        ({"status": DocumentStatus.DELETING}, 1, Refusal.GONE),
        ({"latest_revision": 2}, 1, Refusal.STALE),
        ({"settled_revision": 1}, 1, Refusal.SETTLED),
        ({}, 2, Refusal.GONE),
    ],
)
def test_what_finds_nothing_to_do(
    records: FirestoreAccountStore, clock: HandClock, changes: dict[str, object], revision: int, why: Refusal
) -> None:
    change(records, **changes)
    assert take(records, clock, revision) == Refused(why)


def test_a_newer_revision_takes_the_document_over(records: FirestoreAccountStore, clock: HandClock) -> None:
    old = taken(records, clock)
    change(records, latest_revision=2)
    new = taken(records, clock, 2)
    assert new.attempt == 1
    with pytest.raises(LeaseLostError):
        old.checkpoint(DocumentStatus.EMBEDDING, Progress())


def test_a_tombstone_stops_the_worker(records: FirestoreAccountStore, clock: HandClock) -> None:
    lease = taken(records, clock)
    change(records, status=DocumentStatus.DELETING)
    with pytest.raises(LeaseLostError):
        lease.checkpoint(DocumentStatus.EMBEDDING, Progress())
