"""Deletes are accepted here: a tombstone at once, the cascade by task, a receipt that says what went.

From the tombstone on nothing of the subject is retrieved. The cascade is in `purge`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from shared.domain.accounts import Caller
from shared.domain.ids import content_id
from shared.domain.knowledge import (
    Document,
    DocumentStatus,
    KnowledgeBase,
    Receipt,
    ReceiptStatus,
    SubjectKind,
)
from shared.library.deps import LibraryDeps
from shared.library.knowledge_bases import reachable
from shared.library.names import claim_id
from shared.library.objects import RevisionRef
from shared.library.reach import reachable_document
from shared.ports import AccountStore, Task, Transaction
from shared.records import DOCUMENTS, KNOWLEDGE_BASE_NAMES, KNOWLEDGE_BASES, RECEIPTS
from shared.tenancy.authorize import not_found, require_reach


def delete_document(deps: LibraryDeps, caller: Caller, document_id: str) -> Receipt:
    """Accepts the delete of a document; a repeat gives the same receipt. Raises `NotFoundError`."""

    def body(tx: Transaction) -> Receipt:
        found = tx.get(DOCUMENTS, document_id)
        base = tx.get(KNOWLEDGE_BASES, found.knowledge_base_id) if found is not None else None
        return _bury(tx, reachable_document(caller, found, base, document_id), base, deps.clock.now())

    return _accepted(deps, caller.account_id, deps.store.of(caller.account_id).transact(body))


def delete_without_source(deps: LibraryDeps, ref: RevisionRef) -> Receipt | None:
    """Deletes a document whose stored object somebody removed: nothing that derives from a file outlives it.

    None when it is not the file that the document has now, or when the document is being deleted already.
    """

    def body(tx: Transaction) -> Receipt | None:
        document = tx.get(DOCUMENTS, ref.document_id)
        if document is None or document.status is DocumentStatus.DELETING:
            return None
        if document.latest_revision != ref.revision or not document.object_name:
            return None  # an older file, or one that was refused and not kept
        base = tx.get(KNOWLEDGE_BASES, document.knowledge_base_id)
        return _bury(tx, document, base, deps.clock.now())

    receipt = deps.store.of(ref.account_id).transact(body)
    return _accepted(deps, ref.account_id, receipt) if receipt is not None else None


def _bury(tx: Transaction, document: Document, base: KnowledgeBase | None, now: datetime) -> Receipt:
    """Puts the tombstone and the receipt, unless they are there. A document that came again under the id of
    one that is gone gets a receipt of its own."""
    receipt = tx.get(RECEIPTS, receipt_id(SubjectKind.DOCUMENT, document.id))
    if receipt is None or receipt.status is ReceiptStatus.DONE:
        departments = base.department_ids if base is not None else ()
        receipt = new_receipt(SubjectKind.DOCUMENT, document.id, now, departments)
        receipt = counted(receipt, {"passages": passages_of(document)})
        tx.put(RECEIPTS, receipt)
    tx.put(DOCUMENTS, tombstone(document, now))
    return receipt


def delete_knowledge_base(deps: LibraryDeps, caller: Caller, knowledge_base_id: str) -> Receipt:
    """Accepts the delete of a knowledge base with all that is in it. Its name is free at once. A repeat gives
    the same receipt. Raises `NotFoundError`."""

    def body(tx: Transaction) -> Receipt:
        base = tx.get(KNOWLEDGE_BASES, knowledge_base_id)
        receipt = tx.get(RECEIPTS, receipt_id(SubjectKind.KNOWLEDGE_BASE, knowledge_base_id))
        if receipt is not None and caller.reaches(receipt.department_ids):
            return receipt
        base = reachable(caller, base, knowledge_base_id)
        claim = tx.get(KNOWLEDGE_BASE_NAMES, claim_id(base.name_key))
        now = deps.clock.now()
        receipt = new_receipt(SubjectKind.KNOWLEDGE_BASE, base.id, now, base.department_ids)
        tx.put(RECEIPTS, receipt)
        gone = replace(
            base, deleting=True, active=False, index_version=base.index_version + 1, updated_at=now
        )
        tx.put(KNOWLEDGE_BASES, gone)
        if claim is not None and claim.knowledge_base_id == base.id:
            tx.delete(KNOWLEDGE_BASE_NAMES, claim.id)
        return receipt

    return _accepted(deps, caller.account_id, deps.store.of(caller.account_id).transact(body))


def get_receipt(store: AccountStore, caller: Caller, name: str) -> Receipt:
    """Raises `NotFoundError` for what is absent or about something that the caller could not see."""
    receipt = store.get(RECEIPTS, name)
    if receipt is None:
        raise not_found(f"receipt {name}")
    require_reach(caller, receipt.department_ids, f"receipt {name}")
    return receipt


def receipt_id(subject_kind: SubjectKind, subject_id: str) -> str:
    """A subject has one receipt, however often its delete is asked for."""
    return content_id("rcp", subject_kind, subject_id)


def new_receipt(kind: SubjectKind, subject_id: str, now: datetime, departments: tuple[str, ...]) -> Receipt:
    """Of a delete that begins now."""
    return Receipt(
        receipt_id(kind, subject_id), kind, subject_id, ReceiptStatus.RUNNING, now, department_ids=departments
    )


def tombstone(document: Document, now: datetime) -> Document:
    """Keeps `work`: the cascade waits until who holds that lease has left, or has died and it has ended."""
    return replace(document, status=DocumentStatus.DELETING, updated_at=now)


def _accepted(deps: LibraryDeps, account_id: str, receipt: Receipt) -> Receipt:
    if receipt.status == ReceiptStatus.RUNNING:
        enqueue_purge(deps, account_id, receipt.id)
    return receipt


def enqueue_purge(deps: LibraryDeps, account_id: str, name: str, at: datetime | None = None) -> None:
    """Has the cascade run, or go on, at the given time."""
    deps.queue.enqueue(Task("/purge", {"account": account_id, "receipt": name}, at=at))


def resume_deletes(deps: LibraryDeps, store: AccountStore, document: Document) -> None:
    """Has the cascades go on that waited for the worker of a document: of it, or of its knowledge base."""
    names = (
        receipt_id(SubjectKind.DOCUMENT, document.id),
        receipt_id(SubjectKind.KNOWLEDGE_BASE, document.knowledge_base_id),
    )
    for receipt in store.get_many(RECEIPTS, names).values():
        if receipt.status is ReceiptStatus.RUNNING:
            enqueue_purge(deps, store.account_id, receipt.id)


def passages_of(document: Document) -> int:
    """How many passages readers see of it. Counted with the tombstone: later the record does not know it."""
    return document.published.passages if document.published is not None else 0


def counted(receipt: Receipt, more: Mapping[str, int]) -> Receipt:
    """The receipt with more that was removed."""
    removed = dict(receipt.removed)
    for name, count in more.items():
        removed[name] = removed.get(name, 0) + count
    return replace(receipt, removed=removed)
