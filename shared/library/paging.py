"""Pages of what a caller may see."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from shared.ports import AccountStore, Kind, Page, Query

T = TypeVar("T")

# After so many reads of a page the caller gets what there is, and a cursor to go on from.
_ROUNDS = 20


def visible_page(
    store: AccountStore, kind: Kind[T], query: Query, keep: Callable[[Sequence[T]], Iterable[T]]
) -> Page[T]:
    """A page of the records that `keep` lets through. It may be shorter than the limit with more to come."""
    items: list[T] = []
    for _ in range(_ROUNDS):
        page = store.find(kind, replace(query, limit=query.limit - len(items)))
        items += keep(page.items)
        query = replace(query, cursor=page.next_cursor)
        if query.cursor is None or len(items) >= query.limit:
            break
    return Page(tuple(items), query.cursor)
