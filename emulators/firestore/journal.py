"""What outlives the process: the current state of every document and what transactions committed, in SQLite.

A commit is one SQLite transaction, written before it is acknowledged. In WAL mode with `synchronous=NORMAL`
that survives the death of the process at any moment (https://sqlite.org/pragma.html#pragma_synchronous); only
the loss of power could take the last commits.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from emulators.firestore.document import StoredDocument
from emulators.firestore.names import DatabaseName

FILE_NAME = "firestore.sqlite3"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS documents (
    database TEXT NOT NULL, path TEXT NOT NULL, body BLOB NOT NULL,
    created INTEGER NOT NULL, updated INTEGER NOT NULL,
    PRIMARY KEY (database, path)
);
CREATE TABLE IF NOT EXISTS commits (
    transaction_id BLOB PRIMARY KEY, response BLOB NOT NULL, time INTEGER NOT NULL
) WITHOUT ROWID;
"""


class Journal:
    """Thread-safe. Without a directory the same tables live in memory and end with the process."""

    def __init__(self, data_dir: Path | None) -> None:
        if data_dir is not None:
            data_dir.mkdir(parents=True, exist_ok=True)
        self.durable = data_dir is not None
        target = ":memory:" if data_dir is None else str(data_dir / FILE_NAME)
        self._connection = sqlite3.connect(target, check_same_thread=False, isolation_level=None)
        self._lock = threading.Lock()
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=NORMAL")
        self._connection.executescript(_SCHEMA)

    def documents(self) -> Iterator[tuple[str, StoredDocument]]:
        """Every document, with the text of its database's name."""
        rows = self._connection.execute("SELECT database, path, body, created, updated FROM documents")
        for database, path, body, created, updated in rows:
            yield database, StoredDocument(path, body, created, updated)

    def last_time(self) -> int:
        row = self._connection.execute(
            "SELECT max(coalesce((SELECT max(updated) FROM documents), 0),"
            " coalesce((SELECT max(time) FROM commits), 0))"
        ).fetchone()
        return int(row[0])

    def commit(
        self,
        database: DatabaseName,
        changes: Iterable[tuple[str, StoredDocument | None]],
        transaction: tuple[bytes, bytes, int] | None = None,
    ) -> None:
        """Makes changes durable together; `transaction` is (id, serialized response, time) of the commit."""
        name = str(database)
        puts = []
        deletes = []
        for path, document in changes:
            if document is None:
                deletes.append((name, path))
            else:
                puts.append((name, path, document.body, document.created, document.updated))
        with self._lock, self._connection as connection:
            connection.execute("BEGIN")
            if deletes:
                connection.executemany("DELETE FROM documents WHERE database = ? AND path = ?", deletes)
            if puts:
                connection.executemany("INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?, ?)", puts)
            if transaction is not None:
                connection.execute("INSERT OR REPLACE INTO commits VALUES (?, ?, ?)", transaction)

    def response(self, transaction_id: bytes) -> bytes | None:
        """What the commit of a transaction answered, so that a client that lost the answer gets it again."""
        with self._lock:
            row = self._connection.execute(
                "SELECT response FROM commits WHERE transaction_id = ?", (transaction_id,)
            ).fetchone()
        return None if row is None else row[0]

    def forget_commits(self, before: int) -> None:
        with self._lock:
            self._connection.execute("DELETE FROM commits WHERE time < ?", (before,))

    def clear(self, database: DatabaseName) -> None:
        with self._lock:
            self._connection.execute("DELETE FROM documents WHERE database = ?", (str(database),))

    def close(self) -> None:
        with self._lock:
            self._connection.close()
