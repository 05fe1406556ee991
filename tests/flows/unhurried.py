"""A record store that lets others go first."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from shared.ports import AccountStore, Kind, Page, Query, Transaction

T = TypeVar("T")
R = TypeVar("R")


# Where nobody else is about to call, nobody has to be waited for.
_PATIENCE = 0.01


class Unhurried:
    """An `AccountStore` that holds a call up, at random, until others have made some calls. How slow the
    machine is does not matter: what lets another go first is that the other goes."""

    def __init__(self, store: AccountStore, chance: random.Random) -> None:
        self.account_id = store.account_id
        self.hold = 0.4
        self._store = store
        self._random = chance
        self._calls = 0
        self._called = threading.Condition()

    def after(self, calls: int, patience: float = 10 * _PATIENCE) -> None:
        """Waits for so many more calls of others."""
        with self._called:
            until = self._calls + calls
            self._called.wait_for(lambda: self._calls >= until, patience)

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
        if self._random.random() < self.hold:
            self.after(self._random.randint(1, 8), _PATIENCE)
        with self._called:
            self._calls += 1
            self._called.notify_all()
        return self._store
