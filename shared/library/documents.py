"""Documents: find, change, run again. Bringing content in is in `uploads`, deleting in `deletes`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from shared.domain.accounts import Caller
from shared.domain.errors import ConflictError, NotFoundError
from shared.domain.knowledge import Document, DocumentStatus, KnowledgeBase
from shared.library.contents import advance_task, start_over
from shared.library.deps import LibraryDeps
from shared.library.knowledge_bases import get_knowledge_base, reachable
from shared.library.objects import RevisionRef
from shared.library.paging import visible_page
from shared.ports import AccountStore, Clock, Page, Query, Transaction
from shared.records import DOCUMENTS, KNOWLEDGE_BASES
from shared.tenancy.authorize import not_found


@dataclass(frozen=True, slots=True)
class DocumentFilter:
    status: DocumentStatus | None = None
    knowledge_base_id: str | None = None


def reachable_document(
    caller: Caller, found: Document | None, knowledge_base: KnowledgeBase | None, document_id: str
) -> Document:
    """What was read under this id, if the caller may know of it. Raises `NotFoundError` otherwise."""
    what = f"document {document_id}"
    if found is None:
        raise not_found(what)
    try:
        reachable(caller, knowledge_base, found.knowledge_base_id)
    except NotFoundError as error:  # it must not tell which knowledge base the document is in
        raise not_found(what) from error
    return found


def get_document(store: AccountStore, caller: Caller, document_id: str) -> Document:
    """Raises `NotFoundError` for what is absent or in a knowledge base that the caller may not see."""
    found = store.get(DOCUMENTS, document_id)
    knowledge_base = store.get(KNOWLEDGE_BASES, found.knowledge_base_id) if found is not None else None
    return reachable_document(caller, found, knowledge_base, document_id)


def get_in_transaction(tx: Transaction, caller: Caller, document_id: str) -> Document:
    """`get_document` as part of a transaction; what is being deleted cannot be changed any more."""
    found = tx.get(DOCUMENTS, document_id)
    knowledge_base = tx.get(KNOWLEDGE_BASES, found.knowledge_base_id) if found is not None else None
    document = reachable_document(caller, found, knowledge_base, document_id)
    if document.status is DocumentStatus.DELETING:
        raise ConflictError(f"Document {document_id} is being deleted.", hint="Upload it again.")
    return document


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
    """Applies `change` to title or metadata. Raises `NotFoundError`, `ConflictError` while it is deleted."""

    def body(tx: Transaction) -> Document:
        changed = replace(change(get_in_transaction(tx, caller, document_id)), updated_at=clock.now())
        tx.put(DOCUMENTS, changed)
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
