"""Closing an account: all that it has goes, at last the account itself.

From the moment that it is accepted nothing is found any more, and callers can do nothing but read what is
being removed. The receipt can be read for a week by the account's administrators; then keys, members,
receipts and the account's own record go as well.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from shared.domain.accounts import PLATFORM, Account, Caller
from shared.domain.errors import ConflictError, PermissionDeniedError
from shared.domain.knowledge import KnowledgeBase, Receipt, SubjectKind
from shared.library.deletes import enqueue_purge, new_receipt, receipt_id
from shared.library.deps import LibraryDeps
from shared.ports import Query, Task, Transaction
from shared.records import ACCOUNT, KNOWLEDGE_BASES, RECEIPTS
from shared.tenancy.authorize import not_found

RECEIPT_KEPT = timedelta(days=7)
# Longer than an instance remembers a caller that it let in: nobody writes any more when the cascade begins.
_SETTLING = timedelta(seconds=10)
_MOST_KNOWLEDGE_BASES = 500


def close_account(deps: LibraryDeps, caller: Caller) -> Receipt:
    """Accepts the end of the caller's account; a repeat gives the same receipt.

    Raises `PermissionDeniedError` for a caller that is limited to departments, `ConflictError` for the
    platform's account.
    """
    account_id = caller.account_id
    if caller.department_ids is not None:
        raise PermissionDeniedError(
            "Only who reaches every department can delete the account.",
            hint="Use a key or a member that is not limited to departments.",
        )
    if account_id == PLATFORM:
        raise ConflictError(
            "The platform's account is what every account builds on.", hint="It cannot be deleted."
        )

    def body(tx: Transaction) -> Receipt:
        account = tx.get(ACCOUNT, account_id)
        receipt = tx.get(RECEIPTS, receipt_id(SubjectKind.ACCOUNT, account_id))
        bases = tx.find(KNOWLEDGE_BASES, Query(limit=_MOST_KNOWLEDGE_BASES))
        if account is None:
            raise not_found("account")
        if receipt is None:
            receipt = _bury(tx, account, bases, deps.clock.now())
        return receipt

    receipt = deps.store.of(account_id).transact(body)
    enqueue_purge(deps, account_id, receipt.id, deps.clock.now() + _SETTLING)
    return receipt


def _bury(tx: Transaction, account: Account, bases: tuple[KnowledgeBase, ...], now: datetime) -> Receipt:
    receipt = new_receipt(SubjectKind.ACCOUNT, account.id, now, ())
    tx.put(RECEIPTS, receipt)
    tx.put(ACCOUNT, replace(account, deleting=True))
    for base in bases:
        buried = replace(
            base, deleting=True, active=False, index_version=base.index_version + 1, updated_at=now
        )
        tx.put(KNOWLEDGE_BASES, buried)
    return receipt


def enqueue_farewell(deps: LibraryDeps, account_id: str) -> None:
    """Has the rest of the account removed when its receipt need not be read any more."""
    at = deps.clock.now() + RECEIPT_KEPT
    deps.queue.enqueue(Task("/farewell", {"account": account_id}, at=at))


def farewell(deps: LibraryDeps, account_id: str) -> str:
    """Removes what is left of a closed account. Called by task, any number of times."""
    store = deps.store.of(account_id)
    account = store.get(ACCOUNT, account_id)
    if account is None or not account.deleting:
        return "nothing"
    store.wipe()
    store.delete_many(ACCOUNT, [account_id])
    return "gone"
