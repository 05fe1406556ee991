"""What Firestore's documentation says a query returns, worked out the slow way on plain Python values.

Shares nothing with the emulator. Sources: "Supported data types" (order of types and inside them), "Perform
simple and compound queries", "Order and limit data", "Paginate data with query cursors", and the comments of
query.proto.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cmp_to_key
from typing import Any

NAME = "__name__"
MISSING = object()
INEQUALITIES = ("<", "<=", ">", ">=", "!=", "not-in")


@dataclass(frozen=True)
class Ref:
    path: str


@dataclass(frozen=True)
class Point:
    latitude: float
    longitude: float


@dataclass(frozen=True)
class Numbers:
    """A vector."""

    values: tuple[float, ...]


@dataclass(frozen=True)
class Condition:
    path: str
    op: str
    value: Any


@dataclass(frozen=True)
class All:
    parts: tuple[Any, ...]


@dataclass(frozen=True)
class Any_:  # noqa: N801 - the name `Any` is taken
    parts: tuple[Any, ...]


@dataclass(frozen=True)
class Cursor:
    values: tuple[Any, ...]
    inclusive: bool


@dataclass(frozen=True)
class Spec:
    """A query. `orders` are (path, descending); `last` is limit-to-last instead of `limit`."""

    where: Any = None
    orders: tuple[tuple[str, bool], ...] = ()
    start: Cursor | None = None
    end: Cursor | None = None
    offset: int = 0
    limit: int | None = None
    last: int | None = None
    group: bool = False


@dataclass(frozen=True)
class Doc:
    path: str
    data: dict[str, Any] = field(hash=False)


def type_rank(value: Any) -> int:
    kinds: Sequence[Any] = (
        type(None),
        bool,
        (int, float),
        datetime,
        str,
        bytes,
        Ref,
        Point,
        list,
        Numbers,
        dict,
    )
    for rank, kind in enumerate(kinds):
        if isinstance(value, kind):
            return rank
    raise AssertionError(f"no rank for {value!r}")


def compare(left: Any, right: Any) -> int:  # noqa: PLR0911 - a line for each type
    """-1, 0 or 1 in the documented order over all types."""
    ranks = type_rank(left), type_rank(right)
    if ranks[0] != ranks[1]:
        return -1 if ranks[0] < ranks[1] else 1
    if left is None:
        return 0
    if isinstance(left, (int, float)) and not isinstance(left, bool):
        return _numbers(left, right)
    if isinstance(left, str):
        return _plain(left.encode(), right.encode())
    if isinstance(left, Ref):
        return _plain(left.path.split("/"), right.path.split("/"))
    if isinstance(left, Point):
        return _plain((left.latitude, left.longitude), (right.latitude, right.longitude))
    if isinstance(left, list):
        return _sequences(left, right)
    if isinstance(left, Numbers):
        by_size = _plain(len(left.values), len(right.values))
        return by_size or _sequences(list(left.values), list(right.values))
    if isinstance(left, dict):
        return _maps(left, right)
    return _plain(left, right)


def _plain(left: Any, right: Any) -> int:
    return (left > right) - (left < right)


def _numbers(left: float, right: float) -> int:
    if math.isnan(left) or math.isnan(right):
        return math.isnan(right) - math.isnan(left)
    return _plain(left, right)


def _sequences(left: list[Any], right: list[Any]) -> int:
    for one, other in zip(left, right, strict=False):
        if (result := compare(one, other)) != 0:
            return result
    return _plain(len(left), len(right))


def _maps(left: dict[str, Any], right: dict[str, Any]) -> int:
    for one, other in zip(sorted(left), sorted(right), strict=False):
        if (result := _plain(one, other) or compare(left[one], right[other])) != 0:
            return result
    return _plain(len(left), len(right))


def value_at(doc: Doc, path: str) -> Any:
    if path == NAME:
        return Ref(doc.path)
    value: Any = doc.data
    for part in path.split("."):
        if not isinstance(value, dict) or part not in value:
            return MISSING
        value = value[part]
    return value


def is_nothing(value: Any) -> bool:
    """Null and NaN, which only their own conditions find."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def equal(left: Any, right: Any) -> bool:
    return compare(left, right) == 0


