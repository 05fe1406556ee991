"""Looks at everything that an account keeps, and says what does not fit together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from shared.domain.knowledge import Document, DocumentStatus
from shared.index.manifest import MANIFESTS, Manifest, load
from shared.index.publication import PENDING
from shared.index.segment import SEGMENTS, unpack
from shared.ports import AccountStore, Kind, Query
from shared.records import CHUNKS, CONTENTS, DOCUMENTS, KNOWLEDGE_BASES, OUTLINES


def faults(store: AccountStore) -> list[str]:
    """Empty when every document is published once and whole, and nothing is kept that belongs to none."""
    documents = _all(store, DOCUMENTS)
    return [
        *(fault for document in documents.values() for fault in _unfinished(document)),
        *_texts(store, documents),
        *_claims(store, documents),
        *_index(store, documents),
        *(f"{name}: still waits to be published" for name in _all(store, PENDING)),
    ]


def _unfinished(document: Document) -> Iterator[str]:
    settled = document.settled_revision == document.latest_revision == 1
    if document.status is not DocumentStatus.READY or document.published is None or not settled:
        yield (
            f"{document.id} ({document.title}): {document.status.value}, attempt {document.attempts}, "
            f"{document.progress}, {document.work}, {document.error}"
        )
    elif document.work is not None or document.error is not None or document.duplicate_of is not None:
        yield f"{document.id}: ready, with {document.work}, {document.error}, {document.duplicate_of}"


def _texts(store: AccountStore, documents: dict[str, Document]) -> Iterator[str]:
    """Outlines and chunks: those of the published revisions, no others."""
    outlines = _all(store, OUTLINES)
    chunks = _all(store, CHUNKS)
    yield from _differences(
        "outline of", {outline.document_id for outline in outlines.values()}, set(documents)
    )
    listed = Counter(entry.chunk_id for outline in outlines.values() for entry in outline.entries)
    yield from (f"chunk {name}: listed {count} times" for name, count in listed.items() if count > 1)
    yield from _differences("chunk", set(chunks), set(listed))
    for outline in outlines.values():
        published = documents[outline.document_id].published if outline.document_id in documents else None
        if published is None or (outline.revision, len(outline.entries)) != (
            published.revision,
            published.chunks,
        ):
            yield f"outline {outline.id}: {len(outline.entries)} chunks, published is {published}"


def _claims(store: AccountStore, documents: dict[str, Document]) -> Iterator[str]:
    claimed = Counter(claim.document_id for claim in _all(store, CONTENTS).values())
    yield from _differences("claim of", set(claimed), set(documents))
    yield from (f"{name}: {count} claims" for name, count in claimed.items() if count > 1)


def _index(store: AccountStore, documents: dict[str, Document]) -> Iterator[str]:
    """Segments: those that manifests list, each passage of a published revision in one row."""
    segments = _all(store, SEGMENTS)
    manifests = {name: load(record) for name, record in _all(store, MANIFESTS).items()}
    yield from _differences(
        "segment", set(segments), {ref.id for manifest in manifests.values() for ref in manifest.segments}
    )
    for base in _all(store, KNOWLEDGE_BASES).values():
        manifest = manifests.get(base.id, Manifest())
        if base.index_version != manifest.version:
            yield f"{base.id}: version {base.index_version}, its manifest {manifest.version}"
        alive = [
            row for ref in manifest.segments if ref.id in segments
            for row in _alive(unpack(segments[ref.id]), manifest)
        ]  # fmt: skip
        yield from (f"passage {row}: {count} times" for row, count in Counter(alive).items() if count > 1)
        found = Counter(document_id for document_id, _, _ in alive)
        expected = {
            one.id: one.published.passages
            for one in documents.values()
            if one.published is not None and one.knowledge_base_id == base.id
        }
        if dict(found) != expected:
            more, fewer = found.items() - expected.items(), expected.items() - found.items()
            yield f"{base.id}: passages by document {dict(more)} instead of {dict(fewer)}"


def _alive(segment: Any, manifest: Manifest) -> Iterator[tuple[str, int, str]]:
    alive = segment.alive(manifest.fences)
    for place in range(segment.rows):
        if alive is None or alive[place]:
            where = segment.row(place).where
            yield where.document_id, where.revision, where.passage_id


def _differences(what: str, found: set[str], expected: set[str]) -> Iterator[str]:
    yield from (f"{what} {name}: belongs to nothing" for name in sorted(found - expected))
    yield from (f"{what} {name}: is missing" for name in sorted(expected - found))


def _all(store: AccountStore, kind: Kind[Any]) -> dict[str, Any]:
    return {record.id: record for record in store.every(kind, Query())}
