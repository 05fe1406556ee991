"""One collection: its live documents in order of name, and the versions that they replaced."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator

from emulators.firestore.document import StoredDocument
from emulators.firestore.field_index import FieldIndex
from emulators.firestore.fields import FieldPath
from emulators.firestore.names import SegmentKey, segment_key

Version = tuple[int, StoredDocument | None]
"""(from this time on, the document or None for deleted)."""


class Collection:
    """Changed only under the database's lock."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.group = path.rpartition("/")[2]
        self.live: dict[str, StoredDocument] = {}
        self.changed = 0
        self._history: dict[str, list[Version]] = {}
        self._by_field: dict[FieldPath, FieldIndex] = {}
        self._order: list[tuple[SegmentKey, str]] = []

    def get(self, document_id: str, time: int | None = None) -> StoredDocument | None:
        """The document now, or as it was at a time."""
        document = self.live.get(document_id)
        if time is None or (document is not None and document.updated <= time):
            return document
        for since, version in reversed(self._history.get(document_id, ())):
            if since <= time:
                return version
        return None

    def documents(self, time: int | None = None) -> Iterator[StoredDocument]:
        """In order of id."""
        if time is None or self.changed <= time:
            live = self.live
            for _, document_id in self._order:
                if document_id in live:
                    yield live[document_id]
            return
        for _, document_id in self._order:
            document = self.get(document_id, time)
            if document is not None:
                yield document

    def by_field(self, path: FieldPath) -> FieldIndex:
        """The live documents by the value of a field. The first call for a field looks at each of them."""
        index = self._by_field.get(path)
        if index is None:
            index = self._by_field[path] = FieldIndex(path, self.live.values())
        return index

    def put(self, document_id: str, document: StoredDocument | None, time: int) -> Version | None:
        """Replaces a document from `time` on and returns the version that this supersedes."""
        old = self.live.get(document_id)
        history = self._history.get(document_id)
        superseded: Version | None = None
        if old is not None:
            superseded = (old.updated, old)
            self._history.setdefault(document_id, []).append(superseded)
        elif history:
            superseded = history[-1]
        else:
            insort(self._order, (segment_key(document_id), document_id))
        for index in self._by_field.values():
            index.replace(old, document)
        if document is None:
            self.live.pop(document_id, None)
            self._history.setdefault(document_id, []).append((time, None))
        else:
            self.live[document_id] = document
        self.changed = time
        return superseded

    def forget(self, document_id: str, version: Version) -> None:
        """Drops a superseded version; the id with it when nothing is left but that it was deleted."""
        history = self._history.get(document_id)
        if history is None:
            return
        history[:] = [entry for entry in history if entry is not version]
        if len(history) == 1 and history[0][1] is None and document_id not in self.live:
            history.clear()
            key = (segment_key(document_id), document_id)
            del self._order[bisect_left(self._order, key)]
        if not history:
            del self._history[document_id]
