"""From stored bytes to searchable passages: extract, chunk, passages, summarize, embed, publish.

Resumable work, not one long call. Every step's result is either cheap to make again, or kept as soon as it
is made; a call that is killed loses at most the model call in flight.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from shared.domain.errors import (
    AlmanacError,
    LeaseLostError,
    ModelOverloadedError,
    NotFoundError,
    RefusedFileError,
    TransientError,
)
from shared.domain.ids import content_id
from shared.domain.knowledge import Document, DocumentStatus, Progress
from shared.domain.text import Extraction
from shared.ingest.chunk import chunk
from shared.ingest.claim import Lease, Refusal, Refused, claim
from shared.ingest.deadline import Deadline, OutOfTimeError
from shared.ingest.embed import embed
from shared.ingest.extract import dump_extraction, extract, load_extraction
from shared.ingest.paid import Payer
from shared.ingest.passages import passages
from shared.ingest.publish import Content, PublishDeps, publish_content
from shared.ingest.summarize import summarize
from shared.library.contents import claim_content
from shared.library.deletes import resume_deletes
from shared.library.deps import LibraryDeps
from shared.library.objects import RevisionRef, prefix, text_name
from shared.ports import AccountStore, Task
from shared.settings import Settings
from shared.tenancy.usage import settle_work

log = logging.getLogger(__name__)

MAX_FILE_BYTES = 10 * 1024 * 1024
_FIRST_RETRY = timedelta(seconds=10)
_LONGEST_RETRY = timedelta(minutes=10)
# A day and more of a provider that has no room for us.
_MOST_CONTINUATIONS = 200


class IngestDeps(LibraryDeps, PublishDeps, Protocol):
    """What ingestion needs of the container."""

    @property
    def settings(self) -> Settings: ...


class Outcome(StrEnum):
    """How a call ended; none of these needs another delivery of the same event."""

    PUBLISHED = "published"
    DUPLICATE = "duplicate"
    FAILED = "failed"
    PARKED = "parked"
    RETRY = "retry"
    LOST = "lost"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class _Work:
    """What one call works with."""

    deps: IngestDeps
    ref: RevisionRef
    store: AccountStore
    lease: Lease
    deadline: Deadline

    def at(self, status: DocumentStatus) -> Callable[[int, int], None]:
        """Reports progress of a step, which also renews the lease."""
        return lambda done, total: self.lease.checkpoint(status, Progress(done, total))


def advance(deps: IngestDeps, ref: RevisionRef) -> Outcome:
    """Takes the revision as far as this call's time allows.

    Permanent failures end on the document's record; passing ones are tried again by a task, later each time.
    Raises only what is unforeseen: then the platform delivers again, and the lease runs out.
    """
    store = deps.store.of(ref.account_id)
    settings = deps.settings
    lease = claim(
        store,
        deps.clock,
        ref.document_id,
        ref.revision,
        lease_seconds=settings.lease_seconds,
        max_attempts=settings.max_attempts,
    )
    if isinstance(lease, Refused):
        return _refused(deps, ref, lease)
    deadline = Deadline(deps.clock, deps.clock.now() + timedelta(seconds=settings.advance_seconds))
    work = _Work(deps, ref, store, lease, deadline)
    try:
        return _tried(work)
    except LeaseLostError:
        log.warning("lease lost", extra={"document_id": ref.document_id, "revision": ref.revision})
        if lease.leave():
            resume_deletes(deps, store, lease.document)
        return Outcome.LOST
    finally:
        _settle(store, ref)


def _settle(store: AccountStore, ref: RevisionRef) -> None:
    """What was paid is counted already, beside what it was paid for; if this fails, the next call does it."""
    try:
        settle_work(store, ref.document_id)
    except TransientError:
        log.warning("usage not settled", extra={"document_id": ref.document_id})


def _tried(work: _Work) -> Outcome:
    """Runs it, and leaves the document as the end of this call asks. Raises `LeaseLostError` when the
    document is not ours any more, wherever that is noticed."""
    try:
        return _run(work)
    except OutOfTimeError:
        work.lease.park()
        _again(work.deps, work.ref, f"{work.lease.token}", at=None)
        return Outcome.PARKED
    except LeaseLostError:
        raise
    except AlmanacError as error:
        return _failed(work.deps, work.ref, work.lease, error)


def _run(work: _Work) -> Outcome:
    document = work.lease.document
    work.lease.checkpoint(DocumentStatus.EXTRACTING, Progress())
    data = work.deps.uploads.read(document.object_name, limit=MAX_FILE_BYTES)
    sha256 = hashlib.sha256(data).hexdigest()
    original = claim_content(work.store, document, sha256)
    if original is not None:
        work.lease.settle_as_duplicate(original, sha256, len(data))
        return Outcome.DUPLICATE
    extraction = _extraction(work, data)

    work.lease.checkpoint(DocumentStatus.CHUNKING, Progress())
    chunks = chunk(document.id, extraction)
    windows = passages(
        document.id,
        chunks,
        pages=extraction.pages,
        count_tokens=work.deps.count_tokens,
        max_tokens=work.deps.embedder.profile.max_input_tokens,
    )

    payer = Payer(document.id, document.knowledge_base_id)
    summaries = summarize(
        work.store,
        work.deps.clock,
        work.deps.summarizer,
        chunks,
        payer=payer,
        language=extraction.language,
        deadline=work.deadline,
        on_progress=work.at(DocumentStatus.SUMMARIZING),
    )
    vectors = embed(
        work.store,
        work.deps.clock,
        work.deps.embedder,
        windows,
        payer=payer,
        deadline=work.deadline,
        on_progress=work.at(DocumentStatus.EMBEDDING),
    )
    content = Content(sha256, len(data), extraction, chunks, summaries, windows, vectors)
    publish_content(work.deps, work.store, work.lease, content)
    _tidy_later(work.deps, work.ref)
    return Outcome.PUBLISHED


def _extraction(work: _Work, data: bytes) -> Extraction:
    """The text of the revision, read once: a resumed call takes what the call before it stored."""
    name = text_name(work.ref)
    try:
        return load_extraction(work.deps.derived.read(name))
    except NotFoundError:
        source = work.lease.document.source
        made = extract(data, name_hint=source.filename or "", type_hint=source.content_type or "")
        work.deps.derived.write(name, dump_extraction(made), content_type="application/json", replace=True)
        return made


def _refused(deps: IngestDeps, ref: RevisionRef, refused: Refused) -> Outcome:
    if refused.why is Refusal.BUSY and refused.until is not None:
        # Somebody works on it. If that one dies, nobody would come back: look again when its lease ends.
        moment = f"{refused.until.timestamp():.0f}"
        _again(deps, ref, f"look-{moment}", at=refused.until + timedelta(seconds=1))
    if refused.document is not None:
        _finish(deps, ref, refused.document)
    return Outcome.NOTHING


def _finish(deps: IngestDeps, ref: RevisionRef, document: Document) -> None:
    """What follows the end of a revision, once more: the call that settled it may have died before it did
    that, and then its event is delivered again."""
    if not document.object_name:
        _drop_objects(deps, ref)
    elif document.published is not None and document.published.revision == ref.revision:
        _tidy_later(deps, ref)


def _failed(deps: IngestDeps, ref: RevisionRef, lease: Lease, error: AlmanacError) -> Outcome:
    # To be sent away by a provider that is busy is no failure of the document's: many documents at once would
    # else use up one another's attempts. What was paid is kept, so each return is nearer to the end.
    sent_away = isinstance(error, ModelOverloadedError) and lease.continuations < _MOST_CONTINUATIONS
    again = error.retryable and (sent_away or lease.attempt < deps.settings.max_attempts)
    log.warning(
        "ingest failed",
        extra={"document_id": ref.document_id, "revision": ref.revision, "code": error.code, "again": again},
    )
    if not again:
        lease.fail(error)
        if isinstance(error, RefusedFileError):
            _drop_objects(deps, ref)
        return Outcome.FAILED
    lease.release(error, counts=not sent_away)
    tries = lease.attempt - 1 + (lease.continuations if sent_away else 0)
    wait = min(_FIRST_RETRY * 2 ** min(tries, 10), _LONGEST_RETRY)
    asked: float | None = getattr(error, "retry_after", None)
    if asked is not None:
        wait = max(wait, timedelta(seconds=asked))
    _again(deps, ref, f"{lease.token}", at=deps.clock.now() + wait * _spread(ref, lease.token))
    return Outcome.RETRY


def _spread(ref: RevisionRef, token: int) -> float:
    """1 to 1.25, by document and attempt: what a provider sent away together does not come back together."""
    digest = hashlib.sha256(f"{ref.document_id} {token}".encode()).digest()
    return 1 + digest[0] / 1020


def _drop_objects(deps: IngestDeps, ref: RevisionRef) -> None:
    start = prefix(ref.account_id, ref.document_id, ref.revision)
    deps.uploads.delete_prefix(start)
    deps.derived.delete_prefix(start)


def _tidy_later(deps: IngestDeps, ref: RevisionRef) -> None:
    deps.queue.enqueue(task("/tidy", ref, name=_name("tidy", ref)))


def _again(deps: IngestDeps, ref: RevisionRef, mark: str, *, at: datetime | None) -> None:
    deps.queue.enqueue(task("/advance", ref, name=_name(f"advance-{mark}", ref), at=at))


def task(path: str, ref: RevisionRef, *, name: str | None = None, at: datetime | None = None) -> Task:
    """The task that calls `path` of the tasks function for one revision."""
    body: dict[str, str | int] = {
        "account": ref.account_id,
        "document": ref.document_id,
        "revision": ref.revision,
    }
    return Task(path, body, name=name, at=at)


def _name(purpose: str, ref: RevisionRef) -> str:
    return content_id("task", purpose, ref.account_id, ref.document_id, ref.revision)
