"""From a `StructuredQuery` on the wire to a checked `Query`.

What production refuses is refused here with INVALID_ARGUMENT; the rules stand in
google/firestore/v1/query.proto.
"""

from __future__ import annotations

from typing import Any

from emulators.firestore import fields as field_paths
from emulators.firestore.errors import invalid, unimplemented
from emulators.firestore.fields import NAME, FieldPath
from emulators.firestore.filter_parse import parse_filter
from emulators.firestore.filters import INEQUALITY, Filter, comparisons
from emulators.firestore.names import DatabaseName, check_id, parse_parent, split_name
from emulators.firestore.nearest import parse_nearest
from emulators.firestore.query import Bound, Order, Query
from emulators.firestore.values import Key, key_of, reference_key

_DESCENDING = 2


def parse_query(parent_name: str, structured: Any) -> tuple[DatabaseName, Query]:
    """The database that a query asks and the query itself."""
    database, parent = parse_parent(parent_name)
    if len(structured.from_) != 1:
        raise invalid("A query needs exactly one collection selector.")
    selector = structured.from_[0]
    if selector.collection_id:
        check_id(selector.collection_id)
    elif not selector.all_descendants:
        raise unimplemented("A query over all direct child collections needs a collection id here.")
    where = parse_filter(structured.where, database) if structured.HasField("where") else None
    explicit = [_order(order) for order in structured.order_by]
    orders = complete_orders(explicit, where)
    if structured.offset < 0:
        raise invalid(f"offset must not be negative, got {structured.offset}.")
    limit = structured.limit.value if structured.HasField("limit") else None
    if limit is not None and limit < 0:
        raise invalid(f"limit must not be negative, got {limit}.")
    return database, Query(
        parent=parent,
        collection=selector.collection_id or None,
        all_descendants=selector.all_descendants,
        where=where,
        orders=orders,
        explicit_orders=len(explicit),
        start=_bound(structured.start_at, orders, database) if structured.HasField("start_at") else None,
        end=_bound(structured.end_at, orders, database) if structured.HasField("end_at") else None,
        offset=structured.offset,
        limit=limit,
        select=_projection(structured),
        nearest=parse_nearest(structured.find_nearest) if structured.HasField("find_nearest") else None,
    )


def complete_orders(explicit: list[Order], where: Filter | None) -> tuple[Order, ...]:
    """Adds the orders that a query implies: its inequality fields by name, then `__name__`."""
    orders = list(explicit)
    named = {order.path for order in orders}
    if len(named) != len(orders):
        raise invalid("A query cannot order by the same field twice.")
    if NAME in named and orders[-1].path != NAME:
        raise invalid("__name__ must be the last field that a query orders by.")
    descending = orders[-1].descending if orders else False
    unequal = {part.path for part in comparisons(where) if part.op in INEQUALITY}
    missing = sorted(unequal - named - {NAME})
    if missing and NAME in named:
        raise invalid(
            f'The inequality field "{field_paths.text(missing[0])}" must be ordered before __name__.'
        )
    orders.extend(Order(path, descending) for path in missing)
    if NAME not in named:
        orders.append(Order(NAME, descending))
    return tuple(orders)


def _order(order: Any) -> Order:
    return Order(field_paths.parse(order.field.field_path), order.direction == _DESCENDING)


def _bound(cursor: Any, orders: tuple[Order, ...], database: DatabaseName) -> Bound | None:
    if not cursor.values:
        return None
    if len(cursor.values) > len(orders):
        raise invalid(
            f"The cursor has {len(cursor.values)} values, but the query orders by {len(orders)} fields."
        )
    keys: list[Key] = []
    for order, value in zip(orders, cursor.values, strict=False):
        keys.append(name_key(value, database) if order.path == NAME else key_of(value))
    return Bound(tuple(keys), cursor.before)


def name_key(value: Any, database: DatabaseName) -> Key:
    """The key of a reference that `__name__` is compared with."""
    if value.WhichOneof("value_type") != "reference_value":
        raise invalid("__name__ can only be compared with a document reference.")
    other, path = split_name(value.reference_value)
    if other != database:
        raise invalid(
            f'__name__ is compared with a reference to another database: "{value.reference_value}".'
        )
    return reference_key(path)


def _projection(structured: Any) -> tuple[FieldPath, ...] | None:
    if not structured.HasField("select") or not structured.select.fields:
        return None
    return tuple(field_paths.parse(field.field_path) for field in structured.select.fields)
