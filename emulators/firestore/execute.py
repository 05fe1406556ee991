"""Runs a query over one state of a database. Called with the database's lock held."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from emulators.firestore.database import Database
from emulators.firestore.document import StoredDocument
from emulators.firestore.fields import NAME
from emulators.firestore.query import Bound, Order, Query


def matching(database: Database, query: Query, time: int | None) -> list[StoredDocument]:
    """The documents that a query selects, in its order, offset and limit applied; `nearest` is left to the caller."""
    found = [document for document in candidates(database, query, time) if _selects(query, document)]
    if not (_is_name_order(query) and not query.all_descendants):
        sort(found, query.orders)
    stop = None if query.limit is None else query.offset + query.limit
    return list(islice(found, query.offset, stop))


def candidates(database: Database, query: Query, time: int | None) -> Iterator[StoredDocument]:
    """Every document of the collections that a query names."""
    if query.all_descendants:
        for collection in database.group(query.collection, query.parent):
            yield from collection.documents(time)
        return
    path = f"{query.parent}/{query.collection}" if query.parent else str(query.collection)
    one = database.collection(path)
    if one is not None:
        yield from one.documents(time)


def last_change(database: Database, query: Query) -> int:
    """When a collection that the query names was last changed."""
    if query.all_descendants:
        return max((c.changed for c in database.group(query.collection, query.parent)), default=0)
    path = f"{query.parent}/{query.collection}" if query.parent else str(query.collection)
    one = database.collection(path)
    return 0 if one is None else one.changed


def sort(documents: list[StoredDocument], orders: Iterable[Order]) -> None:
    """Sorts in place, last order first: Python's sort is stable."""
    for order in reversed(list(orders)):
        documents.sort(key=lambda document: document.key(order.path), reverse=order.descending)


def _is_name_order(query: Query) -> bool:
    return len(query.orders) == 1 and query.orders[0] == Order(NAME)


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
        if ours != theirs:
            assert ours is not None, "documents without an ordered field were left out"
            return -1 if (ours < theirs) != order.descending else 1
    return 0
