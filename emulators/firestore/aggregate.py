"""Count, sum and average over the documents of a query.

Rules: google/firestore/v1/query.proto, `StructuredAggregationQuery`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from emulators.firestore import fields as field_paths
from emulators.firestore.document import StoredDocument
from emulators.firestore.errors import invalid
from emulators.firestore.fields import FieldPath
from emulators.firestore.protos import AggregationResult, Value
from emulators.firestore.transforms import MAX_INT64, MIN_INT64
from emulators.firestore.values import NAN_KEY, NUMBER

MAX_AGGREGATIONS = 5


@dataclass(frozen=True, slots=True)
class Aggregation:
    """`kind` is count, sum or avg; `path` the field of a sum or an average; `up_to` bounds a count."""

    alias: str
    kind: str
    path: FieldPath | None = None
    up_to: int | None = None


def parse_aggregations(messages: Sequence[Any]) -> tuple[Aggregation, ...]:
    if not 1 <= len(messages) <= MAX_AGGREGATIONS:
        raise invalid(
            f"An aggregation query takes 1 to {MAX_AGGREGATIONS} aggregations, got {len(messages)}."
        )
    parsed: list[Aggregation] = []
    unnamed = 0
    for message in messages:
        alias = message.alias
        if not alias:
            unnamed += 1
            alias = f"field_{unnamed}"
        parsed.append(_parse(alias, message))
    if len({item.alias for item in parsed}) != len(parsed):
        raise invalid("Each aggregation needs an alias of its own.")
    return tuple(parsed)


def _parse(alias: str, message: Any) -> Aggregation:
    kind = message.WhichOneof("operator")
    field_paths.check_name(alias)
    if kind == "count":
        up_to = message.count.up_to.value if message.count.HasField("up_to") else None
        if up_to is not None and up_to <= 0:
            raise invalid(f"up_to must be greater than zero, got {up_to}.")
        return Aggregation(alias, kind, up_to=up_to)
    if kind in {"sum", "avg"}:
        return Aggregation(alias, kind, field_paths.parse(getattr(message, kind).field.field_path))
    raise invalid(f'The aggregation "{alias}" has no operator.')


def aggregate(items: Sequence[Aggregation], documents: Sequence[StoredDocument]) -> Any:
    """Documents without a summed or averaged field count for nothing: the index has no entry for them."""
    fields = {item.path for item in items if item.path is not None}
    whole = [d for d in documents if all(d.key(path) is not None for path in fields)]
    result = AggregationResult()
    for item in items:
        result.aggregate_fields[item.alias].CopyFrom(_value(item, whole))
    return result


def _value(item: Aggregation, documents: Sequence[StoredDocument]) -> Any:
    if item.path is None:
        count = len(documents)
        return Value(integer_value=count if item.up_to is None else min(count, item.up_to))
    numbers = _numbers(documents, item.path)
    if item.kind == "sum":
        return _sum(numbers)
    if not numbers:
        return Value(null_value=0)
    if any(isinstance(number, float) for number in numbers):
        return Value(double_value=_float_sum(numbers) / len(numbers))
    return Value(double_value=sum(numbers) / len(numbers))


def _numbers(documents: Sequence[StoredDocument], path: FieldPath) -> list[int | float]:
    numbers: list[int | float] = []
    for document in documents:
        key = document.key(path)
        if key is not None and key[0] == NUMBER:
            numbers.append(math.nan if key == NAN_KEY else key[2])
    return numbers


def _sum(numbers: list[int | float]) -> Any:
    if all(isinstance(number, int) for number in numbers):
        total = sum(numbers)
        if MIN_INT64 <= total <= MAX_INT64:
            return Value(integer_value=int(total))
        return Value(double_value=float(total))
    return Value(double_value=_float_sum(numbers))


def _float_sum(numbers: list[int | float]) -> float:
    """IEEE-754 with infinities: inf + -inf is NaN. `fsum` rounds once, whatever the order."""
    floats = [float(number) for number in numbers]
    if any(math.isnan(number) for number in floats) or {math.inf, -math.inf} <= set(floats):
        return math.nan
    try:
        return math.fsum(floats)
    except OverflowError:
        return sum(floats)
