"""The live documents of a collection by the value of one field, for conditions that name few of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator

from emulators.firestore.document import StoredDocument
from emulators.firestore.fields import FieldPath
from emulators.firestore.filters import Compare, Op
from emulators.firestore.values import Key


class FieldIndex:
    """Made when a query first asks for the field, kept up to date from then on."""

    def __init__(self, path: FieldPath, documents: Iterable[StoredDocument]) -> None:
        self._path = path
        self._documents: dict[Key, dict[str, StoredDocument]] = {}
        for document in documents:
            key = document.key(path)
            if key is not None:
                self._documents.setdefault(key, {})[document.path] = document
        self._keys = sorted(self._documents)

    def replace(self, old: StoredDocument | None, new: StoredDocument | None) -> None:
        before = None if old is None else old.key(self._path)
        after = None if new is None else new.key(self._path)
        if before is not None and old is not None:
            same = self._documents[before]
            del same[old.path]
            if not same and before != after:
                del self._documents[before]
                del self._keys[bisect_left(self._keys, before)]
        if after is not None and new is not None:
            if after not in self._documents:
                insort(self._keys, after)
                self._documents[after] = {}
            self._documents[after][new.path] = new

    def any_of(self, keys: Iterable[Key]) -> Iterator[StoredDocument]:
        for key in dict.fromkeys(keys):
            yield from self._documents.get(key, {}).values()

    def within(self, ranges: Iterable[Compare]) -> Iterator[StoredDocument]:
        """The documents that meet every range; each range holds only for values of its operand's type."""
        start, stop = 0, len(self._keys)
        for comparison in ranges:
            low, high = self._span(comparison.op, comparison.operands[0])
            start, stop = max(start, low), min(stop, high)
        for key in self._keys[start:stop]:
            yield from self._documents[key].values()

    def _span(self, op: Op, key: Key) -> tuple[int, int]:
        """The part of the keys that `op key` covers. (type,) stands before every key of the type."""
        first, after_last = bisect_left(self._keys, key[:1]), bisect_left(self._keys, (key[0] + 1,))
        if op is Op.GREATER_THAN:
            return bisect_right(self._keys, key), after_last
        if op is Op.GREATER_THAN_OR_EQUAL:
            return bisect_left(self._keys, key), after_last
        if op is Op.LESS_THAN:
            return first, bisect_left(self._keys, key)
        return first, bisect_right(self._keys, key)
