"""Whatever happened before, a question shows all that its caller may see now, and nothing else.

A sequence is a few random changes (publish, replace, delete, archive, limit, switch off) in random accounts,
then a question by a random caller, asked of an instance that has answered before and of a new one.
What it may show is known from a plain model of the changes.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from shared.adapters.firestore.store import FirestoreStore
from shared.adapters.tokens import count_tokens
from shared.domain.accounts import Caller
from shared.domain.errors import NotFoundError
from shared.domain.knowledge import Document
from shared.domain.models import EmbeddingProfile
from shared.domain.retrieval import Retrieval, RetrievalStatus
from shared.domain.text import StoredChunk
from shared.index.cache import IndexCache
from shared.index.publish import publish, remove, write_segments
from shared.index.segment import pack
from shared.ports import AccountStore, Embeddings, TokenCounter
from shared.records import CHUNKS, DOCUMENTS, KNOWLEDGE_BASES
from shared.retrieve.flow import RetrieveRequest, retrieve
from shared.retrieve.policy import Limits, PolicyName
from shared.retrieve.scope import Asked
from tests.flows.index_library import (
    CLOCK,
    StillClock,
    add_knowledge_base,
    claim,
    publication_of,
)
from tests.flows.library import caller
from tests.unit.index_passages import FINGERPRINT, passage, unit

SEQUENCES = 1_000
_ACCOUNTS = ("north", "south")
_BASES = ("kb-a", "kb-b")
_DEPARTMENTS = ((), ("sales",), ("legal", "sales"))
_PROFILE = EmbeddingProfile(FINGERPRINT, 2, 0.0, (("run", 0.3), ("message", 0.2)), 512)
_ALL = Limits(max_passages=60, max_tokens=1_000_000)


class FlatEmbedder:
    batch_size = 16
    profile = _PROFILE

    def passages(self, texts: Sequence[str]) -> Embeddings:
        return Embeddings(np.stack([unit([1.0, 1.0])] * len(texts)))

    def query(self, text: str) -> Embeddings:
        return self.passages([text])


@dataclass
class Instance:
    """What one running instance has; a cold one has an empty cache."""

    store: FirestoreStore
    index: IndexCache = field(default_factory=lambda: IndexCache(1 << 24))
    clock: StillClock = CLOCK
    embedder: FlatEmbedder = field(default_factory=FlatEmbedder)
    count_tokens: TokenCounter = count_tokens


@dataclass
class Base:
    """A knowledge base as the changes left it: passages by document, and who may see them."""

    departments: tuple[str, ...] = ()
    active: bool = True
    automatic: bool = True
    documents: dict[str, frozenset[str]] = field(default_factory=dict)
    archived: set[str] = field(default_factory=set)

    def shown(self, who: Caller, only: str | None = None) -> set[str]:
        if not self.open_to(who):
            return set()
        names = self.documents.keys() - self.archived
        return {p for name in names if only in (None, name) for p in self.documents[name]}

    def open_to(self, who: Caller) -> bool:
        limited = bool(self.departments) and who.department_ids is not None
        return self.active and not (limited and who.department_ids.isdisjoint(self.departments))


class World:
    def __init__(self, store: FirestoreStore, seed: int) -> None:
        self.store = store
        self.random = random.Random(seed)
        self.warm = Instance(store)
        self.revision = 0
        self.answered = 0
        self.bases = {(account, base): Base() for account in _ACCOUNTS for base in _BASES}
        for account, base in self.bases:
            add_knowledge_base(store.of(account), base)
            self._set(account, base)

    def change(self) -> None:
        account, base = self.random.choice(list(self.bases))
        step = self.random.choice((self.publish, self.publish, self.delete, self.archive, self.limit))
        step(account, base)

    def publish(self, account: str, base: str) -> None:
        """A new document, or (always when there are two) a new revision of one."""
        records = self.store.of(account)
        held = self.bases[account, base]
        self.revision += 1
        name = f"{base}-{self.revision}"
        if held.documents and (len(held.documents) > 1 or self.random.random() < 0.5):
            name = self.random.choice(sorted(held.documents))
        document = claim(records, name, self.revision, base)
        texts = {
            f"{name}-{self.revision}-{n}": f"alpha of {account}, {name}, {self.revision}, {n}"
            for n in range(self.random.randint(1, 2))
        }
        rows = [passage(i, name, self.revision, text=text, vector=(1.0, 1.0)) for i, text in texts.items()]
        stored = [StoredChunk(f"chunk-of-{i}", name, text, "-", 4) for i, text in texts.items()]
        records.put_many(CHUNKS, stored)
        refs = write_segments(records, pack(rows, base, FINGERPRINT))
        publish(records, CLOCK, publication_of(document, refs))
        held.documents[name] = frozenset(texts)

    def delete(self, account: str, base: str) -> None:
        held = self.bases[account, base]
        if held.documents:
            name = self.random.choice(sorted(held.documents))
            records = self.store.of(account)
            remove(records, CLOCK, _document(records, name))
            if self.random.random() < 0.5:  # the record stays for as long as tidying takes
                records.delete_many(DOCUMENTS, [name])
            held.archived.discard(name)
            del held.documents[name]

    def archive(self, account: str, base: str) -> None:
        held = self.bases[account, base]
        if held.documents:
            name = self.random.choice(sorted(held.documents))
            records = self.store.of(account)
            held.archived ^= {name}
            records.put_many(DOCUMENTS, [replace(_document(records, name), archived=name in held.archived)])

    def limit(self, account: str, base: str) -> None:
        held = self.bases[account, base]
        held.departments = self.random.choice(_DEPARTMENTS)
        held.active = self.random.random() < 0.8
        held.automatic = self.random.random() < 0.6
        self._set(account, base)

    def _set(self, account: str, base: str) -> None:
        records, held = self.store.of(account), self.bases[account, base]
        current = records.get(KNOWLEDGE_BASES, base)
        assert current is not None
        changed = replace(
            current,
            department_ids=held.departments,
            active=held.active,
            is_auto_context=held.automatic,
        )
        records.put_many(KNOWLEDGE_BASES, [changed])

    def question(self) -> None:
        """Asks, and compares with what the model allows."""
        account = self.random.choice(_ACCOUNTS)
        who = caller(account, *self.random.choice(((), ("sales",), ("legal",), ("other",))))
        attached = tuple(base for base in _BASES if self.random.random() < 0.3)
        # Mostly a document of the account, sometimes one that was deleted, or is another account's.
        named = self.random.choice([d for base in self.bases.values() for d in base.documents] or ["kb-a-0"])
        named_ids = (named,) if self.random.random() < 0.2 else ()
        asked = Asked(named_ids, attached, auto_context=self.random.random() < 0.7)
        for instance in (self.warm, Instance(self.store)):
            try:
                found = retrieve(instance, who, _request(asked))
            except NotFoundError:
                base = self.bases[account, named[:4]]
                assert named_ids
                assert named not in base.documents or not base.open_to(who)
                continue
            assert found.status in (RetrievalStatus.OK, RetrievalStatus.EMPTY), found.detail
            self.check(account, who, asked, found)

    def check(self, account: str, who: Caller, asked: Asked, found: Retrieval) -> None:
        allowed: set[str] = set()
        for name in _BASES:
            base = self.bases[account, name]
            if name in asked.knowledge_base_ids or (asked.auto_context and base.automatic):
                allowed |= base.shown(who)
            for document in asked.document_ids:
                if document.startswith(name):
                    allowed |= base.shown(who, document)
        self.answered += bool(allowed)
        assert {passage.id for passage in found.passages} == allowed
        assert all(account in passage.text for passage in found.passages)
        assert {dropped.passage_id for dropped in found.dropped} <= allowed


def _document(records: AccountStore, name: str) -> Document:
    found = records.get(DOCUMENTS, name)
    assert found is not None
    return found


def _request(asked: Asked) -> RetrieveRequest:
    return RetrieveRequest("alpha", asked, policy=PolicyName.MESSAGE, limits=_ALL)


@pytest.mark.slow
def test_no_question_shows_what_is_out_of_its_scope_or_misses_what_is_in_it(store: FirestoreStore) -> None:
    world = World(store, seed=20_261_201)
    for _ in range(SEQUENCES):
        for _ in range(world.random.randint(0, 2)):
            world.change()
        world.question()
    # It would prove little if most questions had nothing to find.
    assert world.answered > SEQUENCES // 2
