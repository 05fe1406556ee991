"""Publishing, replacing and removing on a real record store: what readers see, and what is left behind."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from shared.adapters.firestore.store import FirestoreAccountStore, FirestoreStore
from shared.domain.errors import LeaseLostError, NotFoundError
from shared.domain.knowledge import DocumentStatus
from shared.index.cache import IndexCache
from shared.index.manifest import MANIFESTS, Manifest, load
from shared.index.merge import merge
from shared.index.publication import PENDING, Pending
from shared.index.publish import drop_index, drop_segments, fold, publish, remove, write_segments
from shared.index.segment import SEGMENTS
from shared.ports import Query
from shared.records import DOCUMENTS, KNOWLEDGE_BASES
from tests.flows.index_library import (
    CLOCK,
    add_knowledge_base,
    ask,
    claim,
    publication_of,
    put_in,
    segments_of,
    shown,
)


@pytest.fixture
def records(store: FirestoreStore) -> FirestoreAccountStore:
    records = store.of("acme")
    add_knowledge_base(records)
    return records


@pytest.fixture
def cache() -> IndexCache:
    return IndexCache(64 * 1024 * 1024)


def manifest_of(records: FirestoreAccountStore) -> Manifest:
    return load(records.get(MANIFESTS, "kb"))


def stored_segments(records: FirestoreAccountStore) -> set[str]:
    return {segment.id for segment in records.every(SEGMENTS, Query())}


def listed_segments(records: FirestoreAccountStore) -> set[str]:
    return {ref.id for ref in manifest_of(records).segments}


def version(records: FirestoreAccountStore) -> int:
    found = records.get(KNOWLEDGE_BASES, "kb")
    assert found is not None
    return found.index_version


def test_a_published_revision_is_found_and_its_document_is_done(
    records: FirestoreAccountStore, cache: IndexCache
) -> None:
    document = put_in(records, texts=["alpha", "beta"])
    assert document == records.get(DOCUMENTS, "doc")
    assert (document.status, document.work, document.settled_revision) == (DocumentStatus.READY, None, 1)
    assert document.published is not None
    assert sum(document.published.segments.values()) == document.published.passages == 2
    assert shown(ask(cache, records, "alpha")) == {"doc/1/0", "doc/1/1"}
    assert version(records) == manifest_of(records).version == 1
    assert records.get(PENDING, "doc") is None


def test_nothing_is_seen_before_it_is_published(records: FirestoreAccountStore, cache: IndexCache) -> None:
    document = claim(records)
    write_segments(records, segments_of(document, ["alpha"]))
    assert shown(ask(cache, records, "alpha")) == set()


def test_a_new_revision_takes_the_place_of_the_old_one_whole(
    records: FirestoreAccountStore, cache: IndexCache
) -> None:
    put_in(records, texts=["alpha"] * 4, parts=2)
    assert len(shown(ask(cache, records, "alpha"))) == 4
    put_in(records, revision=2, texts=["beta"])
    assert shown(ask(cache, records, "alpha")) == {"doc/2/0"}
    assert stored_segments(records) == listed_segments(records)
    assert len(listed_segments(records)) == 1


def test_publishing_twice_changes_nothing(records: FirestoreAccountStore) -> None:
    document = claim(records)
    publication = publication_of(document, write_segments(records, segments_of(document, ["alpha"])))
    first = publish(records, CLOCK, publication)
    assert publish(records, CLOCK, publication) == first
    assert version(records) == 1
    assert manifest_of(records).rows == 1


def test_a_worker_that_was_taken_over_cannot_publish_and_does_its_successor_no_harm(
    records: FirestoreAccountStore, cache: IndexCache
) -> None:
    zombie = claim(records)
    refs = write_segments(records, segments_of(zombie, ["alpha"]))
    successor = claim(records)
    with pytest.raises(LeaseLostError, match="taken over"):
        publish(records, CLOCK, publication_of(zombie, refs))
    publish(records, CLOCK, publication_of(successor, refs))
    assert shown(ask(cache, records, "alpha")) == {"doc/1/0"}


def test_an_older_revision_after_a_newer_one_changes_nothing_and_leaves_nothing(
    records: FirestoreAccountStore, cache: IndexCache
) -> None:
    late = claim(records)
    refs = write_segments(records, segments_of(late, ["alpha"]))
    claim(records, revision=2)
    with pytest.raises(LeaseLostError, match="revision 2 is newer"):
        publish(records, CLOCK, publication_of(late, refs))
    assert shown(ask(cache, records, "alpha")) == set()
    assert stored_segments(records) == set()


def test_a_pending_row_whose_worker_was_taken_over_is_dropped(
    records: FirestoreAccountStore, cache: IndexCache
) -> None:
    dead = claim(records)
    refs = write_segments(records, segments_of(dead, ["alpha"]))
    records.create(PENDING, Pending("doc", "kb", publication_of(dead, refs)))  # and then it died
    claim(records)
    put_in(records, "other", texts=["beta"])
    assert records.get(PENDING, "doc") is None
    assert shown(ask(cache, records, "alpha")) == {"other/1/0"}


def test_who_folds_publishes_for_those_who_died_waiting(
    records: FirestoreAccountStore, cache: IndexCache
) -> None:
    dead = claim(records)
    refs = write_segments(records, segments_of(dead, ["alpha"]))
    records.create(PENDING, Pending("doc", "kb", publication_of(dead, refs)))
    put_in(records, "other", texts=["beta"])
    assert shown(ask(cache, records, "alpha")) == {"doc/1/0", "other/1/0"}
    assert version(records) == 1  # one change for both


def test_many_at_once_are_folded_together(records: FirestoreAccountStore, cache: IndexCache) -> None:
    for n in range(60):
        document = claim(records, f"doc-{n:02}")
        refs = write_segments(records, segments_of(document, ["alpha"]))
        records.create(PENDING, Pending(document.id, "kb", publication_of(document, refs)))
    first, second = fold(records, CLOCK, "kb", first="doc-59"), fold(records, CLOCK, "kb")
    assert (len(first), len(second)) == (50, 10)
    assert "doc-59" in {document.id for document in first}
    assert fold(records, CLOCK, "kb") == ()
    assert version(records) == 2
    assert len(shown(ask(cache, records, "alpha"))) == 60


def test_publishers_at_the_same_time_all_get_through(
    records: FirestoreAccountStore, cache: IndexCache
) -> None:
    failures: list[BaseException] = []

    def work(n: int) -> None:
        try:
            put_in(records, f"doc-{n}", texts=["alpha"])
        except BaseException as error:  # noqa: BLE001  # the test reports it
            failures.append(error)

    together([lambda n=n: work(n) for n in range(12)])
    assert failures == []
    assert len(shown(ask(cache, records, "alpha"))) == 12
    assert version(records) <= 12


def together(calls: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_removed_document_is_gone_at_once_and_for_good(
    records: FirestoreAccountStore, cache: IndexCache
) -> None:
    document = put_in(records, texts=["alpha", "beta"])
    put_in(records, "other", texts=["alpha"])
    gone = remove(records, CLOCK, document)
    assert gone is not None
    assert (gone.status, gone.published, gone.work) == (DocumentStatus.DELETING, None, None)
    assert shown(ask(cache, records, "alpha")) == {"other/1/0"}
    assert stored_segments(records) == listed_segments(records)
    before = version(records)
    assert remove(records, CLOCK, document) == gone
    assert version(records) == before


def test_a_worker_cannot_publish_into_a_removed_document(records: FirestoreAccountStore) -> None:
    document = claim(records)
    refs = write_segments(records, segments_of(document, ["alpha"]))
    remove(records, CLOCK, document)
    with pytest.raises(NotFoundError, match="deleted"):
        publish(records, CLOCK, publication_of(document, refs))
    assert stored_segments(records) == set()


def test_removal_and_publication_that_wait_for_each_other(
    records: FirestoreAccountStore, cache: IndexCache
) -> None:
    """Removed while its row waits: the row is dropped, nothing is published."""
    document = claim(records)
    refs = write_segments(records, segments_of(document, ["alpha"]))
    records.create(PENDING, Pending("doc", "kb", publication_of(document, refs)))
    remove(records, CLOCK, document)
    assert fold(records, CLOCK, "kb") == ()
    assert shown(ask(cache, records, "alpha")) == set()


def test_nothing_is_published_into_a_knowledge_base_that_is_deleted(records: FirestoreAccountStore) -> None:
    document = claim(records)
    refs = write_segments(records, segments_of(document, ["alpha"]))
    knowledge_base = records.get(KNOWLEDGE_BASES, "kb")
    assert knowledge_base is not None
    records.put_many(KNOWLEDGE_BASES, [replace(knowledge_base, deleting=True)])
    with pytest.raises(NotFoundError, match="kb is deleted"):
        publish(records, CLOCK, publication_of(document, refs))
    assert records.get(PENDING, "doc") is None
    drop_index(records, "kb")
    assert stored_segments(records) == set()


def test_a_knowledge_bases_index_goes_whole(records: FirestoreAccountStore) -> None:
    add_knowledge_base(records, "other")
    put_in(records, "kept", knowledge_base_id="other")
    for n in range(3):
        put_in(records, f"doc-{n}")
    orphan = claim(records, "orphan")
    write_segments(records, segments_of(orphan, ["never published"]))
    assert drop_index(records, "kb") == 4
    assert {segment.knowledge_base_id for segment in records.every(SEGMENTS, Query())} == {"other"}
    assert records.get(MANIFESTS, "kb") is None


def test_only_what_a_revision_left_behind_is_dropped(records: FirestoreAccountStore) -> None:
    abandoned = claim(records, revision=1)
    write_segments(records, segments_of(abandoned, ["alpha"]))
    put_in(records, revision=2, texts=["beta"])
    put_in(records, "doc2", texts=["a document whose name begins alike"])
    assert drop_segments(records, "doc", below=2) == 1
    assert stored_segments(records) == listed_segments(records)
    assert drop_segments(records, "doc", below=2) == 0


def test_merging_changes_nothing_for_readers(records: FirestoreAccountStore, cache: IndexCache) -> None:
    for n in range(20):
        put_in(records, f"doc-{n:02}", texts=["alpha", "beta"])
    before = shown(ask(cache, records, "alpha"))
    was = version(records)
    steps = 0
    while merge(records, "kb"):
        steps += 1
    assert steps == 3  # each takes six and leaves one: twenty, fifteen, ten, five
    assert version(records) == was
    assert stored_segments(records) == listed_segments(records)
    for instance in (cache, IndexCache(64 * 1024 * 1024)):
        assert shown(ask(instance, records, "alpha")) == before
    while merge(records, "kb", allowed=1):
        pass
    assert len(listed_segments(records)) == 1
    assert shown(ask(IndexCache(64 * 1024 * 1024), records, "alpha")) == before


def test_who_comes_after_the_merge_leaves_no_segment_behind(
    records: FirestoreAccountStore, cache: IndexCache
) -> None:
    slow = claim(records, name="doc0")
    for number in range(8):
        put_in(records, name=f"doc{number}", texts=["alpha"])
    while merge(records, "kb"):
        pass
    listed = listed_segments(records)
    document = publish(
        records, CLOCK, publication_of(slow, write_segments(records, segments_of(slow, ["alpha"])))
    )
    assert document == records.get(DOCUMENTS, "doc0")
    assert stored_segments(records) == listed == listed_segments(records)
    assert len(shown(ask(cache, records, "alpha"))) == 8


def test_replaced_and_removed_rows_of_a_merged_segment_are_dead_and_then_gone(
    records: FirestoreAccountStore, cache: IndexCache
) -> None:
    for n in range(40):
        put_in(records, f"doc-{n:02}", texts=["alpha"] * 4)
    while merge(records, "kb", allowed=1):
        pass
    assert manifest_of(records).rows == 160
    put_in(records, "doc-00", revision=2, texts=["alpha"])
    for n in range(1, 20):
        document = records.get(DOCUMENTS, f"doc-{n:02}")
        assert document is not None
        remove(records, CLOCK, document)
    expected = {"doc-00/2/0"} | {f"doc-{n:02}/1/{i}" for n in range(20, 40) for i in range(4)}
    assert manifest_of(records).dead == 80
    assert shown(ask(cache, records, "alpha")) == expected
    while merge(records, "kb"):
        pass
    assert (manifest_of(records).dead, manifest_of(records).fences) == (0, {})
    assert manifest_of(records).rows == len(expected)
    assert shown(ask(IndexCache(64 * 1024 * 1024), records, "alpha")) == expected


def test_a_merge_that_a_removal_overtakes_does_not_bring_it_back(
    records: FirestoreAccountStore, cache: IndexCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = [put_in(records, f"doc-{n:02}", texts=["alpha"]) for n in range(17)]
    read = FirestoreAccountStore.get_many

    def overtaken(self: FirestoreAccountStore, kind: object, ids: object) -> object:
        found = read(self, kind, ids)  # type: ignore[arg-type]
        if kind is SEGMENTS:
            monkeypatch.undo()
            for document in documents:
                remove(records, CLOCK, document)
        return found

    monkeypatch.setattr(FirestoreAccountStore, "get_many", overtaken)
    assert merge(records, "kb") is False
    assert shown(ask(cache, records, "alpha")) == set()
    assert stored_segments(records) == set()
