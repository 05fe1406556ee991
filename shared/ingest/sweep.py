"""Finds work that nobody does any more: a worker that died with its task lost, an event that never came, a
file that was never sent, a delete that stands still. For a scheduled job; repeating it does no harm."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from shared.domain.ids import content_id
from shared.domain.knowledge import Document, DocumentStatus, Failure, Receipt, ReceiptStatus
from shared.ingest.flow import task
from shared.library.cleanup import is_stored
from shared.library.deletes import enqueue_purge
from shared.library.deps import LibraryDeps
from shared.library.objects import RevisionRef
from shared.ports import AccountStore, Query, Transaction
from shared.records import DOCUMENTS, RECEIPTS

log = logging.getLogger(__name__)

# Longer than any wait between two attempts, so that nothing that only waits is taken for dead.
GRACE = timedelta(minutes=15)
_UNDER_WAY = (
    DocumentStatus.UPLOADED,
    DocumentStatus.EXTRACTING,
    DocumentStatus.CHUNKING,
    DocumentStatus.SUMMARIZING,
    DocumentStatus.EMBEDDING,
)


def sweep(deps: LibraryDeps) -> str:
    """Has dead work of every account taken up again, as an attempt of its capped number; says how much."""
    revived = expired = 0
    for account_id in deps.store.account_ids():
        store = deps.store.of(account_id)
        revived += _revive_documents(deps, store) + _revive_deletes(deps, store)
        expired += _expire_uploads(deps, store)
    log.info("swept", extra={"revived": revived, "expired": expired})
    return f"{revived} revived, {expired} expired"


def _revive_documents(deps: LibraryDeps, store: AccountStore) -> int:
    before = deps.clock.now() - GRACE
    where = (("status", "in", [status.value for status in _UNDER_WAY]),)
    documents: Iterator[Document] = store.every(DOCUMENTS, Query(where=where))
    return sum(
        _advance(deps, store.account_id, document, sign)
        for document in documents
        if (sign := _last_sign(document)) < before and document.latest_revision > 0
    )


def _last_sign(document: Document) -> datetime:
    """Until when somebody was known to work on it, or to be about to."""
    return document.updated_at if document.work is None else document.work.lease_until


def _advance(deps: LibraryDeps, account_id: str, document: Document, sign: datetime) -> bool:
    """One task for each death; the claim counts the attempt and ends what has had too many."""
    ref = RevisionRef(account_id, document.id, document.latest_revision)
    name = content_id("task", "sweep", account_id, document.id, document.latest_revision, sign.isoformat())
    log.warning("work stands still", extra={"account_id": account_id, "document_id": document.id})
    return deps.queue.enqueue(task("/advance", ref, name=name))


def _expire_uploads(deps: LibraryDeps, store: AccountStore) -> int:
    now = deps.clock.now()
    where = (("status", "==", DocumentStatus.AWAITING_UPLOAD.value),)
    waiting: Iterator[Document] = store.every(DOCUMENTS, Query(where=where))
    overdue = [
        document
        for document in waiting
        if document.upload_expires_at is not None and document.upload_expires_at < now - GRACE
    ]
    expired = 0
    for document in overdue:
        if is_stored(deps.uploads, document.object_name):  # its event got lost
            _advance(deps, store.account_id, document, document.updated_at)
        else:
            expired += store.transact(partial(_expire, document_id=document.id, now=now))
    return expired


def _expire(tx: Transaction, *, document_id: str, now: datetime) -> bool:
    """Shows that no file came. The revision is not settled: should the file still come, its event takes it
    on."""
    document = tx.get(DOCUMENTS, document_id)
    if document is None or document.status is not DocumentStatus.AWAITING_UPLOAD:
        return False
    failure = Failure(
        "empty_file",
        f"No file arrived until {document.upload_expires_at:%Y-%m-%d %H:%M} UTC.",
        "Ask for another upload address, and send the file before it expires.",
    )
    tx.put(DOCUMENTS, replace(document, status=DocumentStatus.FAILED, error=failure, updated_at=now))
    return True


def _revive_deletes(deps: LibraryDeps, store: AccountStore) -> int:
    before = deps.clock.now() - GRACE
    where = (("status", "==", ReceiptStatus.RUNNING.value),)
    running: Iterator[Receipt] = store.every(RECEIPTS, Query(where=where))
    stuck = [receipt for receipt in running if receipt.created_at < before]
    for receipt in stuck:
        enqueue_purge(deps, store.account_id, receipt.id)
    return len(stuck)
