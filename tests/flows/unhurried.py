"""A record store that lets others go first."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from shared.ports import AccountStore, Kind, Page, Query, Transaction

T = TypeVar("T")
R = TypeVar("R")


class Unhurried:
    """An `AccountStore` each of whose calls may be held up before it goes out."""

    def __init__(self, store: AccountStore, chance: random.Random) -> None:
        self.account_id = store.account_id
        self._store = store
        self._random = chance

    def get(self, kind: Kind[T], record_id: str) -> T | None:
        return self._later().get(kind, record_id)

    def get_many(self, kind: Kind[T], record_ids: Sequence[str]) -> dict[str, T]:
        return self._later().get_many(kind, record_ids)

    def find(self, kind: Kind[T], query: Query) -> Page[T]:
        return self._later().find(kind, query)

    def every(self, kind: Kind[T], query: Query) -> Iterator[T]:
        return self._later().every(kind, query)

    def count(self, kind: Kind[T], query: Query) -> int:
        return self._later().count(kind, query)

    def create(self, kind: Kind[T], record: T) -> None:
        self._later().create(kind, record)

    def put_many(self, kind: Kind[T], records: Sequence[T]) -> None:
        self._later().put_many(kind, records)

    def delete_many(self, kind: Kind[T], record_ids: Sequence[str]) -> None:
        self._later().delete_many(kind, record_ids)

    def transact(self, body: Callable[[Transaction], R]) -> R:
        return self._later().transact(body)

    def _later(self) -> AccountStore:
        if self._random.random() < 0.3:
            time.sleep(self._random.uniform(0, 0.004))
        return self._store
