"""Who works on a revision: claims with a fencing token and a lease, so that deliveries which come twice, late
or out of order do no harm. Every change of a document in progress goes through its `Lease`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from shared.domain.errors import AlmanacError, LeaseLostError, RefusedFileError
from shared.domain.knowledge import Document, DocumentStatus, Failure, Progress, Work
from shared.ports import AccountStore, Clock, Transaction
from shared.records import DOCUMENTS

log = logging.getLogger(__name__)


class Refusal(StrEnum):
    """Why a delivery finds nothing to do."""

    GONE = "gone"
    STALE = "stale"
    SETTLED = "settled"
    BUSY = "busy"
    EXHAUSTED = "exhausted"


@dataclass(frozen=True, slots=True)
class Refused:
    """`until` is when a live lease ends (only with BUSY), `document` the one whose revision is SETTLED."""

    why: Refusal
    until: datetime | None = None
    document: Document | None = field(default=None, compare=False, repr=False)


class Lease:
    """The right to change one document's work. Each write verifies it and renews it."""

    def __init__(self, store: AccountStore, clock: Clock, seconds: int, document: Document) -> None:
        if document.work is None:
            raise ValueError(f"Document {document.id} is not claimed")
        self._store = store
        self._clock = clock
        self._seconds = seconds
        self.document = document
        self.token = document.work.token
        self.revision = document.work.revision
        self.attempt = document.work.attempt
        self.continuations = document.work.continuations

    def checkpoint(self, status: DocumentStatus, progress: Progress) -> None:
        """Records where the work is and renews the lease. Raises `LeaseLostError` when it is another's."""
        self._change(lambda document: replace(document, status=status, progress=progress))

    def park(self) -> None:
        """Time is over: leaves the work for the next call, which is a continuation and no new attempt."""
        self._change(lambda document: replace(document, work=self._released(document, parked=True)))

    def release(self, error: AlmanacError, *, counts: bool = True) -> None:
        """A passing failure: shows it, and lets the next delivery claim at once. It is an attempt, unless it
        does not count as one."""
        self._change(
            lambda document: replace(
                document, work=self._released(document, parked=not counts), error=failure_of(error)
            )
        )

    def fail(self, error: AlmanacError) -> None:
        """The end of this revision. What was published before stays published."""
        self._change(lambda document: failed(document, self.revision, error))

    def settle_as_duplicate(self, original_id: str, sha256: str, size: int) -> None:
        """The same bytes are another document's already; this one adds no passages."""
        self._change(
            lambda document: replace(
                document,
                status=DocumentStatus.DUPLICATE,
                duplicate_of=original_id,
                sha256=sha256,
                bytes=size,
                settled_revision=self.revision,
                work=None,
                error=None,
                progress=Progress(),
            )
        )

    def leave(self) -> bool:
        """After the lease was lost: whether a delete was the reason, which need not wait for us any more. Its
        tombstone forbids every further write of ours, and nobody can claim the document again."""

        def body(transaction: Transaction) -> bool:
            document = transaction.get(DOCUMENTS, self.document.id)
            if document is None or not _deleting(document):
                return False
            if document.work is None or document.work.token != self.token:
                return False
            transaction.put(DOCUMENTS, replace(document, work=None))
            return True

        return self._store.transact(body)

    def _released(self, document: Document, *, parked: bool) -> Work:
        work = document.work
        if work is None:  # `_change` verified it a moment ago
            raise LeaseLostError(f"Document {document.id} is not claimed any more.")
        return replace(
            work,
            lease_until=self._clock.now(),
            parked=parked,
            continuations=work.continuations + int(parked),
        )

    def _change(self, change: Callable[[Document], Document]) -> None:
        def body(transaction: Transaction) -> Document:
            document, work = self._verified(transaction.get(DOCUMENTS, self.document.id))
            now = self._clock.now()
            renewed = replace(work, lease_until=now + timedelta(seconds=self._seconds))
            changed = replace(change(replace(document, work=renewed)), updated_at=now)
            transaction.put(DOCUMENTS, changed)
            return changed

        self.document = self._store.transact(body)

    def _verified(self, document: Document | None) -> tuple[Document, Work]:
        work = document.work if document is not None else None
        if document is None or work is None or work.token != self.token or _deleting(document):
            raise LeaseLostError(
                f"The work on {self.document.id} revision {self.revision} is not ours any more."
            )
        return document, work


def _deleting(document: Document) -> bool:
    return document.status is DocumentStatus.DELETING


def failure_of(error: AlmanacError) -> Failure:
    return Failure(error.code, error.message, error.hint)


def failed(document: Document, revision: int, error: AlmanacError) -> Document:
    """The document with this revision ended in failure. Of a file that is refused nothing is kept, so there
    is nothing to try again."""
    return replace(
        document,
        object_name="" if isinstance(error, RefusedFileError) else document.object_name,
        status=DocumentStatus.FAILED,
        error=failure_of(error),
        settled_revision=revision,
        work=None,
        progress=Progress(),
    )


def claim(
    store: AccountStore,
    clock: Clock,
    document_id: str,
    revision: int,
    *,
    lease_seconds: int,
    max_attempts: int,
) -> Lease | Refused:
    """Claims the revision, or says why there is nothing to do. A revision whose attempts are used up ends as
    failed here, with the error of its last attempt."""

    def body(transaction: Transaction) -> Document | Refused:
        document = transaction.get(DOCUMENTS, document_id)
        now = clock.now()
        refused = _refusal(document, revision, now)
        if document is None or refused is not None:
            return refused or Refused(Refusal.GONE)
        work = _next_work(document, revision, now + timedelta(seconds=lease_seconds))
        if work.attempt > max_attempts:
            transaction.put(DOCUMENTS, _exhausted(document, revision, max_attempts, now))
            return Refused(Refusal.EXHAUSTED)
        claimed = replace(
            document, work=work, next_token=work.token + 1, attempts=work.attempt, updated_at=now
        )
        transaction.put(DOCUMENTS, claimed)
        return claimed

    result = store.transact(body)
    if isinstance(result, Refused):
        log.info(
            "nothing to claim", extra={"document_id": document_id, "revision": revision, "why": result.why}
        )
        return result
    return Lease(store, clock, lease_seconds, result)


def _refusal(document: Document | None, revision: int, now: datetime) -> Refused | None:
    if document is None or _deleting(document) or revision > document.latest_revision:
        return Refused(Refusal.GONE)
    if revision < document.latest_revision:
        return Refused(Refusal.STALE)
    if document.settled_revision >= revision:
        return Refused(Refusal.SETTLED, document=document)
    work = document.work
    if work is not None and work.revision == revision and work.lease_until > now:
        return Refused(Refusal.BUSY, until=work.lease_until)
    return None


def _next_work(document: Document, revision: int, lease_until: datetime) -> Work:
    before = document.work if document.work is not None and document.work.revision == revision else None
    if before is None:
        return Work(revision, document.next_token, lease_until, attempt=1)
    attempt = before.attempt if before.parked else before.attempt + 1
    return Work(revision, document.next_token, lease_until, attempt, before.continuations)


def _exhausted(document: Document, revision: int, max_attempts: int, now: datetime) -> Document:
    last = document.error or Failure("internal", "The work died without a word.", "Retry it once.")
    return replace(
        document,
        status=DocumentStatus.FAILED,
        error=replace(last, message=f"Given up after {max_attempts} attempts. Last: {last.message}"),
        settled_revision=revision,
        work=None,
        updated_at=now,
    )
