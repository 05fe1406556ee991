"""The cascade of a delete: everything that derives from its subject, then the subject's record.

It can be cut off anywhere and runs again: what is gone already is not found, and counts are kept in the
transaction that removes what they count.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from shared.domain.knowledge import Document, DocumentStatus, Receipt, ReceiptStatus, SubjectKind
from shared.index.publish import drop_index, drop_segments, remove
from shared.library.closing import enqueue_farewell
from shared.library.contents import drop_claims, release_content
from shared.library.deletes import counted, enqueue_purge, passages_of, tombstone
from shared.library.deps import LibraryDeps
from shared.library.forget import forget_document
from shared.library.objects import account_prefix, prefix
from shared.library.succession import unlink
from shared.ports import AccountStore, Kind, Query, Transaction
from shared.records import (
    API_KEYS,
    CHUNKS,
    DOCUMENTS,
    KNOWLEDGE_BASES,
    MEMBERS,
    OUTLINES,
    PAID,
    RECEIPTS,
    RECORDS,
)
from shared.tenancy.usage import settle_work

log = logging.getLogger(__name__)

_BATCH = 300
# One call of the cascade; what is left continues in the next.
_CALL = timedelta(minutes=4)

Where = tuple[tuple[str, str, Any], ...]


@dataclass(frozen=True, slots=True)
class _Cascade:
    deps: LibraryDeps
    account_id: str
    store: AccountStore
    receipt: Receipt


def purge(deps: LibraryDeps, account_id: str, name: str) -> str:
    """Carries a delete on; says in a word how far it got. Called by task, any number of times."""
    store = deps.store.of(account_id)
    receipt = store.get(RECEIPTS, name)
    if receipt is None or receipt.status is ReceiptStatus.DONE:
        return "nothing"
    cascade = _Cascade(deps, account_id, store, receipt)
    again_at = _PURGES[receipt.subject_kind](cascade)
    if again_at is not None:
        enqueue_purge(deps, account_id, name, again_at)
        return "continues"
    store.transact(lambda tx: _finish(tx, name, deps.clock.now()))
    log.info("deleted", extra={"receipt_id": name, "subject_id": receipt.subject_id})
    return ReceiptStatus.DONE


def _finish(tx: Transaction, name: str, now: datetime) -> None:
    receipt = tx.get(RECEIPTS, name)
    if receipt is not None:
        tx.put(RECEIPTS, replace(receipt, status=ReceiptStatus.DONE, finished_at=now))


def _purge_document(cascade: _Cascade) -> datetime | None:
    document = cascade.store.get(DOCUMENTS, cascade.receipt.subject_id)
    if document is None:
        return None
    busy_until = _busy_until(cascade, document)
    if busy_until is None:
        _remove_document(cascade, document)
    return busy_until


def _purge_account(cascade: _Cascade) -> datetime | None:
    """One knowledge base after the other, then all else but what it takes to read the receipt."""
    for base in cascade.store.every(KNOWLEDGE_BASES, Query()):
        again_at = _purge_knowledge_base(cascade, base.id)
        if again_at is not None:
            return again_at
    _delete_objects(cascade, account_prefix(cascade.account_id))
    _count(cascade, cascade.store.wipe(keep=(RECEIPTS, API_KEYS, MEMBERS)))
    enqueue_farewell(cascade.deps, cascade.account_id)
    return None


def _purge_knowledge_base(cascade: _Cascade, knowledge_base_id: str) -> datetime | None:
    """When to go on; None when all is gone."""
    now = cascade.deps.clock.now()
    again_at: datetime | None = None
    where = (("knowledge_base_id", "==", knowledge_base_id),)
    for document in _pages(cascade.store, DOCUMENTS, where):
        if cascade.deps.clock.now() > now + _CALL:
            return cascade.deps.clock.now()
        busy_until = _busy_until(cascade, document)
        if busy_until is None:
            _remove_document(cascade, document)
        else:
            again_at = max(again_at or busy_until, busy_until)
    if again_at is not None:
        return again_at
    _delete_all(cascade, RECORDS, where, "records")
    drop_index(cascade.store, knowledge_base_id)
    cascade.store.delete_many(KNOWLEDGE_BASES, [knowledge_base_id])
    return None


def _busy_until(cascade: _Cascade, document: Document) -> datetime | None:
    """The end of a lease under which somebody may still write for the document. Puts the tombstone where
    there is none yet, so that nobody claims it any more."""
    now = cascade.deps.clock.now()

    def body(tx: Transaction) -> Document | None:
        current = tx.get(DOCUMENTS, document.id)
        if current is None or current.status is DocumentStatus.DELETING:
            return current
        receipt = tx.get(RECEIPTS, cascade.receipt.id)
        if receipt is not None:
            tx.put(RECEIPTS, counted(receipt, {"passages": passages_of(current)}))
        tx.put(DOCUMENTS, tombstone(current, now))
        return current

    current = cascade.store.transact(body)
    work = current.work if current is not None else None
    return work.lease_until if work is not None and work.lease_until > now else None


def _remove_document(cascade: _Cascade, document: Document) -> None:
    """Everything that derives from the document, then its record."""
    whose = (("document_id", "==", document.id),)
    remove(cascade.store, cascade.deps.clock, document)
    drop_segments(cascade.store, document.id)
    _delete_all(cascade, OUTLINES, whose, "outlines")
    _delete_all(cascade, CHUNKS, whose, "chunks")
    _delete_all(cascade, PAID, whose, "model_results")
    _delete_objects(cascade, prefix(cascade.account_id, document.id))
    quotes = forget_document(cascade.store, document.id)
    if quotes:
        _count(cascade, {"quotes": quotes})
    if cascade.receipt.subject_kind is SubjectKind.DOCUMENT:
        release_content(cascade.deps, cascade.account_id, document.id)
    else:  # its copies go as well
        drop_claims(cascade.store, document.id)
    settle_work(cascade.store, document.id)  # what was paid stays counted
    cascade.store.transact(partial(_unlink, document_id=document.id))
    cascade.store.transact(
        partial(_delete_batch, cascade=cascade, kind=DOCUMENTS, ids=[document.id], counted_as="documents")
    )


def _unlink(tx: Transaction, *, document_id: str) -> None:
    document = tx.get(DOCUMENTS, document_id)
    if document is not None:
        unlink(tx, document)


def _delete_objects(cascade: _Cascade, start: str) -> None:
    """Counts after the fact: a call cut off in between leaves the count too low, never an object behind."""
    removed = {
        "objects": cascade.deps.uploads.delete_prefix(start),
        "texts": cascade.deps.derived.delete_prefix(start),
    }
    _count(cascade, removed)


def _count(cascade: _Cascade, removed: Mapping[str, int]) -> None:
    def body(tx: Transaction) -> None:
        receipt = tx.get(RECEIPTS, cascade.receipt.id)
        if receipt is not None:
            tx.put(RECEIPTS, counted(receipt, removed))

    cascade.store.transact(body)


def _delete_all(cascade: _Cascade, kind: Kind[Any], where: Where, counted_as: str) -> None:
    """Deletes every matching record, until a last look finds none."""
    while ids := [record.id for record in cascade.store.find(kind, Query(where=where, limit=_BATCH)).items]:
        cascade.store.transact(
            partial(_delete_batch, cascade=cascade, kind=kind, ids=ids, counted_as=counted_as)
        )


def _delete_batch(
    tx: Transaction, *, cascade: _Cascade, kind: Kind[Any], ids: Sequence[str], counted_as: str
) -> None:
    receipt = tx.get(RECEIPTS, cascade.receipt.id)
    there = tx.get_many(kind, ids)
    for record_id in there:
        tx.delete(kind, record_id)
    if receipt is not None:
        tx.put(RECEIPTS, counted(receipt, {counted_as: len(there)}))


def _pages(store: AccountStore, kind: Kind[Document], where: Where) -> Iterator[Document]:
    """Matching records; each page is read when it is reached, since long work goes on in between."""
    query: Query | None = Query(where=where, limit=_BATCH)
    while query is not None:
        page = store.find(kind, query)
        yield from page.items
        query = replace(query, cursor=page.next_cursor) if page.next_cursor is not None else None


_PURGES: Mapping[SubjectKind, Callable[[_Cascade], datetime | None]] = {
    SubjectKind.DOCUMENT: _purge_document,
    SubjectKind.KNOWLEDGE_BASE: lambda cascade: _purge_knowledge_base(cascade, cascade.receipt.subject_id),
    SubjectKind.ACCOUNT: _purge_account,
}
