"""What a model was paid for, kept account-wide by text and model: a crash, a retry, an edited document or the
same file in another knowledge base never pays for it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from shared.domain.ids import content_id
from shared.ports import AccountStore, Kind


@dataclass(frozen=True, slots=True)
class Paid:
    """`payload` is a summary in UTF-8, or a vector in little-endian float16."""

    id: str
    model: str
    payload: bytes
    created_at: datetime


PAID = Kind("paid", Paid)
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


def keep(store: AccountStore, model: str, payloads: Mapping[str, bytes], now: datetime) -> None:
    """Keeps the results of one call."""
    store.put_many(PAID, [Paid(name, model, payload, now) for name, payload in payloads.items()])
