"""The RPCs that name documents: reads, lists, writes, commits, and the life of transactions."""

from __future__ import annotations

import secrets
import string
from collections.abc import Callable, Iterator
from typing import Any

from emulators.firestore import fields as field_paths
from emulators.firestore.commits import status_of
from emulators.firestore.document import StoredDocument
from emulators.firestore.errors import RpcError, invalid, not_found, unimplemented
from emulators.firestore.fields import FieldPath
from emulators.firestore.names import DatabaseName, check_id, parse_database, parse_document, parse_parent
from emulators.firestore.paging import after, page_token
from emulators.firestore.protos import (
    BatchGetDocumentsResponse,
    BatchWriteResponse,
    BeginTransactionResponse,
    Document,
    Empty,
    ListCollectionIdsResponse,
    ListDocumentsResponse,
    Write,
)
from emulators.firestore.store import Site, Store
from emulators.firestore.times import exact, to_timestamp
from emulators.firestore.views import begin, open_view
from emulators.firestore.wire import embed

MAX_REQUEST_BYTES = 10 * 1024 * 1024

CommitDelay = float | Callable[[Any], float]

_FOUND, _DOCUMENTS = 1, 1
_ID_ALPHABET = string.ascii_letters + string.digits
_DEFAULT_PAGE = 300


