"""The cache of an instance: how little it reads, what it keeps, and that accounts never meet."""

from __future__ import annotations

import threading

import pytest

from shared.adapters.firestore.store import FirestoreAccountStore, FirestoreStore
from shared.domain.errors import TransientError
from shared.domain.knowledge import KnowledgeBase
from shared.index.cache import IndexCache, ScopeItem
from shared.index.manifest import MANIFESTS, load
from shared.index.merge import merge
from shared.index.publish import remove
from shared.index.segment import SEGMENTS
from shared.records import KNOWLEDGE_BASES
from tests.flows.index_library import CLOCK, add_knowledge_base, ask, put_in, shown

PLENTY = 64 * 1024 * 1024


@pytest.fixture
def records(store: FirestoreStore) -> FirestoreAccountStore:
    records = store.of("acme")
    add_knowledge_base(records)
    return records


def knowledge_base(records: FirestoreAccountStore, name: str = "kb") -> KnowledgeBase:
    found = records.get(KNOWLEDGE_BASES, name)
    assert found is not None
    return found


def reads(cache: IndexCache) -> tuple[int, int]:
    return cache.reads.manifests, cache.reads.segments


def test_an_unchanged_knowledge_base_costs_no_read(records: FirestoreAccountStore) -> None:
    cache = IndexCache(PLENTY)
    put_in(records)
    ask(cache, records, "alpha")
    assert reads(cache) == (1, 1)
    for _ in range(3):
        ask(cache, records, "alpha")
    assert reads(cache) == (1, 1)


def test_a_change_costs_the_manifest_and_what_is_new(records: FirestoreAccountStore) -> None:
    cache = IndexCache(PLENTY)
    document = put_in(records)
    put_in(records, "doc-2")
    ask(cache, records, "alpha")
    put_in(records, "doc-3")
    ask(cache, records, "alpha")
    assert reads(cache) == (2, 3)
    remove(records, CLOCK, document)
    ask(cache, records, "alpha")
    assert reads(cache) == (3, 3)


def test_an_edit_of_the_knowledge_base_costs_one_manifest(records: FirestoreAccountStore) -> None:
    cache = IndexCache(PLENTY)
    put_in(records)
    ask(cache, records, "alpha")
    base = knowledge_base(records)
    edited = KnowledgeBase(
        **{name: getattr(base, name) for name in KnowledgeBase.__slots__ if name != "index_version"},
        index_version=base.index_version + 1,
    )
    records.put_many(KNOWLEDGE_BASES, [edited])
    for _ in range(3):
        ask(cache, records, "alpha")
    assert reads(cache) == (2, 1)


def test_who_waits_for_a_load_does_not_load_again(records: FirestoreAccountStore) -> None:
    cache = IndexCache(PLENTY)
    put_in(records, texts=["alpha"] * 50)
    base = knowledge_base(records)
    scopes: list[int] = []
    threads = [
        threading.Thread(target=lambda: scopes.append(cache.scope(records, [ScopeItem(base)]).passages))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert scopes == [50] * 8
    assert reads(cache) == (1, 1)


def test_the_least_recently_used_goes_first_across_accounts(store: FirestoreStore) -> None:
    accounts = [store.of(name) for name in ("a", "b", "c")]
    for account in accounts:
        add_knowledge_base(account)
        put_in(account)
    probe = IndexCache(PLENTY)
    ask(probe, accounts[0], "alpha")
    cache = IndexCache(int(2.5 * probe.nbytes))
    a, b, c = accounts
    for account in (a, b, a, c):  # c needs room: b was used longest ago
        ask(cache, account, "alpha")
    assert cache.nbytes <= 2.5 * probe.nbytes
    before = cache.reads.segments
    ask(cache, a, "alpha")
    ask(cache, c, "alpha")
    assert cache.reads.segments == before
    ask(cache, b, "alpha")
    assert cache.reads.segments == before + 1


def test_an_index_larger_than_the_budget_still_answers(records: FirestoreAccountStore) -> None:
    cache = IndexCache(100)
    put_in(records)
    for _ in range(2):
        assert shown(ask(cache, records, "alpha")) == {"doc/1/0"}
    assert cache.nbytes == 0
    assert reads(cache) == (2, 2)


def test_the_same_ids_in_two_accounts_are_two_things(store: FirestoreStore) -> None:
    cache = IndexCache(PLENTY)
    mine, theirs = store.of("mine"), store.of("theirs")
    for account, text in ((mine, "alpha"), (theirs, "beta gamma")):
        add_knowledge_base(account)
        put_in(account, texts=[text] * (1 if account is mine else 3))
    assert shown(ask(cache, mine, "alpha")) == {"doc/1/0"}
    assert shown(ask(cache, theirs, "alpha")) == {"doc/1/0", "doc/1/1", "doc/1/2"}
    cache.forget("theirs")
    ask(cache, mine, "alpha")
    assert reads(cache) == (2, 2)


def test_what_is_forgotten_is_freed(records: FirestoreAccountStore) -> None:
    cache = IndexCache(PLENTY)
    add_knowledge_base(records, "other")
    put_in(records)
    put_in(records, "other-doc", knowledge_base_id="other")
    ask(cache, records, "alpha", "kb", "other")
    both = cache.nbytes
    cache.forget("acme", "kb")
    assert 0 < cache.nbytes < both
    cache.forget("acme")
    assert cache.nbytes == 0


def test_a_segment_that_vanishes_makes_the_manifest_be_read_again(
    records: FirestoreAccountStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(17):
        put_in(records, f"doc-{n:02}")
    read = FirestoreAccountStore.get_many

    def late(self: FirestoreAccountStore, kind: object, ids: object) -> object:
        if kind is SEGMENTS:  # a merge comes between the manifest and its segments
            monkeypatch.undo()
            assert merge(records, "kb")
        return read(self, kind, ids)  # type: ignore[arg-type]

    monkeypatch.setattr(FirestoreAccountStore, "get_many", late)
    cache = IndexCache(PLENTY)
    assert len(shown(ask(cache, records, "alpha"))) == 17
    assert cache.reads.manifests == 2


def test_a_damaged_index_is_reported(records: FirestoreAccountStore) -> None:
    put_in(records)
    records.delete_many(SEGMENTS, [ref.id for ref in load(records.get(MANIFESTS, "kb")).segments])
    with pytest.raises(TransientError, match="knowledge base kb were gone"):
        ask(IndexCache(PLENTY), records, "alpha")


def test_documents_that_are_meant_narrow_the_scope(records: FirestoreAccountStore) -> None:
    put_in(records, "doc-1")
    put_in(records, "doc-2")
    found = ask(IndexCache(PLENTY), records, "alpha", only=frozenset({"doc-2"}))
    assert shown(found) == {"doc-2/1/0"}
