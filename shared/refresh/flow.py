"""One read of a document's address: fetch, judge, compare; what changed becomes a new object, and the way in
that an upload takes does the rest.

Tasks come twice, late and out of order. Each read takes a number when it begins, and the newest read that has
a result wins: an older one that ends later changes nothing.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from functools import partial
from urllib.parse import urlsplit

from shared.domain.errors import (
    AlmanacError,
    FetchFailedError,
    RateLimitedError,
    RefusedFileError,
    UrlForbiddenError,
)
from shared.domain.knowledge import Document, DocumentStatus, Progress, RefreshOutcome
from shared.domain.text import Extraction
from shared.ingest.claim import failure_of
from shared.ingest.extract import dump_extraction
from shared.library.contents import holder_of
from shared.library.objects import RevisionRef, prefix, source_name, text_name
from shared.ports import AccountStore, Transaction
from shared.records import DOCUMENTS
from shared.refresh.addresses import default_title, enqueue_refresh
from shared.refresh.deps import RefreshDeps
from shared.refresh.judge import UnusableAnswerError
from shared.refresh.reading import Reading, news, read_address
from shared.refresh.schedule import after_failure, after_success, followed, following, window

log = logging.getLogger(__name__)


class Outcome(StrEnum):
    """How a task ended; each ends it."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    FAILED = "failed"
    LATER = "later"
    SUPERSEDED = "superseded"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class _Read:
    """A read that has begun: the document as it was then, and the read's number."""

    deps: RefreshDeps
    account_id: str
    store: AccountStore
    document: Document
    number: int


def refresh_document(deps: RefreshDeps, account_id: str, document_id: str, due: int) -> Outcome:
    """Reads the address for the window `due`. What the address does ends on the document's record; raises
    only when something below us fails, and then the queue tries again."""
    store = deps.store.of(account_id)
    document = store.transact(partial(_begin, document_id=document_id, due=due))
    if document is None:
        return Outcome.NOTHING
    read = _Read(deps, account_id, store, document, following(document).begun)
    try:
        reading = read_address(deps, document)
        text = news(document, reading)
        outcome = _take_over(read, reading, text) if text is not None else _unchanged(read, reading)
    except RateLimitedError as error:
        at = deps.clock.now() + timedelta(seconds=error.retry_after)
        enqueue_refresh(deps.queue, account_id, document, at, mark=f"{read.number}")
        return Outcome.LATER
    except (FetchFailedError, UrlForbiddenError, RefusedFileError) as error:
        outcome = _failed(read, error)
    log.info(
        "address read",
        extra={"document_id": document_id, "outcome": outcome, "host": _host(read)},
    )
    return outcome


def _begin(tx: Transaction, *, document_id: str, due: int) -> Document | None:
    """The document with one read more begun; None when this window was dealt with."""
    document = tx.get(DOCUMENTS, document_id)
    refresh = followed(document)
    if document is None or refresh is None or document.status is DocumentStatus.DELETING:
        return None
    if window(refresh) != due:
        return None
    begun = replace(document, refresh=replace(refresh, begun=refresh.begun + 1))
    tx.put(DOCUMENTS, begun)
    return begun


def _unchanged(read: _Read, reading: Reading) -> Outcome:
    def body(tx: Transaction) -> Outcome:
        document = _current(tx, read)
        if document is None:
            return Outcome.SUPERSEDED
        refresh = replace(following(document), finished=read.number)
        if refresh.revision == document.latest_revision:
            refresh = reading.confirmed(refresh)
        now = read.deps.clock.now()
        tx.put(DOCUMENTS, replace(document, refresh=after_success(refresh, RefreshOutcome.UNCHANGED, now)))
        return Outcome.UNCHANGED

    return read.store.transact(body)


