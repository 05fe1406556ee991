"""Rewrites segments: small ones into fuller ones, and those with many dead rows without them.

Readers see the same passages before and after, so the knowledge base's version stays as it is: an instance
that holds the old segments goes on with them, and one that comes too late for an old segment reads the
manifest again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shared.index.loaded import LoadedSegment
from shared.index.manifest import (
    MANIFESTS,
    MERGE_WIDTH,
    SMALL_SEGMENTS,
    Manifest,
    dump,
    load,
    needs_compaction,
    small_segments,
    with_merge,
)
from shared.index.rows import Row
from shared.index.segment import SEGMENTS, Segment, SegmentRef, pack_rows, unpack
from shared.ports import AccountStore, Transaction

_READ_BATCH = 6


def merge(store: AccountStore, knowledge_base_id: str, *, allowed: int = SMALL_SEGMENTS) -> bool:
    """One step: rewrites up to six segments in one commit and says whether it did; call it until it does not.

    While more than `allowed` segments are less than seven eighths full, these are merged, smallest first;
    else, when more than a quarter of all rows is dead, the segments with most dead rows are written without
    them.
    Losing to another writer counts as done: that one, or the next publication, merges.
    """
    manifest = load(store.get(MANIFESTS, knowledge_base_id))
    refs = small_segments(manifest, allowed)
    found = _read(store, refs)
    if not refs and needs_compaction(manifest):
        found = _with_most_dead(store, manifest)
    if not found or len(found) < len(refs):
        return False
    rewrite = rewritten(found, manifest, knowledge_base_id)
    if not rewrite.worthwhile:
        return False
    return store.transact(lambda tx: _replace(tx, knowledge_base_id, rewrite))


@dataclass(frozen=True, slots=True)
class Rewrite:
    """`segments` hold the live rows of `sources`; `freed` counts the dead ones by document."""

    sources: tuple[str, ...]
    segments: tuple[Segment, ...]
    freed: dict[str, int]

    @property
    def worthwhile(self) -> bool:
        return len(self.segments) < len(self.sources) or bool(self.freed)


def rewritten(sources: Sequence[LoadedSegment], manifest: Manifest, knowledge_base_id: str) -> Rewrite:
    """The live rows of the sources, in order, in as few segments as hold them."""
    rows: list[Row] = []
    freed: Counter[str] = Counter()
    for segment in sources:
        alive = segment.alive(manifest.fences)
        for place in range(segment.rows):
            if alive is None or alive[place]:
                rows.append(segment.row(place))
            else:
                freed[segment.document_id(place)] += 1
    segments = pack_rows(rows, knowledge_base_id, sources[0].fingerprint, owner="")
    return Rewrite(tuple(segment.id for segment in sources), segments, dict(freed))


def _replace(tx: Transaction, knowledge_base_id: str, rewrite: Rewrite) -> bool:
    record = tx.get(MANIFESTS, knowledge_base_id)
    manifest = load(record)
    # A document that was published or removed since may have taken a source away, or its fence.
    if record is None or not manifest.holds(rewrite.sources):
        return False
    refs = tuple(segment.ref for segment in rewrite.segments)
    change = with_merge(manifest, rewrite.sources, refs, rewrite.freed)
    tx.put(MANIFESTS, dump(knowledge_base_id, change.manifest))
    for segment in rewrite.segments:
        tx.put(SEGMENTS, segment)
    for name in change.dropped:
        tx.delete(SEGMENTS, name)
    return True


def _read(store: AccountStore, refs: Iterable[SegmentRef]) -> list[LoadedSegment]:
    """Those of the segments that are still there, in the order of `refs`."""
    names = [ref.id for ref in refs]
    found = store.get_many(SEGMENTS, names) if names else {}
    return [unpack(found[name]) for name in names if name in found]


def _with_most_dead(store: AccountStore, manifest: Manifest) -> list[LoadedSegment]:
    """Up to six segments of one model, those with most dead rows. Only merged ones can have any."""
    counted: list[tuple[int, LoadedSegment]] = []
    merged = [ref for ref in manifest.segments if ref.merged]
    for start in range(0, len(merged), _READ_BATCH):
        for segment in _read(store, merged[start : start + _READ_BATCH]):
            alive = segment.alive(manifest.fences)
            if alive is not None:
                counted.append((int(segment.rows - alive.sum()), segment))
    counted.sort(key=lambda pair: (-pair[0], pair[1].id))
    alike = [segment for _, segment in counted if segment.fingerprint == counted[0][1].fingerprint]
    return alike[:MERGE_WIDTH]
