"""Documents that replace others: the newer one names the older, and both know of each other."""

from __future__ import annotations

from dataclasses import replace

from shared.domain.accounts import Caller
from shared.domain.errors import ConflictError, InvalidRequestError
from shared.domain.knowledge import Document
from shared.library.reach import get_in_transaction
from shared.ports import Transaction
from shared.records import DOCUMENTS

# Who replaced whom is followed this far back, to find a circle.
_LONGEST_CHAIN = 100


def put_validity(tx: Transaction, caller: Caller, before: Document, changed: Document) -> None:
    """Puts the changed document, and what its `supersedes` means for others. Reads before it writes.

    Raises `InvalidRequestError` for dates in the wrong order, for itself, for a circle and for a document of
    another knowledge base, `NotFoundError` for one that the caller cannot see, and `ConflictError` when
    something else replaces that document already, or when it is a copy of another.
    """
    _check_dates(changed)
    updates: list[Document] = []
    if changed.supersedes != before.supersedes:
        if before.supersedes is not None:
            updates += _let_go(tx, before.supersedes, changed.id)
        if changed.supersedes is not None:
            updates.append(_taken_over(tx, caller, changed, changed.supersedes))
    for document in (*updates, changed):
        tx.put(DOCUMENTS, document)


def unlink(tx: Transaction, document: Document) -> None:
    """Lets what a document replaced, or what replaced it, forget it: it goes. Reads before it writes."""
    updates: list[Document] = []
    if document.supersedes is not None:
        updates += _let_go(tx, document.supersedes, document.id)
    if document.superseded_by is not None:
        successor = tx.get(DOCUMENTS, document.superseded_by)
        if successor is not None and successor.supersedes == document.id:
            updates.append(replace(successor, supersedes=None))
    for other in updates:
        tx.put(DOCUMENTS, other)


def _check_dates(document: Document) -> None:
    first, last = document.effective_from, document.effective_to
    if first is not None and last is not None and first >= last:
        problem = f"must be later than effective_from, {first.isoformat()}"
        raise InvalidRequestError(
            f"A document cannot be in effect from {first.isoformat()} until {last.isoformat()}.",
            fields=(("effective_to", problem),),
        )


def _let_go(tx: Transaction, older_id: str, newer_id: str) -> list[Document]:
    older = tx.get(DOCUMENTS, older_id)
    if older is None or older.superseded_by != newer_id:
        return []
    return [replace(older, superseded_by=None)]


def _taken_over(tx: Transaction, caller: Caller, newer: Document, older_id: str) -> Document:
    if older_id == newer.id:
        raise _invalid("a document cannot replace itself")
    older = get_in_transaction(tx, caller, older_id)
    if older.knowledge_base_id != newer.knowledge_base_id:
        # Readers of the other knowledge base would lose the old one without seeing the new one.
        raise _invalid(f"document {older_id} is in another knowledge base")
    if older.duplicate_of is not None:
        raise ConflictError(
            f"Document {older_id} is a copy of {older.duplicate_of}, which stays.",
            hint="Let the new document supersede that one.",
        )
    if older.superseded_by not in {None, newer.id}:
        raise ConflictError(
            f"Document {older_id} is replaced by {older.superseded_by} already.",
            hint="Let the new document supersede that one.",
        )
    before, steps = older, 0
    while before.supersedes is not None and steps < _LONGEST_CHAIN:
        if before.supersedes == newer.id:
            raise _invalid(f"document {older_id} replaced this one, directly or through others")
        following = tx.get(DOCUMENTS, before.supersedes)
        if following is None:
            break
        before, steps = following, steps + 1
    return replace(older, superseded_by=newer.id)


def _invalid(problem: str) -> InvalidRequestError:
    return InvalidRequestError("The document cannot replace that one.", fields=(("supersedes", problem),))
