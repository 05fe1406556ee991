"""What a worker hands over when a revision is whole, and how that changes a document."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from shared.domain.errors import AlmanacError, LeaseLostError, NotFoundError
from shared.domain.knowledge import Coverage, Document, DocumentStatus, Progress, Published
from shared.index.segment import SegmentRef
from shared.ports import Kind


@dataclass(frozen=True, slots=True)
class Publication:
    """A finished revision. `token` is the fencing token of the work that made it; `segments` are those that
    `write_segments` stored.

    `status` is ready or partial; the fields below it become the document's. A `title` of None leaves the one
    that the document has.
    """

    knowledge_base_id: str
    document_id: str
    revision: int
    token: int
    fingerprint: str
    chunks: int
    passages: int
    segments: tuple[SegmentRef, ...]
    status: DocumentStatus
    sha256: str
    text_sha256: str
    bytes: int
    characters: int
    language: str | None
    coverage: Coverage | None
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Pending:
    """A publication in the queue of its knowledge base; the id is the document's."""

    id: str
    knowledge_base_id: str
    publication: Publication


PENDING = Kind("pending", Pending)


def refusal(publication: Publication, document: Document | None) -> AlmanacError | None:
    """Why this revision may not be published; None when it may."""
    what = f"revision {publication.revision} of document {publication.document_id}"
    if document is None or document.status is DocumentStatus.DELETING:
        return NotFoundError(f"Cannot publish {what}: the document is deleted.")
    if document.latest_revision != publication.revision:
        return LeaseLostError(f"Cannot publish {what}: revision {document.latest_revision} is newer.")
    work = document.work
    if work is None or (work.token, work.revision) != (publication.token, publication.revision):
        return LeaseLostError(
            f"Cannot publish {what}: the work with token {publication.token} was taken over."
        )
    return None


def is_published(publication: Publication, document: Document | None) -> bool:
    """Whether readers of the document see this revision or a newer one."""
    return (
        document is not None
        and document.status is not DocumentStatus.DELETING
        and document.published is not None
        and document.published.revision >= publication.revision
    )


def is_void(publication: Publication, document: Document | None) -> bool:
    """Whether no worker will ever publish this revision, so that its segments can go. Not so when only the
    work was taken over: the next worker writes the same passages, which have the same ids."""
    if document is None:
        return True
    if document.status is DocumentStatus.DELETING:
        # Others may have published it before the delete: then the manifest lists its segments until the
        # document's removal drops both, and a reader would miss them.
        return document.published is None or document.published.revision != publication.revision
    return document.latest_revision > publication.revision and not is_published(publication, document)


def published(document: Document, publication: Publication, now: datetime) -> Document:
    """The document with this revision as the one that readers see; its work is done."""
    return replace(
        document,
        title=document.title if publication.title is None else publication.title,
        status=publication.status,
        updated_at=now,
        settled_revision=publication.revision,
        work=None,
        published=Published(
            revision=publication.revision,
            fingerprint=publication.fingerprint,
            chunks=publication.chunks,
            passages=publication.passages,
            segments={ref.id: ref.rows for ref in publication.segments},
            at=now,
        ),
        progress=Progress(publication.passages, publication.passages),
        error=None,
        duplicate_of=None,
        coverage=publication.coverage,
        sha256=publication.sha256,
        text_sha256=publication.text_sha256,
        bytes=publication.bytes,
        characters=publication.characters,
        language=publication.language,
    )
