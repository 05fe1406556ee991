"""Documents: find, change, run again. Bringing content in is in `uploads`, deleting in `deletes`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from shared.domain.accounts import Caller
from shared.domain.errors import ConflictError
from shared.domain.ids import is_id
from shared.domain.knowledge import Document, DocumentStatus
from shared.library.contents import advance_task, start_over
from shared.library.deps import LibraryDeps
from shared.library.knowledge_bases import get_knowledge_base
from shared.library.objects import RevisionRef
from shared.library.paging import visible_page
from shared.library.reach import get_in_transaction, reachable_document
from shared.library.succession import put_validity
from shared.ports import AccountStore, Clock, Page, Query, Transaction
from shared.records import DOCUMENTS, KNOWLEDGE_BASES


@dataclass(frozen=True, slots=True)
class DocumentFilter:
    status: DocumentStatus | None = None
    knowledge_base_id: str | None = None


def get_document(store: AccountStore, caller: Caller, document_id: str) -> Document:
    """Raises `NotFoundError` for what is absent or in a knowledge base that the caller may not see."""
    found = store.get(DOCUMENTS, document_id) if is_id(document_id) else None
    knowledge_base = store.get(KNOWLEDGE_BASES, found.knowledge_base_id) if found is not None else None
    return reachable_document(caller, found, knowledge_base, document_id)


def list_documents(
    store: AccountStore, caller: Caller, wanted: DocumentFilter, *, limit: int, cursor: str | None
) -> Page[Document]:
    """Those that the caller may see, newest first. Raises `NotFoundError` for a knowledge base that it may
    not see."""
    if wanted.knowledge_base_id is not None:
        get_knowledge_base(store, caller, wanted.knowledge_base_id)
    where = tuple(
        (name, "==", value)
        for name, value in (
            ("knowledge_base_id", wanted.knowledge_base_id),
            ("status", wanted.status and wanted.status.value),
        )
        if value is not None
    )

    def keep(found: Sequence[Document]) -> list[Document]:
        bases = store.get_many(KNOWLEDGE_BASES, sorted({document.knowledge_base_id for document in found}))
        seen = {one.id for one in bases.values() if not one.deleting and caller.reaches(one.department_ids)}
        return [document for document in found if document.knowledge_base_id in seen]

    query = Query(where=where, order_by="-created_at", limit=limit, cursor=cursor)
    return visible_page(store, DOCUMENTS, query, keep)


def change_document(
    store: AccountStore,
    clock: Clock,
    caller: Caller,
    document_id: str,
    change: Callable[[Document], Document],
) -> Document:
    """Applies `change` to what callers may change. Raises `NotFoundError`, `ConflictError` while it is
    deleted, and what `put_validity` raises."""

    def body(tx: Transaction) -> Document:
        before = get_in_transaction(tx, caller, document_id)
        changed = replace(change(before), updated_at=clock.now())
        put_validity(tx, caller, before, changed)
        return changed

    return store.transact(body)


def retry_document(deps: LibraryDeps, caller: Caller, document_id: str) -> Document:
    """Processes the latest revision again: of one that failed, of a copy, or of one whose work died.

    Raises `NotFoundError`, and `ConflictError` when there is nothing to run again.
    """

    def body(tx: Transaction) -> Document:
        document = get_in_transaction(tx, caller, document_id)
        reason = _no_retry(document, deps.clock)
        if reason is not None:
            raise ConflictError(f"Document {document_id} {reason[0]}.", hint=reason[1])
        again = replace(start_over(document, deps.clock.now()), duplicate_of=None)
        tx.put(DOCUMENTS, again)
        return again

    document = deps.store.of(caller.account_id).transact(body)
    deps.queue.enqueue(advance_task(RevisionRef(caller.account_id, document.id, document.latest_revision)))
    return document


def _no_retry(document: Document, clock: Clock) -> tuple[str, str] | None:
    """Why a document is not run again and what to do instead; None when it can be."""
    if document.status is DocumentStatus.AWAITING_UPLOAD:
        return "still waits for its file", "Send the file to the upload address."
    if not document.object_name:
        return "was refused, and its file is not kept", "Upload another file."
    if document.status in (DocumentStatus.READY, DocumentStatus.PARTIAL):
        return "is processed already", "Upload another version of its file."
    if document.work is not None and document.work.lease_until > clock.now():
        return "is being processed", "Wait for its end state."
    return None