def listed(value: Any, choices: Sequence[Any]) -> bool:
    return not is_nothing(value) and any(equal(value, choice) for choice in choices)


def holds(condition: Any, doc: Doc) -> bool:
    if isinstance(condition, All):
        return all(holds(part, doc) for part in condition.parts)
    if isinstance(condition, Any_):
        return any(holds(part, doc) for part in condition.parts)
    value = value_at(doc, condition.path)
    return value is not MISSING and _holds(condition.op, value, condition.value)


def _holds(op: str, value: Any, wanted: Any) -> bool:  # noqa: PLR0911 - a line for each operator
    if op == "==":
        return equal(value, wanted)
    if op == "!=":
        return value is not None and not equal(value, wanted)
    if op == "in":
        return listed(value, wanted)
    if op == "not-in":
        has_null = any(choice is None for choice in wanted)
        return value is not None and not has_null and not any(equal(value, choice) for choice in wanted)
    if op == "array_contains":
        return isinstance(value, list) and any(listed(item, [wanted]) for item in value)
    if op == "array_contains_any":
        return isinstance(value, list) and any(listed(item, wanted) for item in value)
    if type_rank(value) != type_rank(wanted):
        return False
    order = compare(value, wanted)
    return {"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[op]


def conditions(where: Any) -> list[Condition]:
    if where is None:
        return []
    return [where] if isinstance(where, Condition) else [c for part in where.parts for c in conditions(part)]


def full_order(spec: Spec) -> list[tuple[str, bool]]:
    """The orders given, then those that inequalities imply, by name, then the document's name."""
    orders = list(spec.orders)
    direction = orders[-1][1] if orders else False
    given = {path for path, _ in orders}
    implied = {c.path for c in conditions(spec.where) if c.op in INEQUALITIES} - given - {NAME}
    orders += [(path, direction) for path in sorted(implied, key=lambda path: path.split("."))]
    if NAME not in given:
        orders.append((NAME, direction))
    return orders


def position(doc: Doc, orders: list[tuple[str, bool]], cursor: Cursor) -> int:
    for (path, descending), wanted in zip(orders, cursor.values, strict=False):
        result = compare(value_at(doc, path), wanted)
        if result:
            return -result if descending else result
    return 0


def answer(docs: Sequence[Doc], spec: Spec) -> list[str]:
    """The paths of the documents that the query returns, in order."""
    orders = full_order(spec)
    found = [doc for doc in docs if spec.where is None or holds(spec.where, doc)]
    found = [doc for doc in found if all(value_at(doc, path) is not MISSING for path, _ in orders)]
    if (start := spec.start) is not None:
        found = [doc for doc in found if position(doc, orders, start) >= (0 if start.inclusive else 1)]
    if (end := spec.end) is not None:
        found = [doc for doc in found if position(doc, orders, end) <= (0 if end.inclusive else -1)]

    def by_orders(left: Doc, right: Doc) -> int:
        for path, descending in orders:
            result = compare(value_at(left, path), value_at(right, path))
            if result:
                return -result if descending else result
        return 0

    found.sort(key=cmp_to_key(by_orders))
    found = found[spec.offset :]
    if spec.limit is not None:
        found = found[: spec.limit]
    if spec.last is not None:
        found = found[max(len(found) - spec.last, 0) :]
    return [doc.path for doc in found]


def total(docs: Sequence[Doc], paths: Sequence[str], path: str) -> float:
    """The sum of a field over documents."""
    chosen = [value_at(doc, path) for doc in docs if doc.path in set(paths)]
    numbers = [value for value in chosen if value is not MISSING and type_rank(value) == 2]
    if any(isinstance(n, float) and math.isnan(n) for n in numbers) or {math.inf, -math.inf} <= set(numbers):
        return math.nan
    if math.inf in numbers or -math.inf in numbers:
        return math.inf if math.inf in numbers else -math.inf
    if all(isinstance(number, int) for number in numbers):
        return sum(numbers)
    return math.fsum(numbers)
