"""Deliveries in SQLite: what is to be delivered where, when next, and how often it was tried."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

_SCHEMA = """
CREATE TABLE IF NOT EXISTS deliveries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    lane TEXT NOT NULL,
    name TEXT NOT NULL,
    due REAL NOT NULL,
    created REAL NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    payload BLOB NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS deliveries_name ON deliveries (name);
CREATE INDEX IF NOT EXISTS deliveries_due ON deliveries (lane, due, id);
"""


@dataclass(frozen=True, slots=True)
class Delivery:
    """`due` and `created` in seconds since the epoch; `attempts` counts those that have ended."""

    id: int
    lane: str
    name: str
    due: float
    created: float
    attempts: int
    payload: bytes


class Outbox:
    """A file, or memory. Safe under threads; what a method has done survives the death of the process."""

    def __init__(self, path: Path | None, schema: str = "") -> None:
        self._lock = threading.RLock()
        self._db = sqlite3.connect(str(path or ":memory:"), check_same_thread=False, isolation_level=None)
        # WAL without a sync at each commit: safe against the death of the process, which is all we promise.
        self._db.executescript(f"PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; {_SCHEMA} {schema}")

    def execute(self, statement: str, values: Sequence[object] = ()) -> list[tuple[object, ...]]:
        """One statement, committed when it returns; for tables that belong to the caller."""
        with self._lock:
            return self._db.execute(statement, values).fetchall()

    def add(self, lane: str, name: str, due: float, created: float, payload: bytes) -> bool:
        """False when there is a delivery of that name."""
        try:
            self.execute(
                "INSERT INTO deliveries (lane, name, due, created, payload) VALUES (?, ?, ?, ?, ?)",
                (lane, name, due, created, payload),
            )
        except sqlite3.IntegrityError:
            return False
        return True

    def due(self, lane: str, now: float, limit: int) -> list[Delivery]:
        """The oldest of those whose time has come."""
        return self._select("lane = ? AND due <= ? ORDER BY due, id LIMIT ?", (lane, now, limit))

    def all(self, lane: str) -> list[Delivery]:
        return self._select("lane = ? ORDER BY due, id", (lane,))

    def find(self, name: str) -> Delivery | None:
        found = self._select("name = ?", (name,))
        return found[0] if found else None

    def next_due(self, lane: str, besides: Iterable[int]) -> float | None:
        skipped = set(besides)
        rows = self.execute(
            "SELECT id, due FROM deliveries WHERE lane = ? ORDER BY due, id LIMIT ?", (lane, len(skipped) + 1)
        )
        return next((float(str(due)) for number, due in rows if number not in skipped), None)

    def count(self, lane: str, before: float | None = None) -> int:
        """How many wait; with `before`, those due until then."""
        limit = float("inf") if before is None else before
        rows = self.execute("SELECT COUNT(*) FROM deliveries WHERE lane = ? AND due <= ?", (lane, limit))
        return int(str(rows[0][0]))

    def postpone(self, delivery: Delivery, due: float) -> None:
        """An attempt has failed; the next is at `due`. No effect when it was removed meanwhile."""
        self.execute(
            "UPDATE deliveries SET attempts = attempts + 1, due = ? WHERE id = ?", (due, delivery.id)
        )

    def rewrite(self, number: int, payload: bytes) -> None:
        self.execute("UPDATE deliveries SET payload = ? WHERE id = ?", (payload, number))

    def schedule(self, number: int, due: float) -> None:
        self.execute("UPDATE deliveries SET due = ? WHERE id = ?", (due, number))

    def hasten(self, lane: str, due: float) -> None:
        """What would come later than `due` comes then."""
        self.execute("UPDATE deliveries SET due = ? WHERE lane = ? AND due > ?", (due, lane, due))

    def remove(self, number: int) -> bool:
        return bool(self.execute("DELETE FROM deliveries WHERE id = ? RETURNING id", (number,)))

    def clear(self, lane: str) -> None:
        self.execute("DELETE FROM deliveries WHERE lane = ?", (lane,))

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def _select(self, condition: str, values: Sequence[object]) -> list[Delivery]:
        columns = "id, lane, name, due, created, attempts, payload"
        rows = self.execute(f"SELECT {columns} FROM deliveries WHERE {condition}", values)  # noqa: S608
        return [Delivery(*row) for row in rows]  # type: ignore[arg-type]  # the columns are typed by the schema
