"""Documents that a caller may know of: those of knowledge bases that it reaches."""

from __future__ import annotations

from shared.domain.accounts import Caller
from shared.domain.errors import ConflictError, NotFoundError
from shared.domain.knowledge import Document, DocumentStatus, KnowledgeBase
from shared.library.knowledge_bases import reachable
from shared.ports import Transaction
from shared.records import DOCUMENTS, KNOWLEDGE_BASES
from shared.tenancy.authorize import not_found


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


def get_in_transaction(tx: Transaction, caller: Caller, document_id: str) -> Document:
    """`get_document` as part of a transaction; what is being deleted cannot be changed any more."""
    found = tx.get(DOCUMENTS, document_id)
    knowledge_base = tx.get(KNOWLEDGE_BASES, found.knowledge_base_id) if found is not None else None
    document = reachable_document(caller, found, knowledge_base, document_id)
    if document.status is DocumentStatus.DELETING:
        raise ConflictError(f"Document {document_id} is being deleted.", hint="Upload it again.")
    return document
