"""Runs a query over one state of a database. Called with the database's lock held."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice

from emulators.firestore.collection import Collection
from emulators.firestore.database import Database
from emulators.firestore.document import StoredDocument
from emulators.firestore.fields import NAME, FieldPath
from emulators.firestore.filters import RANGE, And, Compare, Filter, Op
from emulators.firestore.query import Bound, Order, Query
from emulators.firestore.values import Key


def matching(database: Database, query: Query, time: int | None) -> list[StoredDocument]:
    """The documents that a query selects, in its order, with offset and limit; not `nearest`."""
    found = [document for document in candidates(database, query, time) if _selects(query, document)]
    if not _is_in_order(query):
        sort(found, query.orders)
    stop = None if query.limit is None else query.offset + query.limit
    return list(islice(found, query.offset, stop))


def candidates(database: Database, query: Query, time: int | None) -> Iterator[StoredDocument]:
    """Every document of the collections that a query names."""
    narrow = _narrowing(query.where)
    for collection in _collections(database, query):
        is_current = time is None or collection.changed <= time
        if narrow and is_current:
            index = collection.by_field(narrow[0].path)
            yield from index.within(narrow) if narrow[0].op in RANGE else index.any_of(narrow[0].operands)
        else:
            yield from collection.documents(time)


def last_change(database: Database, query: Query) -> int:
    """When a collection that the query names was last changed."""
    return max((collection.changed for collection in _collections(database, query)), default=0)


def _collections(database: Database, query: Query) -> list[Collection]:
    if query.all_descendants:
        return database.group(query.collection, query.parent)
    path = f"{query.parent}/{query.collection}" if query.parent else str(query.collection)
    one = database.collection(path)
    return [] if one is None else [one]


def _narrowing(where: Filter | None) -> list[Compare]:
    """Comparisons of one field that every result meets and that an index by its values answers: an equality,
    or else all ranges of one field. Empty when there is none."""
    parts = where.parts if isinstance(where, And) else (where,)
    named = [part for part in parts if isinstance(part, Compare) and part.path != NAME]
    for part in named:
        if part.op in {Op.EQUAL, Op.IN}:
            return [part]
    ranges = [part for part in named if part.op in RANGE]
    return [part for part in ranges if part.path == ranges[0].path]


def sort(documents: list[StoredDocument], orders: Iterable[Order]) -> None:
    """Sorts in place, last order first: Python's sort is stable."""
    for order in reversed(list(orders)):
        documents.sort(key=partial(_sort_key, path=order.path), reverse=order.descending)


def _sort_key(document: StoredDocument, path: FieldPath) -> Key:
    return document.key(path) or ()


def _is_in_order(query: Query) -> bool:
    """Whether candidates come in the query's order: all of one collection, by name."""
    return not query.all_descendants and query.orders == (Order(NAME),) and not _narrowing(query.where)


def _selects(query: Query, document: StoredDocument) -> bool:
    if query.where is not None and not query.where.matches(document):
        return False
    if any(document.key(order.path) is None for order in query.orders):
        return False
    return _after_start(query, document) and _before_end(query, document)


def _after_start(query: Query, document: StoredDocument) -> bool:
    if query.start is None:
        return True
    position = _compare(document, query.orders, query.start)
    return position >= 0 if query.start.before else position > 0


def _before_end(query: Query, document: StoredDocument) -> bool:
    if query.end is None:
        return True
    position = _compare(document, query.orders, query.end)
    return position < 0 if query.end.before else position <= 0


def _compare(document: StoredDocument, orders: tuple[Order, ...], bound: Bound) -> int:
    """-1, 0 or 1: the document stands before, at or after the position, in the query's order."""
    for order, theirs in zip(orders, bound.keys, strict=False):
        ours = document.key(order.path)
        if ours is not None and ours != theirs:  # without the field it would not have come here
            return -1 if (ours < theirs) != order.descending else 1
    return 0
