"""One database: its collections, their versions, and the lock under which they change."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from emulators.firestore.collection import Collection, Version
from emulators.firestore.document import StoredDocument
from emulators.firestore.errors import failed_precondition, invalid
from emulators.firestore.names import DatabaseName, collection_of, path_key
from emulators.firestore.times import SECOND, HybridClock

HISTORY = 3_600 * SECOND
HISTORY_BYTES = 256 * 1024 * 1024

Change = tuple[str, StoredDocument | None]
"""(path, the new version or None for deleted)."""


class _Superseded(NamedTuple):
    at: int
    collection: Collection
    document_id: str
    version: Version
    size: int


class Database:
    """Holds every version of the last hour (as long as `HISTORY_BYTES` suffices), so reads at a time are
    exact.

    `changed` is notified after every commit. Methods are called with it held.
    """

    def __init__(self, name: DatabaseName, clock: HybridClock) -> None:
        self.name = name
        self.clock = clock
        self.changed = threading.Condition(threading.RLock())
        self.last_commit = 0
        self.horizon = 0
        self._collections: dict[str, Collection] = {}
        self._groups: dict[str, dict[str, Collection]] = {}
        self._children: dict[str, set[str]] = {}
        self._superseded: deque[_Superseded] = deque()
        self._history_bytes = 0

    # --- reading ---------------------------------------------------------------------------------

    def check_readable(self, time: int) -> None:
        if time > self.clock.wall() and time > self.last_commit:
            raise invalid("The requested read time is in the future.")
        if time < self.horizon or time < self.clock.wall() - HISTORY:
            raise failed_precondition("The requested snapshot version is too old.")

    def get(self, path: str, time: int | None = None) -> StoredDocument | None:
        collection, document_id = collection_of(path)
        found = self._collections.get(collection)
        return None if found is None else found.get(document_id, time)

    def collection(self, path: str) -> Collection | None:
        return self._collections.get(path)

    def group(self, collection_id: str | None, below: str) -> list[Collection]:
        """Collections with an id (None: with any) anywhere below a document, or below the root ("")."""
        pool = self._collections if collection_id is None else self._groups.get(collection_id, {})
        prefix = below + "/" if below else ""
        return [collection for path, collection in pool.items() if path.startswith(prefix)]

    def child_collections(self, parent: str, time: int | None = None) -> list[str]:
        """Ids of the collections right below a document or the root that hold a document at any depth."""
        prefix = parent + "/" if parent else ""
        ids = self._children.get(parent, ())
        return sorted(name for name in ids if self._holds_any(prefix + name, time))

    def child_documents(self, collection: str, time: int | None = None) -> list[str]:
        """Ids of a collection's documents, and of missing ones that have documents below them."""
        found = self._collections.get(collection)
        ids = {document.path.rpartition("/")[2] for document in found.documents(time)} if found else set()
        prefix = collection + "/"
        for path, below in self._collections.items():
            if path.startswith(prefix):
                document_id = path[len(prefix) :].partition("/")[0]
                if document_id not in ids and next(below.documents(time), None) is not None:
                    ids.add(document_id)
        return sorted(ids, key=path_key)

    def _holds_any(self, collection: str, time: int | None) -> bool:
        found = self._collections.get(collection)
        if found is not None and next(found.documents(time), None) is not None:
            return True
        prefix = collection + "/"
        return any(
            path.startswith(prefix) and next(below.documents(time), None) is not None
            for path, below in self._collections.items()
        )

    def documents(self) -> Iterator[StoredDocument]:
        for collection in self._collections.values():
            yield from collection.documents()

    # --- changing --------------------------------------------------------------------------------

    def load(self, document: StoredDocument) -> None:
        """Takes over a document from the journal."""
        collection, document_id = collection_of(document.path)
        self._open(collection).put(document_id, document, document.updated)
        self.last_commit = max(self.last_commit, document.updated)
        self.horizon = max(self.horizon, document.updated)

    def publish(self, changes: Iterable[Change], time: int) -> None:
        """Makes the changes of one commit visible."""
        for path, document in changes:
            name, document_id = collection_of(path)
            collection = self._open(name)
            superseded = collection.put(document_id, document, time)
            if superseded is not None:
                old = superseded[1]
                size = 0 if old is None else len(old.body)
                self._superseded.append(_Superseded(time, collection, document_id, superseded, size))
                self._history_bytes += size
        self.last_commit = time
        self._forget(time - HISTORY)
        self.changed.notify_all()

    def clear(self) -> None:
        """Deletes every document and forgets every version."""
        self._collections.clear()
        self._groups.clear()
        self._children.clear()
        self._superseded.clear()
        self._history_bytes = 0
        self.last_commit = self.horizon = self.clock.commit()
        self.changed.notify_all()

    def wait(self, ready: Callable[[], bool], timeout: float) -> bool:
        return self.changed.wait_for(ready, timeout)

    def _open(self, path: str) -> Collection:
        collection = self._collections.get(path)
        if collection is None:
            collection = self._collections[path] = Collection(path)
            self._groups.setdefault(collection.group, {})[path] = collection
            while path:
                parent, _, name = path.rpartition("/")
                self._children.setdefault(parent, set()).add(name)
                path = parent.rpartition("/")[0]
        return collection

    def _forget(self, before: int) -> None:
        queue = self._superseded
        while queue and (queue[0].at < before or self._history_bytes > HISTORY_BYTES):
            entry = queue.popleft()
            entry.collection.forget(entry.document_id, entry.version)
            self._history_bytes -= entry.size
            self.horizon = max(self.horizon, entry.at)
