"""How content comes in: the record first, then the object, whose event starts the processing."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import PurePosixPath

from shared.domain.accounts import Caller
from shared.domain.errors import (
    AlmanacError,
    ConflictError,
    EmptyFileError,
    InvalidRequestError,
    RefusedFileError,
    TooLargeError,
)
from shared.domain.ids import new_id
from shared.domain.knowledge import (
    Document,
    DocumentStatus,
    Failure,
    KnowledgeBase,
    KnowledgeBaseType,
    MetadataValue,
    Progress,
    Source,
    SourceKind,
)
from shared.library.contents import holder_of
from shared.library.deps import LibraryDeps
from shared.library.knowledge_bases import get_knowledge_base, reachable
from shared.library.objects import RevisionRef, source_name
from shared.library.reach import get_in_transaction
from shared.ports import AccountStore, Query, Transaction, UploadTarget
from shared.records import DOCUMENTS, KNOWLEDGE_BASES
from shared.tenancy.plans import limits, require_retrieval, require_room

MAX_FILE_BYTES = 10 * 1024 * 1024
UPLOAD_WINDOW = timedelta(hours=1)
_LONGEST_NAME = 255
# What a workflow writes or what is captured is free.
_COUNTED_SOURCES = [SourceKind.UPLOAD.value, SourceKind.URL.value]


@dataclass(frozen=True, slots=True)
class FileInfo:
    """A file as it comes in. `size` is in bytes; name and type are what the client says."""

    filename: str
    content_type: str
    size: int
    title: str | None = None
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)


def create_from_bytes(
    deps: LibraryDeps,
    caller: Caller,
    knowledge_base_id: str,
    file: FileInfo,
    data: bytes,
    *,
    document_id: str | None = None,
) -> Document:
    """A document with these bytes: `uploaded`, or `duplicate` when the knowledge base has them.

    `document_id` is its id, a new one by default. When it is there already, an earlier try with the same
    bytes made it and died: what that left undone is done.

    Raises `EmptyFileError` or `TooLargeError`, of which a failed record stays; what the file itself shows is
    found later and ends on the record. Raises `NotFoundError`, `PlanRequiredError`, `QuotaExceededError`.
    """
    store = deps.store.of(caller.account_id)
    require_place(store, caller, knowledge_base_id)
    document = _new_document(deps, knowledge_base_id, file, document_id)
    _refuse_by_size(store, caller, document, file.size)
    sha256 = hashlib.sha256(data).hexdigest()
    document = replace(
        document,
        status=DocumentStatus.UPLOADED,
        object_name=source_name(RevisionRef(caller.account_id, document.id, 1)),
        sha256=sha256,
        bytes=file.size,
    )

    def body(tx: Transaction) -> Document:
        reachable(caller, tx.get(KNOWLEDGE_BASES, knowledge_base_id), knowledge_base_id)
        earlier = tx.get(DOCUMENTS, document.id)
        if earlier is not None and not _lost(earlier):
            return earlier
        holder = holder_of(tx, knowledge_base_id, sha256)
        made = document if holder is None else _copy_of(document, holder.id)
        tx.put(DOCUMENTS, made)
        return made

    made = store.transact(body)
    if _unread(made):
        _write_object(deps, store, made, data)
    return made


def create_upload(
    deps: LibraryDeps,
    caller: Caller,
    knowledge_base_id: str,
    file: FileInfo,
    *,
    document_id: str | None = None,
) -> tuple[Document, UploadTarget]:
    """A document that waits for its file, and where the client sends that. `document_id` and what is raised
    as in `create_from_bytes`."""
    store = deps.store.of(caller.account_id)
    require_place(store, caller, knowledge_base_id)
    document = _new_document(deps, knowledge_base_id, file, document_id)
    _refuse_by_size(store, caller, document, file.size)
    name = source_name(RevisionRef(caller.account_id, document.id, 1))
    expires_at = deps.clock.now() + UPLOAD_WINDOW
    target = deps.uploads.sign_upload(
        name, content_type=file.content_type, size_limit=MAX_FILE_BYTES, expires_at=expires_at
    )
    document = replace(
        document,
        status=DocumentStatus.AWAITING_UPLOAD,
        object_name=name,
        upload_expires_at=expires_at,
    )
    return keep_new(store, caller, document), target


def replace_content(
    deps: LibraryDeps, caller: Caller, document_id: str, file: FileInfo, data: bytes
) -> Document:
    """A new revision with these bytes. The same bytes as now change nothing, but they are stored again while
    nobody has read them: who sent them may have died before they were. The version that readers see stays
    until the new one is whole.

    Raises `EmptyFileError`, `TooLargeError`, `NotFoundError`, and `ConflictError` when another document of
    the knowledge base has these bytes.
    """
    store = deps.store.of(caller.account_id)
    _check_size(file.filename, file.size)
    sha256 = hashlib.sha256(data).hexdigest()

    def body(tx: Transaction) -> tuple[Document, bool]:
        current = get_in_transaction(tx, caller, document_id)
        if current.sha256 == sha256 and current.status is not DocumentStatus.FAILED:
            return current, _unread(current)
        holder = holder_of(tx, current.knowledge_base_id, sha256)
        if holder is not None and holder.id != current.id:
            raise ConflictError(
                f"Document {holder.id} of the same knowledge base has this content.",
                hint="Delete one of the two documents.",
            )
        revision = RevisionRef(caller.account_id, document_id, current.latest_revision + 1)
        changed = _next_revision(current, revision, file, sha256, deps.clock.now())
        tx.put(DOCUMENTS, changed)
        return changed, True

    document, is_unread = store.transact(body)
    if is_unread:
        _write_object(deps, store, document, data)
    return document


def require_place(store: AccountStore, caller: Caller, knowledge_base_id: str) -> KnowledgeBase:
    """The knowledge base, if it takes one more document. The count is read before the write: requests in
    flight together may pass the quota by their number."""
    found = get_knowledge_base(store, caller, knowledge_base_id)
    if found.type is not KnowledgeBaseType.FILES:
        raise InvalidRequestError(
            f"The knowledge base {found.name!r} is of type {found.type.value} and holds records.",
            hint="POST to its `records`, or use a knowledge base of type files.",
        )
    require_retrieval(caller)
    have, at_most = _count_documents(store), limits(caller).documents
    if have >= at_most:  # what is on its way out does not stand in the way
        have -= store.count(DOCUMENTS, Query(where=(("status", "==", DocumentStatus.DELETING.value),)))
    require_room(caller, "documents", have, at_most)
    return found


def _count_documents(store: AccountStore) -> int:
    return store.count(DOCUMENTS, Query(where=(("source.kind", "in", _COUNTED_SOURCES),)))


def _new_document(
    deps: LibraryDeps, knowledge_base_id: str, file: FileInfo, document_id: str | None
) -> Document:
    """A record without content yet; `object_name` is empty as long as nothing is stored."""
    now = deps.clock.now()
    filename = clean_filename(file.filename)
    return Document(
        id=document_id or new_id("doc"),
        knowledge_base_id=knowledge_base_id,
        title=file.title or PurePosixPath(filename).stem or filename,
        source=Source(SourceKind.UPLOAD, filename=filename, content_type=file.content_type),
        status=DocumentStatus.FAILED,
        latest_revision=1,
        object_name="",
        created_at=now,
        updated_at=now,
        metadata=dict(file.metadata),
    )


def clean_filename(name: str) -> str:
    """The last part of the name without control characters; never empty, at most 255 characters."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    printable = "".join(c for c in last if c.isprintable()).strip().strip(".")
    return printable[-_LONGEST_NAME:] or "untitled"


