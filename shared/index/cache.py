"""Indexes kept in memory between questions, within one byte budget for all accounts of the instance."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakValueDictionary

from shared.domain.knowledge import KnowledgeBase
from shared.index.search import ScopePart, SearchScope
from shared.index.state import KnowledgeBaseIndex
from shared.index.sync import Reads, sync
from shared.ports import AccountStore

log = logging.getLogger(__name__)

_Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ScopeItem:
    """A knowledge base, as read for this question, and the documents of it that are meant (None: all)."""

    knowledge_base: KnowledgeBase
    only: frozenset[str] | None = None


class _Flight:
    """The right to load one knowledge base; who waits for it finds the result in the cache."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


class IndexCache:
    """One per process, for all threads. The account is part of every key and comes from the store that reads,
    so one account's index can never answer another's question. The least recently used go first."""

    def __init__(self, budget_bytes: int) -> None:
        self._budget = budget_bytes
        self._held: OrderedDict[_Key, KnowledgeBaseIndex] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()
        self._flights: WeakValueDictionary[_Key, _Flight] = WeakValueDictionary()
        self.reads = Reads()

    @property
    def nbytes(self) -> int:
        """Bytes of all indexes that are held."""
        return self._bytes

    def scope(self, store: AccountStore, items: Sequence[ScopeItem]) -> SearchScope:
        """What a question may search. The knowledge bases' records have to be read after the question came:
        one with the version that is held costs no read, else what changed is read.

        Raises `TransientError` when the store fails.
        """
        return SearchScope([ScopePart(self._index(store, item.knowledge_base), item.only) for item in items])

    def forget(self, account_id: str, knowledge_base_id: str | None = None) -> None:
        """Frees what is held of an account, or of one knowledge base of it."""
        with self._lock:
            for key in list(self._held):
                if key[0] == account_id and knowledge_base_id in (None, key[1]):
                    self._drop(key)

    def _index(self, store: AccountStore, knowledge_base: KnowledgeBase) -> KnowledgeBaseIndex:
        key = (store.account_id, knowledge_base.id)
        held = self._fresh(key, knowledge_base.index_version)
        if held is not None:
            return held
        with self._lock:
            flight = self._flights.setdefault(key, _Flight())
        with flight.lock:
            held = self._fresh(key, knowledge_base.index_version)
            if held is not None:
                return held
            loaded = sync(store, knowledge_base, self._held.get(key), self.reads)
            self._keep(key, loaded)
            return loaded

    def _fresh(self, key: _Key, version: int) -> KnowledgeBaseIndex | None:
        """What is held, if it is of this version or a newer one."""
        with self._lock:
            held = self._held.get(key)
            if held is None or held.version < version:
                return None
            self._held.move_to_end(key)
            return held

    def _keep(self, key: _Key, index: KnowledgeBaseIndex) -> None:
        with self._lock:
            self._drop(key)
            if index.nbytes > self._budget:
                log.warning(
                    "index larger than the cache",
                    extra={"knowledge_base_id": key[1], "bytes": index.nbytes, "budget": self._budget},
                )
                return
            self._held[key] = index
            self._bytes += index.nbytes
            while self._bytes > self._budget:
                self._drop(next(iter(self._held)))

    def _drop(self, key: _Key) -> None:
        dropped = self._held.pop(key, None)
        if dropped is not None:
            self._bytes -= dropped.nbytes
