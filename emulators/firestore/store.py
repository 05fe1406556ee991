"""Every database of the server, opened when first named, and one clock and journal for all."""

from __future__ import annotations

import itertools
import secrets
import threading
from dataclasses import dataclass
from pathlib import Path

from emulators.firestore.commits import Committer
from emulators.firestore.database import Database
from emulators.firestore.journal import Journal
from emulators.firestore.limits import DocumentLimits
from emulators.firestore.names import DatabaseName, parse_database
from emulators.firestore.times import SECOND, HybridClock
from emulators.firestore.transactions import Transactions

ANSWERS_KEPT = 600 * SECOND
"""How long the answer of a committed transaction can be had again: past the client's own deadline."""


@dataclass(frozen=True, slots=True)
class Site:
    """A database with what changes it."""

    database: Database
    transactions: Transactions
    committer: Committer


class Store:
    """Thread-safe. With a directory it finds again what was committed before."""

    def __init__(self, data_dir: Path | None, limits: DocumentLimits) -> None:
        self._journal = Journal(data_dir)
        self._limits = limits
        self._epoch = secrets.token_bytes(8)
        self._numbers = itertools.count(1)
        self._sites: dict[DatabaseName, Site] = {}
        self._lock = threading.Lock()
        self.clock = HybridClock(self._journal.last_time())
        self._journal.forget_commits(self.clock.wall() - ANSWERS_KEPT)
        for name, document in self._journal.documents():
            self.site(parse_database(name)).database.load(document)

    def site(self, name: DatabaseName) -> Site:
        found = self._sites.get(name)
        if found is not None:
            return found
        with self._lock:
            return self._sites.setdefault(name, self._make(name))

    def sites(self) -> list[Site]:
        with self._lock:
            return list(self._sites.values())

    def clear(self, name: DatabaseName) -> None:
        """Deletes every document of a database."""
        database = self.site(name).database
        with database.changed:
            self._journal.clear(name)
            database.clear()

    def close(self) -> None:
        self._journal.close()

    def _make(self, name: DatabaseName) -> Site:
        database = Database(name, self.clock)
        transactions = Transactions(database, self._epoch, self._numbers)
        committer = Committer(database, transactions, self._journal, self._limits.check)
        return Site(database, transactions, committer)