def _check_size(filename: str, size: int) -> None:
    if size == 0:
        raise EmptyFileError(f"The file {clean_filename(filename)!r} has no bytes.")
    if size > MAX_FILE_BYTES:
        raise TooLargeError(
            f"The file {clean_filename(filename)!r} is over {MAX_FILE_BYTES:,} bytes (10 MB)."
        )


def keep_new(store: AccountStore, caller: Caller, document: Document) -> Document:
    """Keeps the record, unless its knowledge base is gone by now. The record as it is then: an earlier try
    may have made it, and its file may have come since."""

    def body(tx: Transaction) -> Document:
        base_id = document.knowledge_base_id
        reachable(caller, tx.get(KNOWLEDGE_BASES, base_id), base_id)
        earlier = tx.get(DOCUMENTS, document.id)
        if earlier is not None and earlier.status is not DocumentStatus.AWAITING_UPLOAD:
            return earlier
        tx.put(DOCUMENTS, document)
        return document

    return store.transact(body)


def _lost(document: Document) -> bool:
    """Whether its file could not be stored."""
    return document.status is DocumentStatus.FAILED and document.settled_revision < document.latest_revision


def _unread(document: Document) -> bool:
    """Whether nobody has read its file yet, so that it may not be stored."""
    return document.work is None and document.status in (DocumentStatus.UPLOADED, DocumentStatus.DUPLICATE)


def _refuse_by_size(store: AccountStore, caller: Caller, document: Document, size: int) -> None:
    """Raises what is wrong with the size, after keeping it on the document's record."""
    try:
        _check_size(document.source.filename or "", size)
    except RefusedFileError as error:
        failure = Failure(error.code, error.message, error.hint)
        keep_new(store, caller, replace(document, error=failure, settled_revision=1))
        raise


def _copy_of(document: Document, holder_id: str) -> Document:
    return replace(
        document,
        status=DocumentStatus.DUPLICATE,
        duplicate_of=holder_id,
        settled_revision=document.latest_revision,
    )


def _next_revision(
    current: Document, ref: RevisionRef, file: FileInfo, sha256: str, now: datetime
) -> Document:
    """The document with a revision more. Work on an older one loses its lease."""
    filename = clean_filename(file.filename)
    return replace(
        current,
        title=file.title or current.title,
        source=Source(SourceKind.UPLOAD, filename=filename, content_type=file.content_type),
        metadata=dict(file.metadata) if file.metadata else current.metadata,
        status=DocumentStatus.UPLOADED,
        latest_revision=ref.revision,
        object_name=source_name(ref),
        sha256=sha256,
        bytes=file.size,
        work=None,
        attempts=0,
        error=None,
        progress=Progress(),
        duplicate_of=None,
        upload_expires_at=None,
        refresh=None,
        updated_at=now,
    )


def _write_object(deps: LibraryDeps, store: AccountStore, document: Document, data: bytes) -> None:
    """Stores the bytes, unless they are: the object of a revision never has others. When that fails, the
    record says so; should they have arrived all the same, their event takes the record on."""
    content_type = document.source.content_type or "application/octet-stream"
    try:
        deps.uploads.write(document.object_name, data, content_type=content_type)
    except ConflictError:
        return
    except AlmanacError as error:
        failure = Failure(error.code, "The file could not be stored.", "Upload it again.")
        revision = document.latest_revision

        def body(tx: Transaction) -> None:
            current = tx.get(DOCUMENTS, document.id)
            if current is None or current.latest_revision != revision or current.work is not None:
                return
            if current.status in (DocumentStatus.UPLOADED, DocumentStatus.DUPLICATE):
                failed = replace(current, status=DocumentStatus.FAILED, error=failure, duplicate_of=None)
                tx.put(DOCUMENTS, failed)

        store.transact(body)
        raise
