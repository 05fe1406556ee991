"""What a model was paid for, kept account-wide by text and model: a crash, a retry, an edited document or the
same file in another knowledge base never pays for it again.

A result goes with the document that it was made for, though another may hold the same text: nothing that
derives from a deleted document stays, and the other one has its own copy of what it needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from shared.domain.ids import content_id
from shared.domain.paid import Paid
from shared.domain.spending import Spending
from shared.ports import AccountStore, Transaction
from shared.records import PAID
from shared.tenancy.usage import count_work

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


@dataclass(frozen=True, slots=True)
class Payer:
    """Whose work is paid for."""

    document_id: str
    knowledge_base_id: str


def keep(
    store: AccountStore,
    model: str,
    payloads: Mapping[str, bytes],
    *,
    payer: Payer,
    spending: Spending,
    now: datetime,
) -> None:
    """Keeps the results of one call and counts what it cost, both or neither."""

    def body(tx: Transaction) -> None:
        for name, payload in payloads.items():
            tx.put(PAID, Paid(name, model, payload, payer.document_id, now))
        count_work(tx, payer.document_id, payer.knowledge_base_id, spending, now)

    store.transact(body)
