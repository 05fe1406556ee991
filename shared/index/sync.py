"""Brings one knowledge base's index in memory up to date."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shared.domain.errors import TransientError
from shared.domain.knowledge import KnowledgeBase
from shared.index.loaded import LoadedSegment
from shared.index.manifest import MANIFESTS, load
from shared.index.segment import SEGMENTS, unpack
from shared.index.state import KnowledgeBaseIndex
from shared.ports import AccountStore

# Segments of one read: their records are in memory twice while they arrive.
_BATCH = 8
# A segment that is gone means a newer manifest; writers would have to win every time to use these up.
_TRIES = 6


@dataclass
class Reads:
    """How many records were read, by kind."""

    manifests: int = 0
    segments: int = 0


def sync(
    store: AccountStore, knowledge_base: KnowledgeBase, held: KnowledgeBaseIndex | None, reads: Reads
) -> KnowledgeBaseIndex:
    """The index at the version of `knowledge_base`, which was read just now, or a newer one.

    Only segments that `held` does not have are read. Raises `TransientError` when segments keep vanishing.
    """
    segments: dict[str, LoadedSegment] = {s.id: s for s in held.segments} if held is not None else {}
    for _ in range(_TRIES):
        reads.manifests += 1
        # Read after the knowledge base, so it is of the same version or a newer one. It can say a lower
        # number: an edit of the knowledge base bumps the version and leaves the manifest as it is.
        manifest = load(store.get(MANIFESTS, knowledge_base.id))
        listed = [ref.id for ref in manifest.segments]
        for segment in _read(store, [name for name in listed if name not in segments], reads):
            segments[segment.id] = segment
        if segments.keys() >= set(listed):
            return KnowledgeBaseIndex(
                knowledge_base.id,
                max(manifest.version, knowledge_base.index_version),
                [segments[name] for name in listed],
                manifest.fences,
            )
    raise TransientError(
        f"Segments of knowledge base {knowledge_base.id} were gone in each of {_TRIES} reads.",
        hint="Try again; if it stays, its index is damaged and its documents have to be processed again.",
    )


def _read(store: AccountStore, names: Sequence[str], reads: Reads) -> Iterator[LoadedSegment]:
    for start in range(0, len(names), _BATCH):
        batch = names[start : start + _BATCH]
        reads.segments += len(batch)
        yield from (unpack(segment) for segment in store.get_many(SEGMENTS, batch).values())
