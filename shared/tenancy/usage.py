"""Counting what an account uses, and reading the counts.

A day's counts are spread over a few records, since one record takes about a write a second. A run adds to one
of them in the transaction that stores the run; a search by itself with one write. Work on a document counts
beside what it paid for and moves to the day's counts when a call's work is over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from functools import partial
from hashlib import blake2b
from itertools import chain

from shared.domain.ids import new_id
from shared.domain.knowledge import DocumentStatus
from shared.domain.spending import Spending
from shared.domain.usage import (
    DOCUMENTS,
    RUNS,
    Counts,
    Line,
    PendingUsage,
    UsageShard,
    lines_of,
    shared_lines,
    use_of,
)
from shared.ports import AccountStore, Query, Transaction
from shared.records import DOCUMENTS as DOCUMENT_RECORDS
from shared.records import PENDING_USAGE, USAGE

# Ten runs a second, the most that a plan allows, are one to two additions a second to each.
SHARDS = 8
_BATCH = 300
_READY = frozenset({DocumentStatus.READY, DocumentStatus.PARTIAL})


def count_run(
    tx: Transaction, run_id: str, spent: Sequence[Spending], shares: Mapping[str, int], at: datetime
) -> None:
    """Adds a run's spending to the day on which it ended. It is split by `shares`, the tokens that each
    knowledge base had in its prompt."""
    lines = shared_lines(spent, shares)
    largest = max(shares, key=lambda name: shares[name], default="")
    lines[Line(largest, None, "").key()] = {RUNS: 1}
    tx.add(USAGE, _shard(at, run_id, lines))


def count_search(
    store: AccountStore, spent: Sequence[Spending], shares: Mapping[str, int], at: datetime
) -> None:
    """The same for calls that are no part of a run: a search, the memory of a conversation."""
    lines = shared_lines(spent, shares)
    if lines:
        store.add(USAGE, _shard(at, new_id("search"), lines))


def count_work(
    tx: Transaction, document_id: str, knowledge_base_id: str, spending: Spending, at: datetime
) -> None:
    """Adds what a call for a document cost, in the transaction that keeps what it gave."""
    lines = lines_of([spending], knowledge_base_id)
    if lines:
        day = _day(at)
        tx.add(
            PENDING_USAGE, PendingUsage(f"{document_id}-{day}", day, document_id, knowledge_base_id, lines)
        )


def settle_work(store: AccountStore, document_id: str) -> None:
    """Moves what work on a document cost to the days' counts and to the document. Repeating it does nothing,
    and what a call that died left is moved by the next one."""
    where = (("document_id", "==", document_id),)
    waiting = store.find(PENDING_USAGE, Query(where=where, limit=_BATCH)).items
    latest = max((pending.day for pending in waiting), default="")
    for pending in waiting:
        store.transact(partial(_settle, name=pending.id, latest=latest))


def _settle(tx: Transaction, *, name: str, latest: str) -> None:
    """A document counts on the day on which what was paid for it made it ready."""
    pending = tx.get(PENDING_USAGE, name)
    if pending is None:
        return
    document = tx.get(DOCUMENT_RECORDS, pending.document_id)
    lines = dict(pending.lines)
    if document is not None and document.status in _READY and pending.day == latest:
        lines[Line(pending.knowledge_base_id, None, "").key()] = {DOCUMENTS: 1}
    tx.add(USAGE, _shard_of(pending.day, pending.document_id, lines))
    tx.delete(PENDING_USAGE, name)
    if document is not None:
        tx.put(DOCUMENT_RECORDS, replace(document, spent=document.spent + use_of(pending.lines)))


def read_usage(store: AccountStore, first: date, last: date) -> Iterator[tuple[str, Line, Counts]]:
    """(day, line, counts) of these days, both included; the same day and line may come several times."""
    days = (("day", ">=", first.isoformat()), ("day", "<=", last.isoformat()))
    query = Query(where=days, order_by="day")
    shards: Iterator[UsageShard] = store.every(USAGE, query)
    pending: Iterator[PendingUsage] = store.every(PENDING_USAGE, query)
    for record in chain[UsageShard | PendingUsage](shards, pending):
        for key, counts in record.lines.items():
            yield record.day, Line.parse(key), counts


def _shard(at: datetime, whose: str, lines: Mapping[str, Counts]) -> UsageShard:
    return _shard_of(_day(at), whose, lines)


def _shard_of(day: str, whose: str, lines: Mapping[str, Counts]) -> UsageShard:
    number = blake2b(whose.encode(), digest_size=1).digest()[0] % SHARDS
    return UsageShard(f"{day}-{number}", day, lines)


def _day(at: datetime) -> str:
    return at.date().isoformat()
