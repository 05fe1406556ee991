"""What one read sees: now, a time in the past, or the snapshot of a transaction."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from emulators.firestore.document import StoredDocument
from emulators.firestore.execute import matching
from emulators.firestore.query import Query
from emulators.firestore.store import Site
from emulators.firestore.times import exact
from emulators.firestore.transactions import Transaction


class View:
    """Made and used with the database's lock held. `time` is the read time that responses report.

    `begun` is the id of a transaction that this very read began (`new_transaction`), for the first response.
    """

    def __init__(self, site: Site, time: int, transaction: Transaction | None, begun: bytes = b"") -> None:
        self._site = site
        self.time = time
        self.transaction = transaction
        self.begun = begun

    def get(self, path: str) -> StoredDocument | None:
        document = self._site.database.get(path, self.time)
        if self.transaction is not None:
            self._site.transactions.note_document(self.transaction, path)
        return document

    def run(self, query: Query) -> list[StoredDocument]:
        results = matching(self._site.database, query, self.time)
        if self.transaction is not None:
            self._site.transactions.note_query(self.transaction, query, results)
        return results


def open_view(site: Site, request: Any, paths: Iterable[str] = ()) -> View:
    """The view that a request's consistency selector asks for; the present without one.

    `paths` is what it will be asked for, where that is known.
    """
    kind = request.WhichOneof("consistency_selector")
    if kind == "transaction":
        transaction = site.transactions.usable(request.transaction)
        return View(site, site.transactions.snapshot(transaction, paths), transaction)
    if kind == "new_transaction":
        transaction = begin(site, request.new_transaction, read_only_default=True)
        return View(site, site.transactions.snapshot(transaction), transaction, transaction.id)
    if kind == "read_time":
        time = exact(request.read_time, "read_time")
        site.database.check_readable(time)
        return View(site, time, None)
    return View(site, site.database.clock.read(), None)


def begin(site: Site, options: Any, *, read_only_default: bool = False) -> Transaction:
    """Begins the transaction that the options describe."""
    mode = options.WhichOneof("mode")
    if mode == "read_only" or (mode is None and read_only_default):
        snapshot = None
        if mode == "read_only" and options.read_only.HasField("read_time"):
            snapshot = exact(options.read_only.read_time, "read_time")
            site.database.check_readable(snapshot)
        return site.transactions.begin(read_only=True, snapshot=snapshot)
    return site.transactions.begin(read_only=False, retry_of=options.read_write.retry_transaction)
