"""The last step: chunks and segments are written, then one transaction shows them to readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from shared.domain.knowledge import DocumentStatus
from shared.domain.text import (
    Chunk,
    Extraction,
    OuterHeading,
    Outline,
    OutlineEntry,
    PageSpan,
    PageStart,
    Passage,
    StoredChunk,
)
from shared.index.publication import Publication
from shared.index.publish import publish, write_segments
from shared.index.rows import IndexPassage
from shared.index.segment import pack
from shared.index.terms import terms
from shared.ingest.claim import Lease
from shared.ports import AccountStore, Clock, Embedder, Summarizer, TokenCounter
from shared.records import CHUNKS, OUTLINES

if TYPE_CHECKING:
    from shared.ports import Vectors

# Part of the fingerprint: a change of how text is cut must be told from one that only moved a boundary.
CHUNKER = "chunks-1"


class PublishDeps(Protocol):
    @property
    def clock(self) -> Clock: ...
    @property
    def embedder(self) -> Embedder: ...
    @property
    def summarizer(self) -> Summarizer: ...
    @property
    def count_tokens(self) -> TokenCounter: ...


@dataclass(frozen=True, slots=True)
class Content:
    """A revision, finished: summaries by chunk id; vectors [windows, dimensions] in the windows' order."""

    sha256: str
    size: int
    extraction: Extraction
    chunks: Sequence[Chunk]
    summaries: Mapping[str, str]
    windows: Sequence[Passage]
    vectors: Vectors


def publish_content(deps: PublishDeps, store: AccountStore, lease: Lease, content: Content) -> None:
    """Makes the content what readers see. Raises `LeaseLostError` when a newer revision or another worker
    came in between; then nothing of it is seen."""
    document = lease.document
    extraction = content.extraction
    # The outline first: tidying behind an older revision looks there for the chunks that it must leave.
    store.put_many(OUTLINES, [_outline(document.id, lease.revision, content.chunks, extraction.pages)])
    store.put_many(CHUNKS, [_stored(deps, document.id, content, chunk) for chunk in content.chunks])
    rows = _rows(document.id, lease.revision, content)
    fingerprint = deps.embedder.profile.fingerprint
    segments = write_segments(store, pack(rows, document.knowledge_base_id, fingerprint))
    publish(
        store,
        deps.clock,
        Publication(
            knowledge_base_id=document.knowledge_base_id,
            document_id=document.id,
            revision=lease.revision,
            token=lease.token,
            fingerprint=f"{CHUNKER}/{deps.summarizer.fingerprint}/{fingerprint}",
            chunks=len(content.chunks),
            passages=len(content.windows),
            segments=segments,
            status=DocumentStatus.PARTIAL if extraction.coverage.missing else DocumentStatus.READY,
            sha256=content.sha256,
            text_sha256=extraction.text_sha256,
            bytes=content.size,
            characters=len(extraction.markdown),
            language=extraction.language,
            coverage=extraction.coverage,
        ),
    )


def outline_id(document_id: str, revision: int) -> str:
    return f"{document_id}-{revision}"


def _outline(document_id: str, revision: int, chunks: Sequence[Chunk], pages: Sequence[PageSpan]) -> Outline:
    entries = tuple(
        OutlineEntry(
            chunk.id,
            chunk.start,
            chunk.end,
            chunk.heading_path,
            chunk.title,
            chunk.pages,
            tuple(OuterHeading(level, title) for level, title in chunk.outer),
            _page_starts(chunk, pages),
        )
        for chunk in chunks
    )
    return Outline(outline_id(document_id, revision), document_id, revision, entries)


def _page_starts(chunk: Chunk, pages: Sequence[PageSpan]) -> tuple[PageStart, ...]:
    before = chunk.start - len(chunk.header)
    touched = [page for page in pages if page.start < chunk.end and chunk.start < page.end]
    if len(touched) < 2:
        return ()
    return tuple(PageStart(max(0, page.start - before), page.number) for page in touched)


def _stored(deps: PublishDeps, document_id: str, content: Content, chunk: Chunk) -> StoredChunk:
    summary = content.summaries[chunk.id]
    return StoredChunk(chunk.id, document_id, chunk.text, summary, deps.count_tokens(chunk.text))


def _rows(document_id: str, revision: int, content: Content) -> list[IndexPassage]:
    ordinals = {chunk.id: chunk.ordinal for chunk in content.chunks}
    language = content.extraction.language
    return [
        IndexPassage(
            passage_id=window.id,
            document_id=document_id,
            revision=revision,
            chunk_id=window.chunk_id,
            ordinal=ordinals[window.chunk_id],
            start=window.start,
            end=window.end,
            heading_path=window.heading_path,
            pages=window.pages,
            terms=terms(window.text, language),
            vector=vector,
            heading_terms=terms(" ".join(window.heading_path), language),
            header=window.header,
            language=language,
        )
        for window, vector in zip(content.windows, content.vectors, strict=True)
    ]