class DocumentRpcs:
    """`delay` waits for as long as the commit-delay knob says; it is called without any lock."""

    def __init__(self, store: Store, delay: Callable[[Any], None]) -> None:
        self._store = store
        self._delay = delay

    # --- reads -----------------------------------------------------------------------------------

    def get_document(self, request: Any) -> bytes:
        name, path = parse_document(request.name)
        site = self._store.site(name)
        with site.database.changed:
            document = open_view(site, request, (path,)).get(path)
        if document is None:
            raise not_found(f'Document "{request.name}" not found.')
        return rendered(document, mask_of(request))

    def batch_get_documents(self, request: Any) -> Iterator[bytes]:
        site = self._site(request.database)
        mask = mask_of(request)
        names = list(dict.fromkeys(request.documents))
        paths = [self._path_in(site, name) for name in names]
        with site.database.changed:
            view = open_view(site, request, paths)
            documents = [view.get(path) for path in paths]
        read_time = to_timestamp(view.time)
        head = BatchGetDocumentsResponse(read_time=read_time).SerializeToString()
        if view.begun:
            yield BatchGetDocumentsResponse(transaction=view.begun, read_time=read_time).SerializeToString()
        for name, document in zip(names, documents, strict=True):
            if document is None:
                yield BatchGetDocumentsResponse(missing=name, read_time=read_time).SerializeToString()
            else:
                yield embed(_FOUND, rendered(document, mask)) + head

    def list_documents(self, request: Any) -> bytes:
        name, parent = parse_parent(request.parent)
        if not request.collection_id:
            raise unimplemented("ListDocuments without a collection id is not supported.")
        if request.order_by:
            raise unimplemented("ListDocuments with order_by is not supported: run a query.")
        check_id(request.collection_id)
        site = self._store.site(name)
        collection = f"{parent}/{request.collection_id}" if parent else request.collection_id
        mask = mask_of(request)
        size = request.page_size or _DEFAULT_PAGE
        with site.database.changed:
            view = open_view(site, request)
            if view.transaction is not None and not view.transaction.read_only:
                raise unimplemented(
                    "ListDocuments in a read-write transaction is not supported: run a query."
                )
            if request.show_missing:
                ids = site.database.child_documents(collection, view.time)
            else:
                found = site.database.collection(collection)
                ids = [d.path.rpartition("/")[2] for d in found.documents(view.time)] if found else []
            start = after(ids, request.page_token)
            page = ids[start : start + size]
            documents = [(document_id, view.get(f"{collection}/{document_id}")) for document_id in page]
        parts = []
        for document_id, document in documents:
            if document is None:
                missing = Document(name=name.document(f"{collection}/{document_id}"))
                parts.append(embed(_DOCUMENTS, missing.SerializeToString()))
            else:
                parts.append(embed(_DOCUMENTS, rendered(document, mask)))
        more = start + size < len(ids)
        tail = ListDocumentsResponse(next_page_token=page_token(page[-1]) if more and page else "")
        return b"".join(parts) + bytes(tail.SerializeToString())

    def list_collection_ids(self, request: Any) -> bytes:
        name, parent = parse_parent(request.parent)
        site = self._store.site(name)
        size = request.page_size or _DEFAULT_PAGE
        with site.database.changed:
            time = site.database.clock.read()
            if request.HasField("read_time"):
                time = exact(request.read_time, "read_time")
                site.database.check_readable(time)
            ids = site.database.child_collections(parent, time)
        start = after(ids, request.page_token)
        page = ids[start : start + size]
        more = start + size < len(ids)
        response = ListCollectionIdsResponse(
            collection_ids=page, next_page_token=page_token(page[-1]) if more and page else ""
        )
        return bytes(response.SerializeToString())

    # --- writes ----------------------------------------------------------------------------------

    def commit(self, request: Any) -> bytes:
        site = self._site(request.database)
        return bytes(self._commit(site, request.writes, request.transaction, request).SerializeToString())

    def batch_write(self, request: Any) -> bytes:
        site = self._site(request.database)
        names = [write.update.name or write.delete or write.transform.document for write in request.writes]
        if len(set(names)) != len(names):
            raise invalid("A batch write cannot write to the same document twice.")
        arrival = self._arrive(request)
        response = BatchWriteResponse()
        for write in request.writes:
            result = response.write_results.add()
            status = response.status.add()
            try:
                result.CopyFrom(site.committer.commit([write], b"", arrival).write_results[0])
            except RpcError as error:
                status.code, status.message = status_of(error)
        return bytes(response.SerializeToString())

    def create_document(self, request: Any) -> bytes:
        name, parent = parse_parent(request.parent)
        document_id = request.document_id or "".join(secrets.choice(_ID_ALPHABET) for _ in range(20))
        path = f"{parent}/{request.collection_id}/{document_id}".lstrip("/")
        write = Write(update=request.document)
        write.update.name = name.document(path)
        write.current_document.exists = False
        return self._write_one(name, path, write, request)

    def update_document(self, request: Any) -> bytes:
        name, path = parse_document(request.document.name)
        write = Write(update=request.document)
        if request.HasField("update_mask"):
            write.update_mask.CopyFrom(request.update_mask)
        if request.HasField("current_document"):
            write.current_document.CopyFrom(request.current_document)
        return self._write_one(name, path, write, request)

    def delete_document(self, request: Any) -> bytes:
        name, _ = parse_document(request.name)
        write = Write(delete=request.name)
        if request.HasField("current_document"):
            write.current_document.CopyFrom(request.current_document)
        self._commit(self._store.site(name), [write], b"", request)
        return bytes(Empty().SerializeToString())

    # --- transactions ----------------------------------------------------------------------------

    def begin_transaction(self, request: Any) -> bytes:
        site = self._site(request.database)
        with site.database.changed:
            transaction = begin(site, request.options)
        return bytes(BeginTransactionResponse(transaction=transaction.id).SerializeToString())

    def rollback(self, request: Any) -> bytes:
        site = self._site(request.database)
        with site.database.changed:
            transaction = site.transactions.find(request.transaction)
            if transaction is None:
                raise invalid("The referenced transaction has expired or is no longer valid.")
            site.transactions.end(transaction, "rolled back")
        return bytes(Empty().SerializeToString())

    # --- internals -------------------------------------------------------------------------------

    def _arrive(self, request: Any) -> int:
        """The server time of a write: stamped on arrival, before anything that makes it wait."""
        arrival = self._store.clock.wall()
        if request.ByteSize() > MAX_REQUEST_BYTES:
            raise invalid(
                f"Request payload size exceeds the limit of {MAX_REQUEST_BYTES} bytes: {request.ByteSize()}."
            )
        self._delay(request)
        return arrival

    def _commit(self, site: Site, writes: Any, transaction: bytes, request: Any) -> Any:
        return site.committer.commit(writes, transaction, self._arrive(request))

    def _write_one(self, name: DatabaseName, path: str, write: Any, request: Any) -> bytes:
        site = self._store.site(name)
        self._commit(site, [write], b"", request)
        with site.database.changed:
            document = site.database.get(path)
        if document is None:
            raise not_found(f'Document "{name.document(path)}" was deleted meanwhile.')
        return rendered(document, mask_of(request))

    def _site(self, database: str) -> Site:
        return self._store.site(parse_database(database))

    def _path_in(self, site: Site, name: str) -> str:
        database, path = parse_document(name)
        if database != site.database.name:
            raise invalid(f'"{name}" is not in {site.database.name}.')
        return path


def mask_of(request: Any) -> tuple[FieldPath, ...] | None:
    """The fields that a request asks for; None for all."""
    if not request.HasField("mask"):
        return None
    return tuple(field_paths.parse(path) for path in request.mask.field_paths)


def rendered(document: StoredDocument, mask: tuple[FieldPath, ...] | None) -> bytes:
    """The serialized document, with the fields of the mask."""
    return document.wire if mask is None else document.masked(mask)
