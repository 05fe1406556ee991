"""From a `StructuredQuery.Filter` to a checked filter.

Limits (https://firebase.google.com/docs/firestore/query-data/queries#query_limitations): 30 disjunctions in
disjunctive normal form, `not-in` with at most 10 values and not together with `!=` or another disjunction.
"""

from __future__ import annotations

from typing import Any

from emulators.firestore import fields as field_paths
from emulators.firestore.errors import invalid
from emulators.firestore.fields import NAME, FieldPath
from emulators.firestore.filters import (
    ARRAY_OPS,
    DISJUNCTIVE,
    RANGE,
    And,
    Compare,
    Filter,
    Op,
    Or,
    comparisons,
)
from emulators.firestore.names import DatabaseName, split_name
from emulators.firestore.protos import StructuredQuery
from emulators.firestore.values import ARRAY, NAN_KEY, NULL_KEY, Key, key_of, reference_key

MAX_DISJUNCTIONS = 30
MAX_NOT_IN = 10
MAX_INEQUALITY_FIELDS = 10

_AND, _OR = 1, 2
_OPERATORS = {number: Op[name] for name, number in StructuredQuery.FieldFilter.Operator.items() if number}
_UNARY = {
    2: (Op.EQUAL, NAN_KEY),
    3: (Op.EQUAL, NULL_KEY),
    4: (Op.NOT_EQUAL, NAN_KEY),
    5: (Op.NOT_EQUAL, NULL_KEY),
}


def parse_filter(message: Any, database: DatabaseName) -> Filter | None:
    """The filter, or None for an empty one; INVALID_ARGUMENT where production refuses it."""
    where = _parse(message, database)
    if where is not None:
        _check(where)
    return where


def disjunctions(where: Filter | None) -> int:
    """How many conjunctions the filter has in disjunctive normal form."""
    if where is None:
        return 1
    if isinstance(where, Compare):
        return len(where.operands) if where.op in DISJUNCTIVE else 1
    counts = [disjunctions(part) for part in where.parts]
    if isinstance(where, Or):
        return sum(counts)
    product = 1
    for count in counts:
        product *= count
    return product


def _parse(message: Any, database: DatabaseName) -> Filter | None:
    kind = message.WhichOneof("filter_type")
    if kind == "composite_filter":
        composite = message.composite_filter
        if not composite.filters or composite.op not in {_AND, _OR}:
            raise invalid("A composite filter needs an operator and at least one filter.")
        parts = tuple(part for item in composite.filters if (part := _parse(item, database)) is not None)
        if len(parts) == 1:
            return parts[0]
        return And(parts) if composite.op == _AND else Or(parts)
    if kind == "field_filter":
        return _comparison(message.field_filter, database)
    if kind == "unary_filter":
        unary = message.unary_filter
        if unary.op not in _UNARY:
            raise invalid("A unary filter needs an operator.")
        op, key = _UNARY[unary.op]
        return Compare(field_paths.parse(unary.field.field_path), op, (key,))
    return None


def _comparison(message: Any, database: DatabaseName) -> Compare:
    path = field_paths.parse(message.field.field_path)
    if message.op not in _OPERATORS:
        raise invalid(f'The filter on "{message.field.field_path}" needs an operator.')
    op = _OPERATORS[message.op]
    if path == NAME and op in ARRAY_OPS:
        raise invalid(f"__name__ cannot be filtered with {op}.")
    if op in DISJUNCTIVE or op is Op.NOT_IN:
        if message.value.WhichOneof("value_type") != "array_value" or not message.value.array_value.values:
            raise invalid(f"The operand of {op} must be an array that is not empty.")
        values = list(message.value.array_value.values)
    else:
        values = [message.value]
    keys = tuple(_operand(path, value, database) for value in values)
    if op is Op.ARRAY_CONTAINS and keys[0][0] == ARRAY:
        raise invalid("array-contains cannot look for an array: arrays do not hold arrays.")
    if op in RANGE and keys[0] in (NULL_KEY, NAN_KEY):
        raise invalid(f"{op} cannot compare with null or NaN.")
    return Compare(path, op, keys)


def _operand(path: FieldPath, value: Any, database: DatabaseName) -> Key:
    if path != NAME:
        return key_of(value)
    if value.WhichOneof("value_type") != "reference_value":
        raise invalid("__name__ can only be compared with a document reference.")
    other, document_path = split_name(value.reference_value)
    if other != database:
        raise invalid(
            f'__name__ is compared with a reference to another database: "{value.reference_value}".'
        )
    return reference_key(document_path)


def _check(where: Filter) -> None:
    parts = list(comparisons(where))
    count = disjunctions(where)
    if count > MAX_DISJUNCTIONS:
        raise invalid(
            f"The query has {count} disjunctions in normal form; at most {MAX_DISJUNCTIONS} are allowed."
        )
    negative = [part for part in parts if part.op in {Op.NOT_EQUAL, Op.NOT_IN}]
    if len(negative) > 1:
        raise invalid("A query takes only one of !=, not-in, is not null and is not NaN.")
    if negative and negative[0].op is Op.NOT_IN:
        if len(negative[0].operands) > MAX_NOT_IN:
            raise invalid(f"not-in takes at most {MAX_NOT_IN} values, got {len(negative[0].operands)}.")
        if _has_or(where) or any(part.op in DISJUNCTIVE for part in parts):
            raise invalid("not-in cannot stand beside in, array-contains-any or an OR.")
    unequal = {part.path for part in parts if part.op in RANGE or part in negative}
    if len(unequal) > MAX_INEQUALITY_FIELDS:
        raise invalid(
            f"A query takes inequalities on at most {MAX_INEQUALITY_FIELDS} fields, got {len(unequal)}."
        )
    for conjunction in conjunctions(where):
        arrays = [part for part in conjunction if part.op in ARRAY_OPS]
        if len(arrays) > 1:
            raise invalid("A conjunction takes only one array-contains or array-contains-any.")


def conjunctions(where: Filter | None) -> list[tuple[Compare, ...]]:
    """The filter as OR of ANDs; `in` and `array-contains-any` stay whole."""
    if where is None:
        return [()]
    if isinstance(where, Compare):
        return [(where,)]
    if isinstance(where, Or):
        return [conjunction for part in where.parts for conjunction in conjunctions(part)]
    combined: list[tuple[Compare, ...]] = [()]
    for part in where.parts:
        combined = [left + right for left in combined for right in conjunctions(part)]
    return combined


def _has_or(where: Filter) -> bool:
    if isinstance(where, Or):
        return True
    return isinstance(where, And) and any(_has_or(part) for part in where.parts)
