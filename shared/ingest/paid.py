"""What a model was paid for, kept account-wide by text and model: a crash, a retry, an edited document or the
same file in another knowledge base never pays for it again.

A result goes with the document that it was made for, though another may hold the same text: nothing that
derives from a deleted document stays, and the other one has its own copy of what it needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from shared.domain.ids import content_id
from shared.domain.paid import Paid
from shared.ports import AccountStore
from shared.records import PAID

_READ_BATCH = 500


def paid_id(purpose: str, fingerprint: str, *parts: str) -> str:
    """The key of a result: its purpose, the model, and every text that the model saw."""
    return content_id(purpose, fingerprint, *parts)


def lookup(store: AccountStore, ids: Sequence[str]) -> Mapping[str, bytes]:
    """The payloads that are there already."""
    found: dict[str, bytes] = {}
    for start in range(0, len(ids), _READ_BATCH):
        records = store.get_many(PAID, ids[start : start + _READ_BATCH])
        found.update({name: record.payload for name, record in records.items()})
    return found


def keep(
    store: AccountStore, model: str, payloads: Mapping[str, bytes], *, document_id: str, now: datetime
) -> None:
    """Keeps the results of one call, made for a document."""
    made = [Paid(name, model, payload, document_id, now) for name, payload in payloads.items()]
    store.put_many(PAID, made)
