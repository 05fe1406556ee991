"""`python -m tests.bench.emulator`: the embedded Firestore beside plain SQLite, in one run.

Both are on disk, with the same journal mode. The emulator runs in a process of its own, as it does for a
user, and is asked through the real client, so its figures hold the client and the wire as well. Prints one
JSON object last.
"""

from __future__ import annotations

import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
COUNT = 1_000
ROUNDS = 3
DATA = {"title": "A title of ordinary length", "body": "lorem ipsum " * 40, "number": 7, "tags": ["a", "b"]}


def best(work: Callable[[], None]) -> float:
    """Seconds, the median of a few rounds."""
    return statistics.median(_timed(work) for _ in range(ROUNDS))


def _timed(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def plain_sqlite(directory: Path) -> dict[str, float]:
    connection = sqlite3.connect(directory / "plain.sqlite3", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("CREATE TABLE documents (id TEXT PRIMARY KEY, number INTEGER, data TEXT)")
    connection.execute("CREATE INDEX by_number ON documents (number)")
    text = json.dumps(DATA)

    def write() -> None:
        for n in range(COUNT):
            connection.execute("INSERT OR REPLACE INTO documents VALUES (?, ?, ?)", (f"d{n}", n, text))

    def read() -> None:
        for n in range(COUNT):
            json.loads(
                connection.execute("SELECT data FROM documents WHERE id = ?", (f"d{n}",)).fetchone()[0]
            )

    def query() -> None:
        rows = connection.execute("SELECT data FROM documents WHERE number >= 0 ORDER BY number").fetchall()
        if len([json.loads(row[0]) for row in rows]) != COUNT:
            raise AssertionError(f"the query found {len(rows)} of {COUNT} rows")

    found = {"write": best(write), "read": best(read), "query": best(query)}
    connection.close()
    return found


def emulator(directory: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "emulators.firestore", "--data-dir", str(directory)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        started = time.perf_counter()
        if process.stdout is None:
            raise AssertionError("the emulator has no output")
        os.environ["FIRESTORE_EMULATOR_HOST"] = process.stdout.readline().strip().partition("=")[2]
        start_up = time.perf_counter() - started
        return {**_ask(), "start_up": start_up}
    finally:
        process.terminate()
        process.wait(timeout=20)


def _ask() -> dict[str, float]:
    from google.cloud import firestore

    client = firestore.Client(project="bench")
    rows = client.collection("rows")
    refs = [rows.document(f"d{n}") for n in range(COUNT)]
    refs[0].set({})  # opens the connection

    def write() -> None:
        for n, ref in enumerate(refs):
            ref.set({**DATA, "number": n})

    def update() -> None:
        stamp: dict[str, Any] = {"at": time.time()}
        for ref in refs:
            ref.update(stamp)

    def read() -> None:
        for ref in refs:
            ref.get()

    measured = {"write": _timed(write), "update": best(update), "read": best(read)}
    measured["query"] = best(lambda: _query(rows))
    measured["transaction"] = _timed(lambda: _transact(client, refs[0]))
    client.close()
    return measured


def _query(rows: Any) -> None:
    from google.cloud.firestore_v1.base_query import FieldFilter

    found = list(rows.where(filter=FieldFilter("number", ">=", 0)).order_by("number").stream())
    if len(found) != COUNT:
        raise AssertionError(f"the query found {len(found)} of {COUNT} rows")


def _transact(client: Any, ref: Any) -> None:
    """Begin, read, commit, each a call."""
    from google.cloud import firestore

    @firestore.transactional
    def bump(transaction: firestore.Transaction) -> None:
        snapshot = ref.get(transaction=transaction)
        transaction.update(ref, {"count": (snapshot.to_dict() or {}).get("count", 0) + 1})

    for _ in range(COUNT):
        bump(client.transaction())


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        plain = plain_sqlite(directory)
        ours = emulator(directory / "emulator")
    milliseconds = {
        f"{name}_ms": round(1_000 * seconds / (1 if name in {"query", "start_up"} else COUNT), 3)
        for name, seconds in ours.items()
    }
    ratios = {name: round(ours[name] / plain[name], 1) for name in plain}
    for name, ratio in ratios.items():
        print(f"{name}: {ratio} times plain SQLite", file=sys.stderr)
    print(json.dumps({"count": COUNT, "emulator": milliseconds, "ratio_to_sqlite": ratios}))


if __name__ == "__main__":
    main()
