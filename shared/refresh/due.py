"""Finds the addresses that are due, for a scheduled job. One task each; the reads of a host are spread over
time."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from shared.domain.knowledge import Document, DocumentStatus
from shared.ports import Query
from shared.records import DOCUMENTS
from shared.refresh.addresses import enqueue_refresh
from shared.refresh.deps import AddressDeps
from shared.refresh.schedule import followed

log = logging.getLogger(__name__)

# What is left over is found by the next run.
_MOST_PER_ACCOUNT = 2_000
_PAGE = 300
_LONGEST_SPREAD = timedelta(minutes=30)


@dataclass(slots=True)
class _Spread:
    """Gives each host its next slot."""

    now: datetime
    pause: float
    taken: Counter[str] = field(default_factory=Counter)

    def slot(self, host: str) -> datetime | None:
        wait = timedelta(seconds=self.pause * self.taken[host])
        self.taken[host] += 1
        return self.now + min(wait, _LONGEST_SPREAD) if wait else None


def find_due(deps: AddressDeps) -> str:
    """Enqueues a read of every address that is due in any account; says how many tasks that made."""
    now = deps.clock.now()
    spread = _Spread(now, deps.settings.fetch_pause_seconds)
    made = sum(_of_account(deps, account_id, spread) for account_id in deps.store.account_ids())
    log.info("found due addresses", extra={"tasks": made})
    return f"{made} due"


def _of_account(deps: AddressDeps, account_id: str, spread: _Spread) -> int:
    store = deps.store.of(account_id)
    query: Query | None = Query(
        where=(("refresh.next_at", "<=", spread.now),), order_by="refresh.next_at", limit=_PAGE
    )
    made = seen = 0
    while query is not None and seen < _MOST_PER_ACCOUNT:
        page = store.find(DOCUMENTS, query)
        for document in page.items:
            seen += 1
            if _reads(document):
                host = urlsplit(document.source.url or "").hostname or ""
                made += enqueue_refresh(deps.queue, account_id, document, spread.slot(host))
        query = Query(query.where, query.order_by, _PAGE, page.next_cursor) if page.next_cursor else None
    return made


def _reads(document: Document) -> bool:
    return followed(document) is not None and document.status is not DocumentStatus.DELETING
