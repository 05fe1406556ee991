"""Whether a query has the indexes that production would need for it.

Rules (https://firebase.google.com/docs/firestore/query-data/index-overview): equality conditions are answered
by merging single-field indexes; one order or range by its single-field index; everything else by composite
indexes of equality fields, in any order, followed by the query's orders exactly. Composite indexes with the
same orders merge, so each may hold a part of the equality fields. Each conjunction of an OR needs its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from emulators.firestore.errors import RpcError, failed_precondition, invalid
from emulators.firestore.fields import NAME, FieldPath
from emulators.firestore.filter_parse import conjunctions
from emulators.firestore.filters import ARRAY_OPS, Compare, Op, comparisons
from emulators.firestore.indexes import (
    ASCENDING,
    COLLECTION,
    COLLECTION_GROUP,
    CONTAINS,
    DESCENDING,
    CompositeIndex,
    GroupIndexes,
    Indexes,
    IndexField,
)
from emulators.firestore.query import Nearest, Query

FILE = "infra/firestore.indexes.json"

_EQUAL_OPS = frozenset({Op.EQUAL, Op.IN}) | ARRAY_OPS


class IndexCheck:
    """Raises FAILED_PRECONDITION that names what the file lacks. `required` False lets every query run."""

    def __init__(self, indexes: Indexes, *, required: bool) -> None:
        self._indexes = indexes
        self._required = required

    def check(self, query: Query, summed: Iterable[FieldPath] = ()) -> None:
        """`summed` are fields that an aggregation adds up: the index must hold them too."""
        if query.collection is None:
            _check_kindless(query)
        elif self._required:
            for conjunction in conjunctions(query.where):
                need = _Need.of(query, query.collection, conjunction, summed)
                need.check(self._indexes.group(query.collection))


def _check_kindless(query: Query) -> None:
    """A query over every collection can only go by name."""
    fields = {part.path for part in comparisons(query.where)} | {order.path for order in query.orders}
    if fields - {NAME}:
        raise invalid("A query without a collection id can only filter and order by __name__.")


@dataclass(frozen=True, slots=True)
class _Need:
    """What one conjunction of a query asks of the indexes. `equal` maps a field to CONTAINS, or to ASCENDING
    where it is compared with ==, `in` or null; `orders` does without those fields and without `__name__`."""

    collection: str
    scope: str
    equal: Mapping[FieldPath, str]
    orders: tuple[IndexField, ...]
    name_mode: str
    nearest: Nearest | None

    @classmethod
    def of(
        cls, query: Query, collection: str, conjunction: tuple[Compare, ...], summed: Iterable[FieldPath]
    ) -> _Need:
        equal = {
            part.path: CONTAINS if part.op in ARRAY_OPS else ASCENDING
            for part in conjunction
            if part.op in _EQUAL_OPS and part.path != NAME
        }
        name_mode = _mode(descending=query.orders[-1].descending)
        orders = [
            IndexField(order.path, _mode(descending=order.descending))
            for order in query.orders[:-1]
            if order.path not in equal
        ]
        known = {field.path for field in orders} | set(equal)
        orders += [IndexField(path, name_mode) for path in dict.fromkeys(summed) if path not in known]
        scope = COLLECTION_GROUP if query.all_descendants else COLLECTION
        return cls(collection, scope, equal, tuple(orders), name_mode, query.nearest)

    def check(self, group: GroupIndexes) -> None:
        if self.nearest is not None:
            self._check_vector(group, self.nearest)
        elif not self.orders:
            self._check_equalities(group)
        elif not self.equal and len(self.orders) == 1 and self.orders[0].mode == self.name_mode:
            self._check_one_order(group)
        elif self._covered(group) != set(self.equal):
            name = () if self.orders[-1].mode == self.name_mode else (IndexField(NAME, self.name_mode),)
            raise self._missing((*self._equal_fields(), *self.orders, *name))

    def _check_equalities(self, group: GroupIndexes) -> None:
        covered = {path for path, mode in self.equal.items() if self._has_single(group, path, mode)}
        for index in group.composite:
            if index.scope == self.scope and all(self._is_equality(field) for field in index.fields):
                covered.update(field.path for field in index.fields)
        for field in self._equal_fields():
            if field.path not in covered:
                raise self._missing_single(field)

    def _check_one_order(self, group: GroupIndexes) -> None:
        order = self.orders[0]
        if (self.scope, order.mode) not in group.modes(order.path) and self._covered(group) is None:
            raise self._missing_single(order)

    def _check_vector(self, group: GroupIndexes, nearest: Nearest) -> None:
        wanted = set(self.equal) | {order.path for order in self.orders}
        vector = IndexField(nearest.path, dimension=len(nearest.vector))
        for index in group.composite:
            *head, last = index.fields
            if index.scope == self.scope and last == vector and {field.path for field in head} == wanted:
                return
        raise self._missing((*self._equal_fields(), *self.orders, vector))

    def _covered(self, group: GroupIndexes) -> set[FieldPath] | None:
        """The equality fields that composite indexes with these orders hold; None without such an index."""
        covered: set[FieldPath] = set()
        found = False
        for index in group.composite:
            head = self._head(index)
            if head is not None and all(self._is_equality(field) for field in head):
                found = True
                covered.update(field.path for field in head)
        return covered if found else None

    def _head(self, index: CompositeIndex) -> Sequence[IndexField] | None:
        """The fields before the query's orders; None when the index does not end with them."""
        fields = index.fields
        if index.scope != self.scope or fields[-1].mode != self.name_mode:
            return None
        if fields[-1].path == NAME:
            fields = fields[:-1]
        split = len(fields) - len(self.orders)
        return fields[:split] if split >= 0 and fields[split:] == self.orders else None

    def _has_single(self, group: GroupIndexes, path: FieldPath, mode: str) -> bool:
        modes = group.modes(path)
        return (self.scope, mode) in modes or (mode != CONTAINS and (self.scope, DESCENDING) in modes)

    def _is_equality(self, field: IndexField) -> bool:
        if field.path == NAME:
            return True
        wanted = self.equal.get(field.path)
        return (
            wanted is not None
            and field.dimension is None
            and (field.mode == CONTAINS) == (wanted == CONTAINS)
        )

    def _equal_fields(self) -> list[IndexField]:
        return [IndexField(path, mode) for path, mode in sorted(self.equal.items())]

    def _missing(self, fields: tuple[IndexField, ...]) -> RpcError:
        return _requires("indexes", CompositeIndex(self.collection, self.scope, fields).as_json())

    def _missing_single(self, field: IndexField) -> RpcError:
        entry = field.as_json()
        path = entry.pop("fieldPath")
        indexes = [{**entry, "queryScope": self.scope}]
        override = {"collectionGroup": self.collection, "fieldPath": path, "indexes": indexes}
        return _requires("fieldOverrides", override)


def _mode(*, descending: bool) -> str:
    return DESCENDING if descending else ASCENDING


def _requires(section: str, entry: dict[str, Any]) -> RpcError:
    return failed_precondition(
        f'The query requires an index. Add to "{section}" in {FILE}: {json.dumps(entry)}'
    )
