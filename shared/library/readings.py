"""What came out of a document: its chunks, and its passages by id."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shared.domain.knowledge import Document, Published
from shared.domain.text import OutlineEntry, StoredChunk
from shared.index.manifest import MANIFESTS, load
from shared.index.rows import Where
from shared.index.segment import SEGMENTS, Segment, unpack
from shared.ports import AccountStore, Query
from shared.records import CHUNKS, OUTLINES
from shared.tenancy.authorize import not_found

# Up to a megabyte each.
_SEGMENTS_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class ChunkReading:
    """A chunk at its place; `ordinal` counts from 0 in reading order."""

    ordinal: int
    entry: OutlineEntry
    chunk: StoredChunk


@dataclass(frozen=True, slots=True)
class PassageReading:
    """A passage as it was indexed: `start` and `end` count characters in its chunk's text."""

    id: str
    chunk_id: str
    text: str
    start: int
    end: int
    heading_path: tuple[str, ...]
    pages: tuple[int, int] | None


def require_published(document: Document) -> Published:
    """Raises `NotFoundError` as long as no revision is whole."""
    if document.published is None:
        raise not_found(f"finished version of document {document.id}")
    return document.published


def read_chunks(
    store: AccountStore, document: Document, *, offset: int, limit: int
) -> tuple[tuple[ChunkReading, ...], int]:
    """`limit` chunks of the published revision from `offset` on, and how many there are in all."""
    revision = require_published(document).revision
    where = (("document_id", "==", document.id), ("revision", "==", revision))
    outlines = store.find(OUTLINES, Query(where=where, limit=1)).items
    if not outlines:
        raise not_found(f"outline of document {document.id}")
    entries = outlines[0].entries
    wanted = list(enumerate(entries))[offset : offset + limit]
    chunks = store.get_many(CHUNKS, [entry.chunk_id for _, entry in wanted])
    readings = tuple(
        ChunkReading(ordinal, entry, chunks[entry.chunk_id])
        for ordinal, entry in wanted
        if entry.chunk_id in chunks
    )
    return readings, len(entries)


def read_passage(store: AccountStore, document: Document, passage_id: str) -> PassageReading:
    """A passage of the published revision. Raises `NotFoundError`."""
    published = require_published(document)
    place = next(
        (
            place
            for names in _segment_ids(store, document, published)
            for segment in store.get_many(SEGMENTS, names).values()
            for place in _places(segment, document.id, passage_id)
            if place.revision == published.revision
        ),
        None,
    )
    chunk = store.get(CHUNKS, place.chunk_id) if place is not None else None
    if place is None or chunk is None:
        raise not_found(f"passage {passage_id} in document {document.id}")
    lead = chunk.text[slice(*place.header)] if place.header else ""
    return PassageReading(
        id=passage_id,
        chunk_id=chunk.id,
        text=lead + chunk.text[place.start : place.end],
        start=place.start,
        end=place.end,
        heading_path=place.heading_path,
        pages=place.pages,
    )


def _places(segment: Segment, document_id: str, passage_id: str) -> Iterator[Where]:
    loaded = unpack(segment)
    mine = loaded.of_documents({document_id})
    rows = range(segment.rows) if mine is None else mine.nonzero()[0].tolist()
    for row in rows:
        where = loaded.where(row)
        if where.passage_id == passage_id and where.document_id == document_id:
            yield where


def _segment_ids(store: AccountStore, document: Document, published: Published) -> Iterator[Sequence[str]]:
    """The segments that may hold the document, likeliest first: its own, then those that merges made."""
    own = list(published.segments)
    yield own
    manifest = load(store.get(MANIFESTS, document.knowledge_base_id))
    merged = [ref.id for ref in manifest.segments if ref.merged and ref.id not in published.segments]
    for start in range(0, len(merged), _SEGMENTS_AT_ONCE):
        yield merged[start : start + _SEGMENTS_AT_ONCE]
