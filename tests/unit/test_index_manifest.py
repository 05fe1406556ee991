"""Manifests against a model: whatever is published, replaced, removed and merged, exactly the rows of the
newest revisions count."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from shared.index.loaded import LoadedSegment
from shared.index.manifest import (
    MERGE_WIDTH,
    SMALL_SEGMENTS,
    Change,
    Manifest,
    dump,
    load,
    needs_compaction,
    small_segments,
    with_merge,
    with_publication,
    with_removal,
)
from shared.index.merge import Rewrite, rewritten
from shared.index.segment import Segment, SegmentRef, pack, unpack
from shared.index.state import KnowledgeBaseIndex
from tests.unit.index_passages import FINGERPRINT, passage

DOCUMENTS = ("doc-a", "doc-b", "doc-c", "doc-d")


@dataclass
class Published:
    revision: int
    passages: frozenset[str]
    segments: dict[str, int] = field(default_factory=dict)


class Index(RuleBasedStateMachine):
    """`stored` are the segment records, `published` what readers are meant to see."""

    def __init__(self) -> None:
        super().__init__()
        self.manifest = Manifest()
        self.stored: dict[str, Segment] = {}
        self.published: dict[str, Published] = {}
        self.revisions = dict.fromkeys(DOCUMENTS, 0)
        self.gone: set[str] = set()
        self.prepared: list[Rewrite] = []

    def apply(self, change: Change) -> None:
        self.manifest = change.manifest
        for name in change.dropped:
            del self.stored[name]

    def load(self, names: list[str]) -> list[LoadedSegment]:
        return [unpack(self.stored[name]) for name in names]

    @rule(document=st.sampled_from(DOCUMENTS), sizes=st.lists(st.integers(1, 3), max_size=3))
    def publish(self, document: str, sizes: list[int]) -> None:
        if document in self.gone:
            return
        self.revisions[document] += 1
        revision = self.revisions[document]
        segments: list[Segment] = []
        for part, size in enumerate(sizes):  # more than one segment, without a megabyte of passages
            names = [f"{document}/{revision}/{part}/{n}" for n in range(size)]
            segments += pack(
                [passage(name, document, revision, text=name) for name in names], "kb", FINGERPRINT
            )
        before = self.published.get(document)
        refs = tuple(segment.ref for segment in segments)
        self.stored |= {segment.id: segment for segment in segments}
        self.apply(
            with_publication(self.manifest, document, revision, refs, before.segments if before else {})
        )
        self.published[document] = Published(
            revision,
            frozenset(
                f"{document}/{revision}/{part}/{n}" for part, size in enumerate(sizes) for n in range(size)
            ),
            {ref.id: ref.rows for ref in refs},
        )

    @rule(document=st.sampled_from(DOCUMENTS))
    def remove(self, document: str) -> None:
        before = self.published.pop(document, None)
        if before is not None:
            self.gone.add(document)
            self.apply(with_removal(self.manifest, document, before.segments))

    @rule(data=st.data())
    def prepare_merge(self, data: st.DataObject) -> None:
        """A merge reads, and what it read may change before it commits."""
        names = [ref.id for ref in self.manifest.segments]
        if names:
            chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=4, unique=True))
            self.prepared.append(rewritten(self.load(chosen), self.manifest, "kb"))

    @precondition(lambda self: self.prepared)
    @rule(first=st.booleans())
    def commit_merge(self, first: bool) -> None:
        rewrite = self.prepared.pop(0 if first else -1)
        if not self.manifest.holds(rewrite.sources):
            return
        refs = [segment.ref for segment in rewrite.segments]
        change = with_merge(self.manifest, rewrite.sources, refs, rewrite.freed)
        self.apply(change)
        self.stored |= {segment.id: segment for segment in rewrite.segments}

    @invariant()
    def readers_see_the_newest_revisions(self) -> None:
        manifest = load(dump("kb", self.manifest))
        assert manifest == self.manifest
        index = KnowledgeBaseIndex("kb", 1, self.load([ref.id for ref in manifest.segments]), manifest.fences)
        seen = [segment.where(row).passage_id for segment in index.segments for row in range(segment.rows)]
        alive = [name for name, counts in zip(seen, index.alive.tolist(), strict=True) if counts]
        assert sorted(alive) == sorted(name for p in self.published.values() for name in p.passages)
        assert manifest.dead == len(seen) - len(alive)
        assert set(self.stored) == {ref.id for ref in manifest.segments}


Index.TestCase.settings = settings(max_examples=60, stateful_step_count=20, deadline=None)
TestIndex = Index.TestCase


def refs(count: int, rows: int = 1, size: int = 4_000, fingerprint: str = "f") -> tuple[SegmentRef, ...]:
    return tuple(SegmentRef(f"{fingerprint}-{rows}-{n}", rows, size, fingerprint) for n in range(count))


def test_small_segments_are_left_alone_until_there_are_many() -> None:
    assert small_segments(Manifest(1, refs(SMALL_SEGMENTS))) == ()
    chosen = small_segments(Manifest(1, refs(SMALL_SEGMENTS, rows=9, size=9_000) + refs(3)))
    assert len(chosen) == MERGE_WIDTH
    assert [ref.rows for ref in chosen] == [1, 1, 1, 9, 9, 9]  # the smallest first


def test_fuller_segments_and_other_models_do_not_merge() -> None:
    full = refs(40, rows=230) + refs(40, rows=100, size=920_000)
    assert small_segments(Manifest(1, full)) == ()
    mixed = Manifest(1, refs(9, fingerprint="old") + refs(12, fingerprint="new"))
    assert {ref.fingerprint for ref in small_segments(mixed)} == {"new"}


def test_segments_that_would_not_become_fewer_are_left_alone() -> None:
    assert len(small_segments(Manifest(1, refs(8, rows=200, size=850_000)))) == MERGE_WIDTH  # five of six
    assert small_segments(Manifest(1, refs(4, rows=200, size=850_000)), allowed=1) == ()


def test_dead_rows_wait_until_they_are_many() -> None:
    manifest = with_removal(Manifest(1, refs(4, rows=100)), "doc", {"merged-away": 100}).manifest
    assert not needs_compaction(manifest)
    more = with_removal(manifest, "doc-2", {"merged-away-2": 1}).manifest
    assert needs_compaction(more)


@pytest.mark.parametrize(("documents", "limit"), [(20_000, 1_048_576)])
def test_a_manifest_of_many_segments_and_fences_fits_its_record(documents: int, limit: int) -> None:
    """A hundred thousand passages are about 600 segments; fences are dropped from a thousand on."""
    manifest = Manifest(
        7,
        tuple(dataclasses.replace(ref, id=f"seg_{n:032x}") for n, ref in enumerate(refs(5_000, rows=256))),
    )
    for n in range(documents // 10):
        manifest = with_removal(manifest, f"doc_{n * 7919:024x}", {"merged": 1}).manifest
    assert len(dump("kb", manifest).payload) < limit // 4
