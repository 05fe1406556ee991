"""A structured query, parsed and checked: what executor, index check and listener need to know of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from emulators.firestore.fields import NAME, FieldPath
from emulators.firestore.filters import Filter
from emulators.firestore.values import Key


@dataclass(frozen=True, slots=True)
class Order:
    path: FieldPath
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Bound:
    """A position in the order: before or after the documents whose first order values are `keys`."""

    keys: tuple[Key, ...]
    before: bool


@dataclass(frozen=True, slots=True)
class Nearest:
    """`measure` is EUCLIDEAN, COSINE or DOT_PRODUCT."""

    path: FieldPath
    vector: tuple[float, ...]
    measure: str
    limit: int
    threshold: float | None
    result_field: FieldPath | None


@dataclass(frozen=True, slots=True)
class Query:
    """`orders` is complete: it names every inequality field and ends with `__name__`.

    `explicit_orders` counts those that the request gave. `collection` None means any collection id.
    """

    parent: str
    collection: str | None
    all_descendants: bool = False
    where: Filter | None = None
    orders: tuple[Order, ...] = (Order(NAME),)
    explicit_orders: int = 0
    start: Bound | None = None
    end: Bound | None = None
    offset: int = 0
    limit: int | None = None
    select: tuple[FieldPath, ...] | None = None
    nearest: Nearest | None = None

    def with_limit(self, limit: int) -> Query:
        return replace(self, limit=limit if self.limit is None else min(limit, self.limit))
