"""What a knowledge base's index consists of, and how each event changes it. Values in, values out.

A manifest lists segments, not documents: it would pass a record's limit at some tens of thousands of them. A
document's rows count unless a *fence* says otherwise: rows of a revision below the fence are dead. While the
segments that a revision wrote are still listed under their own ids, its end removes them from the list and
needs no fence; where a merge has mixed them with others, a fence stays until a later merge has dropped them.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import ceil

from shared.index.fences import NEVER, Fence
from shared.index.layout import MAX_ROWS
from shared.index.segment import MAX_PAYLOAD, SegmentRef
from shared.ports import Kind

MERGE_WIDTH = 6
# Small segments that are left alone. Each is a read of every cold load, and how many merges a publication
# costs does not depend on it: a merge always takes six away and adds one or two.
SMALL_SEGMENTS = 6
_FULL_BYTES = 7 * MAX_PAYLOAD // 8
_FULL_ROWS = 7 * MAX_ROWS // 8
_DEAD_SHARE = 0.25
_DEAD_ROWS = 64
_FENCES = 1_000


@dataclass(frozen=True, slots=True)
class Manifest:
    """The live segments of one knowledge base. `version` is the `index_version` that it came with."""

    version: int = 0
    segments: tuple[SegmentRef, ...] = ()
    fences: Mapping[str, Fence] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return sum(ref.rows for ref in self.segments)

    @property
    def dead(self) -> int:
        return sum(fence.dead for fence in self.fences.values())

    def holds(self, segment_ids: Iterable[str]) -> bool:
        return {ref.id for ref in self.segments}.issuperset(segment_ids)


@dataclass(frozen=True, slots=True)
class ManifestRecord:
    """As it is stored: packed, because thousands of small maps weigh ten times as much and get indexed."""

    id: str
    version: int
    payload: bytes


MANIFESTS = Kind("manifests", ManifestRecord)


def dump(knowledge_base_id: str, manifest: Manifest) -> ManifestRecord:
    fingerprints = list(dict.fromkeys(ref.fingerprint for ref in manifest.segments))
    packed = json.dumps(
        [
            fingerprints,
            [
                [ref.id, ref.rows, ref.bytes, fingerprints.index(ref.fingerprint), int(ref.merged)]
                for ref in manifest.segments
            ],
            [[document, fence.revision, fence.dead] for document, fence in manifest.fences.items()],
        ],
        separators=(",", ":"),
    )
    return ManifestRecord(knowledge_base_id, manifest.version, zlib.compress(packed.encode()))


def load(record: ManifestRecord | None) -> Manifest:
    """A knowledge base without a manifest has nothing published."""
    if record is None:
        return Manifest()
    fingerprints, segments, fences = json.loads(zlib.decompress(record.payload))
    return Manifest(
        record.version,
        tuple(
            SegmentRef(name, rows, size, fingerprints[fingerprint], bool(merged))
            for name, rows, size, fingerprint, merged in segments
        ),
        {document: Fence(revision, dead) for document, revision, dead in fences},
    )


@dataclass(frozen=True, slots=True)
class Change:
    """A new manifest, and the segments that nothing lists any more."""

    manifest: Manifest
    dropped: tuple[str, ...] = ()


def with_publication(
    manifest: Manifest,
    document_id: str,
    revision: int,
    segments: Iterable[SegmentRef],
    earlier: Mapping[str, int],
) -> Change:
    """`revision` takes the place of what the document had. `earlier` maps the segments written for the
    revision published before to their rows."""
    change = _ended(manifest, document_id, revision, earlier)
    listed = (*change.manifest.segments, *segments)
    return replace(change, manifest=replace(change.manifest, segments=listed))


def with_removal(manifest: Manifest, document_id: str, earlier: Mapping[str, int]) -> Change:
    """Nothing of the document counts any more, ever."""
    return _ended(manifest, document_id, NEVER, earlier)


def with_merge(
    manifest: Manifest, sources: Iterable[str], merged: Iterable[SegmentRef], freed: Mapping[str, int]
) -> Change:
    """`merged` takes the place of `sources`; `freed` counts the dead rows left out, by document. Readers
    see the same passages as before."""
    gone = frozenset(sources)
    fences = dict(manifest.fences)
    for document_id, count in freed.items():
        fence = fences[document_id]
        fences[document_id] = replace(fence, dead=fence.dead - count)
    kept = tuple(ref for ref in manifest.segments if ref.id not in gone)
    return Change(
        replace(
            manifest,
            segments=(*kept, *merged),
            fences={document: fence for document, fence in fences.items() if fence.dead > 0},
        ),
        tuple(gone),
    )


def _ended(manifest: Manifest, document_id: str, fence: int, earlier: Mapping[str, int]) -> Change:
    own = {ref.id for ref in manifest.segments if ref.id in earlier}
    dead = sum(rows for name, rows in earlier.items() if name not in own)
    before = manifest.fences.get(document_id)
    outstanding = dead + (before.dead if before else 0)
    fences = dict(manifest.fences)
    if outstanding:
        fences[document_id] = Fence(fence, outstanding)
    kept = tuple(ref for ref in manifest.segments if ref.id not in own)
    return Change(replace(manifest, segments=kept, fences=fences), tuple(own))


def small_segments(manifest: Manifest, allowed: int = SMALL_SEGMENTS) -> tuple[SegmentRef, ...]:
    """Up to six segments to merge, smallest first, of one embedding model; none while no more than
    `allowed` are less than seven eighths full."""
    small = [ref for ref in manifest.segments if _is_small(ref)]
    if len(small) <= allowed:
        return ()
    commonest, _ = Counter(ref.fingerprint for ref in small).most_common(1)[0]
    alike = sorted(
        (ref for ref in small if ref.fingerprint == commonest), key=lambda ref: (ref.bytes, ref.id)
    )
    chosen = tuple(alike[:MERGE_WIDTH])
    full = max(sum(ref.bytes for ref in chosen) / MAX_PAYLOAD, sum(ref.rows for ref in chosen) / MAX_ROWS)
    return chosen if ceil(full) < len(chosen) else ()


def needs_compaction(manifest: Manifest) -> bool:
    """Whether dead rows cost enough that dropping them is worth rewriting segments."""
    if len(manifest.fences) > _FENCES:
        return True
    return manifest.dead > max(_DEAD_ROWS, _DEAD_SHARE * manifest.rows)


def _is_small(ref: SegmentRef) -> bool:
    return ref.bytes < _FULL_BYTES and ref.rows < _FULL_ROWS
