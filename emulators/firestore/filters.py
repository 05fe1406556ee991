"""Filters over a document's keys.

Rules (https://firebase.google.com/docs/firestore/query-data/queries): a filter only matches documents that
have the field; `<`, `<=`, `>`, `>=` only match values of the operand's type; `!=` and `not-in` do not match
null, whatever else they compare with; null and NaN are found by `is null` and `is NaN` alone, not inside `in`
or `array-contains`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from emulators.firestore.document import StoredDocument
from emulators.firestore.fields import FieldPath
from emulators.firestore.values import ARRAY, NAN_KEY, NULL_KEY, Key


class Op(StrEnum):
    LESS_THAN = "<"
    LESS_THAN_OR_EQUAL = "<="
    GREATER_THAN = ">"
    GREATER_THAN_OR_EQUAL = ">="
    EQUAL = "=="
    NOT_EQUAL = "!="
    ARRAY_CONTAINS = "array-contains"
    IN = "in"
    ARRAY_CONTAINS_ANY = "array-contains-any"
    NOT_IN = "not-in"


RANGE = frozenset({Op.LESS_THAN, Op.LESS_THAN_OR_EQUAL, Op.GREATER_THAN, Op.GREATER_THAN_OR_EQUAL})
INEQUALITY = RANGE | {Op.NOT_EQUAL, Op.NOT_IN}
DISJUNCTIVE = frozenset({Op.IN, Op.ARRAY_CONTAINS_ANY})
ARRAY_OPS = frozenset({Op.ARRAY_CONTAINS, Op.ARRAY_CONTAINS_ANY})


@dataclass(frozen=True, slots=True)
class Compare:
    """`field op operands`; one operand except for `in`, `not-in` and `array-contains-any`."""

    path: FieldPath
    op: Op
    operands: tuple[Key, ...]

    def matches(self, document: StoredDocument) -> bool:
        key = document.key(self.path)
        return key is not None and _MATCH[self.op](key, self.operands)


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Filter, ...]

    def matches(self, document: StoredDocument) -> bool:
        return all(part.matches(document) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Filter, ...]

    def matches(self, document: StoredDocument) -> bool:
        return any(part.matches(document) for part in self.parts)


Filter = Compare | And | Or


def comparisons(where: Filter | None) -> Iterator[Compare]:
    """Every comparison in a filter, at any depth."""
    if isinstance(where, Compare):
        yield where
    elif where is not None:
        for part in where.parts:
            yield from comparisons(part)


def _not_in(key: Key, operands: tuple[Key, ...]) -> bool:
    return key != NULL_KEY and NULL_KEY not in operands and key not in operands


def _in(key: Key, operands: tuple[Key, ...]) -> bool:
    return key not in (NULL_KEY, NAN_KEY) and key in operands


def _contains_any(key: Key, operands: tuple[Key, ...]) -> bool:
    if key[0] != ARRAY:
        return False
    return any(_in(item, operands) for item in key[1])


_MATCH = {
    Op.EQUAL: lambda key, operands: key == operands[0],
    Op.NOT_EQUAL: lambda key, operands: key not in (NULL_KEY, operands[0]),
    Op.LESS_THAN: lambda key, operands: key[0] == operands[0][0] and key < operands[0],
    Op.LESS_THAN_OR_EQUAL: lambda key, operands: key[0] == operands[0][0] and key <= operands[0],
    Op.GREATER_THAN: lambda key, operands: key[0] == operands[0][0] and key > operands[0],
    Op.GREATER_THAN_OR_EQUAL: lambda key, operands: key[0] == operands[0][0] and key >= operands[0],
    Op.IN: _in,
    Op.NOT_IN: _not_in,
    Op.ARRAY_CONTAINS: _contains_any,
    Op.ARRAY_CONTAINS_ANY: _contains_any,
}
