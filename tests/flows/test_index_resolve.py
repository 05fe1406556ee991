"""Questions that race with changes: what the documents' records say decides."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.adapters.firestore.store import FirestoreAccountStore, FirestoreStore
from shared.domain.errors import TransientError
from shared.domain.knowledge import DocumentStatus
from shared.index.cache import IndexCache, ScopeItem
from shared.index.resolve import Question, Resolved, search
from shared.records import DOCUMENTS, KNOWLEDGE_BASES
from tests.flows.index_library import CLOCK, add_knowledge_base, put_in, shown
from tests.unit.index_passages import FINGERPRINT, unit


@pytest.fixture
def records(store: FirestoreStore) -> FirestoreAccountStore:
    records = store.of("acme")
    add_knowledge_base(records)
    return records


def scope(records: FirestoreAccountStore) -> list[ScopeItem]:
    return [ScopeItem(base) for base in records.get_many(KNOWLEDGE_BASES, ["kb"]).values()]


def ask(
    cache: IndexCache,
    records: FirestoreAccountStore,
    items: list[ScopeItem],
    limit: int = 10,
    *,
    past: bool = False,
) -> Resolved:
    question = Question("alpha", unit([1.0, 1.0]), FINGERPRINT, limit, CLOCK.now(), past)
    return search(cache, records, items, question)


def change(records: FirestoreAccountStore, name: str, **values: object) -> None:
    document = records.get(DOCUMENTS, name)
    assert document is not None
    records.put_many(DOCUMENTS, [replace(document, **values)])  # type: ignore[arg-type]


def test_what_was_found_comes_with_its_documents(records: FirestoreAccountStore) -> None:
    put_in(records, "doc-1")
    resolved = ask(IndexCache(1 << 24), records, scope(records))
    assert {name: document.title for name, document in resolved.documents.items()} == {"doc-1": "doc-1"}
    assert [term.spellings for term in resolved.terms] == [("alpha",)]


def test_the_next_best_moves_up_for_what_is_being_deleted(records: FirestoreAccountStore) -> None:
    for n in range(4):
        put_in(records, f"doc-{n}", texts=["alpha " * (5 - n)])
    cache = IndexCache(1 << 24)
    assert len(shown(ask(cache, records, scope(records), limit=1))) <= 2
    for n in range(3):
        change(records, f"doc-{n}", status=DocumentStatus.DELETING)
    assert shown(ask(cache, records, scope(records), limit=1)) == {"doc-3/1/0"}


def test_archived_documents_are_found_when_asked_for(records: FirestoreAccountStore) -> None:
    put_in(records, "doc-1")
    put_in(records, "doc-2")
    change(records, "doc-1", archived=True)
    cache = IndexCache(1 << 24)
    assert shown(ask(cache, records, scope(records))) == {"doc-2/1/0"}
    assert shown(ask(cache, records, scope(records), past=True)) == {"doc-1/1/0", "doc-2/1/0"}


def test_what_is_not_in_effect_is_found_when_the_past_is_asked_for(records: FirestoreAccountStore) -> None:
    now, day = CLOCK.now(), timedelta(days=1)
    for n in range(6):
        put_in(records, f"doc-{n}")
    change(records, "doc-0", effective_from=now, effective_to=now + day)
    change(records, "doc-1", effective_to=now)
    change(records, "doc-2", effective_from=now + day)
    change(records, "doc-3", superseded_by="doc-0")
    change(records, "doc-4", superseded_by="doc-2")
    change(records, "doc-5", superseded_by="doc-that-is-gone")
    cache = IndexCache(1 << 24)
    current = {f"doc-{n}/1/0" for n in (0, 4, 5)}
    assert shown(ask(cache, records, scope(records))) == current
    assert shown(ask(cache, records, scope(records), past=True)) == current | {"doc-1/1/0", "doc-3/1/0"}
    change(records, "doc-0", status=DocumentStatus.DELETING)
    assert "doc-3/1/0" in shown(ask(cache, records, scope(records)))


def test_a_revision_that_is_replaced_meanwhile_is_searched_again(records: FirestoreAccountStore) -> None:
    put_in(records)
    cache, read_before = IndexCache(1 << 24), scope(records)
    ask(cache, records, read_before)
    put_in(records, revision=2, texts=["alpha", "alpha"])
    assert shown(ask(cache, records, read_before)) == {"doc/2/0", "doc/2/1"}


def test_a_knowledge_base_that_is_deleted_meanwhile_shows_nothing(records: FirestoreAccountStore) -> None:
    put_in(records)
    cache, read_before = IndexCache(1 << 24), scope(records)
    ask(cache, records, read_before)
    put_in(records, revision=2)
    base = records.get(KNOWLEDGE_BASES, "kb")
    assert base is not None
    records.put_many(KNOWLEDGE_BASES, [replace(base, deleting=True)])
    assert shown(ask(cache, records, read_before)) == set()


def test_a_document_whose_index_never_catches_up_is_an_error(records: FirestoreAccountStore) -> None:
    document = put_in(records)
    assert document.published is not None
    change(records, "doc", published=replace(document.published, revision=9))
    with pytest.raises(TransientError, match="replaced during each"):
        ask(IndexCache(1 << 24), records, scope(records))
