"""Receipts of deletes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from pydantic import Field

from shared.domain.accounts import Permission
from shared.domain.knowledge import Receipt, ReceiptStatus, SubjectKind
from shared.http.models import NoParams, View
from shared.http.routes import AnyRoute, Call, Route
from shared.library.deletes import get_receipt as find_receipt
from shared.library.deps import LibraryDeps


class AcceptedView(View):
    receipt_id: str


class RetainedView(View):
    where: str
    days: int = Field(description="After so many days the platform has dropped it too.")


class ReceiptView(View):
    id: str
    subject_kind: SubjectKind
    subject_id: str
    status: ReceiptStatus
    removed: Mapping[str, int]
    retained: tuple[RetainedView, ...]
    created_at: datetime
    finished_at: datetime | None


# What the platform keeps for its own recovery, out of reach of every request.
_RETAINED = (
    RetainedView(where="soft-deleted objects in Cloud Storage", days=7),
    RetainedView(where="point-in-time recovery of Firestore", days=7),
)
_OF_ACCOUNT = (
    RetainedView(where="the account's keys, members and receipts, so that this can be read", days=7),
)


def get_receipt(deps: LibraryDeps, call: Call[None, NoParams]) -> ReceiptView:
    store = deps.store.of(call.caller.account_id)
    return _view(find_receipt(store, call.caller, call.path["receipt_id"]))


def _view(receipt: Receipt) -> ReceiptView:
    return ReceiptView(
        id=receipt.id,
        subject_kind=receipt.subject_kind,
        subject_id=receipt.subject_id,
        status=receipt.status,
        removed=receipt.removed,
        retained=_RETAINED + _OF_ACCOUNT * (receipt.subject_kind is SubjectKind.ACCOUNT),
        created_at=receipt.created_at,
        finished_at=receipt.finished_at,
    )


ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "GET",
        "/v1/receipts/{receipt_id}",
        get_receipt,
        "What a delete removed",
        Permission.KB_READ,
        response=ReceiptView,
    ),
)