def _take_over(read: _Read, reading: Reading, extraction: Extraction) -> Outcome:
    """A new revision: first its number, then its text and its object, whose event starts the processing, and
    only then the note that the address was read. Cut off in between, the task comes again and starts over."""
    document = read.store.transact(
        partial(_next_revision, read=read, reading=reading, title=extraction.title)
    )
    if document is None:
        return Outcome.SUPERSEDED
    ref = RevisionRef(read.account_id, document.id, document.latest_revision)
    read.deps.derived.write(
        text_name(ref), dump_extraction(extraction), content_type="application/json", replace=True
    )
    read.deps.uploads.write(
        source_name(ref),
        reading.fetched.body,
        content_type=reading.fetched.content_type or "application/octet-stream",
    )

    def body(tx: Transaction) -> Document | None:
        current = tx.get(DOCUMENTS, document.id)
        refresh = followed(current)
        if current is None or refresh is None or current.status is DocumentStatus.DELETING:
            return None
        if refresh.finished == read.number and current.latest_revision == ref.revision:
            now = read.deps.clock.now()
            noted = after_success(reading.taken_over(refresh, ref.revision), RefreshOutcome.CHANGED, now)
            tx.put(DOCUMENTS, replace(current, refresh=noted))
        return current

    if read.store.transact(body) is None:  # deleted meanwhile: its removal may not have seen these objects
        start = prefix(read.account_id, document.id, ref.revision)
        read.deps.uploads.delete_prefix(start)
        read.deps.derived.delete_prefix(start)
        return Outcome.SUPERSEDED
    return Outcome.CHANGED


def _next_revision(tx: Transaction, *, read: _Read, reading: Reading, title: str | None) -> Document | None:
    """The document with a revision more; None when a newer read was faster. Raises `UnusableAnswerError` when
    another document of the knowledge base has these bytes: then every address there shows the same page."""
    document = _current(tx, read)
    if document is None:
        return None
    holder = holder_of(tx, document.knowledge_base_id, reading.sha256)
    if holder is not None and holder.id != document.id and document.published is not None:
        raise UnusableAnswerError(f"The address shows the same content as document {holder.id}.")
    ref = RevisionRef(read.account_id, document.id, document.latest_revision + 1)
    untitled = document.title == default_title(document.source.url or "")
    made = replace(
        document,
        title=title if title and untitled else document.title,
        source=replace(document.source, filename=reading.filename, content_type=reading.fetched.content_type),
        status=DocumentStatus.UPLOADED,
        latest_revision=ref.revision,
        object_name=source_name(ref),
        sha256=reading.sha256,
        bytes=len(reading.fetched.body),
        work=None,
        attempts=0,
        error=None,
        progress=Progress(),
        duplicate_of=None,
        updated_at=read.deps.clock.now(),
        refresh=replace(following(document), finished=read.number),
    )
    tx.put(DOCUMENTS, made)
    return made


def _failed(read: _Read, error: AlmanacError) -> Outcome:
    """Notes the failure. The version that readers see stays; a document without one shows the error."""
    most = read.deps.settings.max_attempts

    def body(tx: Transaction) -> Outcome:
        document = _current(tx, read)
        if document is None:
            return Outcome.SUPERSEDED
        now = read.deps.clock.now()
        refresh = after_failure(
            replace(following(document), finished=read.number), error, now, max_attempts=most
        )
        document = replace(document, refresh=refresh)
        if document.published is None and refresh.revision == 0:  # nothing of it is stored or under way
            again = error.retryable and refresh.failures < most
            document = replace(
                document,
                status=DocumentStatus.UPLOADED if again else DocumentStatus.FAILED,
                error=failure_of(error),
                attempts=refresh.failures,
                updated_at=now,
            )
        tx.put(DOCUMENTS, document)
        return Outcome.FAILED

    return read.store.transact(body)


def _current(tx: Transaction, read: _Read) -> Document | None:
    """The document as it is now; None when it goes, or when a newer read has its result already."""
    document = tx.get(DOCUMENTS, read.document.id)
    refresh = followed(document)
    if document is None or refresh is None or document.status is DocumentStatus.DELETING:
        return None
    return document if read.number > refresh.finished else None


def _host(read: _Read) -> str:
    return urlsplit(read.document.source.url or "").hostname or ""
