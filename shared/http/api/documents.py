"""Documents: bring in, find, change, run again, delete."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import ConfigDict, Field, StringConstraints

from shared.domain.accounts import Permission
from shared.domain.errors import InvalidRequestError
from shared.domain.knowledge import Document, DocumentStatus
from shared.http.api.document_views import AwaitedView, DocumentView, awaited_view, document_view
from shared.http.api.receipts import AcceptedView
from shared.http.api.values import Instant, Metadata, MetadataText
from shared.http.models import Body, Id, Listing, NoParams, PageParams, Params, changes, unchanged
from shared.http.routes import AnyRoute, Call, Reply, Result, Route, UploadedFile
from shared.library import documents, uploads
from shared.library.deletes import delete_document as delete
from shared.library.deps import LibraryDeps
from shared.library.documents import DocumentFilter
from shared.library.uploads import FileInfo
from shared.refresh import addresses
from shared.refresh.addresses import AddressInfo
from shared.refresh.deps import AddressDeps

Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300)]


class DocumentForm(Params):
    """Beside the file; `metadata` is a JSON object of flat values."""

    title: Title | None = None
    metadata: MetadataText = Field(default_factory=dict)


Days = Annotated[int, Field(ge=1, le=365)]


class DocumentRequest(Body):
    """Either an address to read, or a file that the client sends to storage itself."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["url"]}, {"required": ["filename", "size"]}]}
    )

    url: str | None = Field(
        default=None, min_length=1, max_length=2_083, description="A page or file on the public web."
    )
    refresh_interval_days: Days | None = Field(
        default=None, description="How often the address is read again; null: only on request."
    )
    filename: str | None = Field(default=None, min_length=1, max_length=255)
    size: int | None = Field(default=None, ge=0, description="In bytes.")
    content_type: str = Field(
        default="application/octet-stream", pattern=r"^[\w.+-]+/[\w.+-]+$", max_length=100
    )
    title: Title | None = None
    metadata: Metadata = Field(default_factory=dict)


class DocumentChanges(Body):
    """Only the fields given change; `metadata` replaces all of it."""

    title: Title = Field(default_factory=unchanged)
    metadata: Metadata = Field(default_factory=unchanged)
    archived: bool = Field(default_factory=unchanged)
    refresh_interval_days: Days | None = Field(
        default_factory=unchanged, description="Of a document with an address; null: only on request."
    )
    effective_from: Instant | None = Field(
        default_factory=unchanged, description="Not found before; null: from the start."
    )
    effective_to: Instant | None = Field(
        default_factory=unchanged, description="From then on found by questions about the past only."
    )
    supersedes: Id | None = Field(
        default_factory=unchanged,
        description="The document of the same knowledge base that this one replaces, once it is in effect.",
    )


class DocumentsQuery(PageParams):
    status: DocumentStatus | None = None


class AllDocumentsQuery(DocumentsQuery):
    knowledge_base_id: Id | None = None


def create_document(deps: AddressDeps, call: Call[DocumentForm | DocumentRequest, NoParams]) -> Result:
    base_id, name = call.path["knowledge_base_id"], call.new_id("doc")
    if isinstance(call.body, DocumentRequest):
        wanted = _file_or_address(call.body)
        if isinstance(wanted, AddressInfo):
            made = addresses.create_from_address(deps, call.caller, base_id, wanted, document_id=name)
            return document_view(made)
        made, target = uploads.create_upload(deps, call.caller, base_id, wanted, document_id=name)
        return Reply(awaited_view(made, target), 201)
    file, data = _file(call.body, call.file)
    made = uploads.create_from_bytes(deps, call.caller, base_id, file, data, document_id=name)
    return document_view(made)


def replace_document_content(deps: LibraryDeps, call: Call[DocumentForm, NoParams]) -> DocumentView:
    file, data = _file(call.body, call.file)
    return document_view(uploads.replace_content(deps, call.caller, call.path["document_id"], file, data))


def list_documents(deps: LibraryDeps, call: Call[None, AllDocumentsQuery]) -> Listing[DocumentView]:
    return _listing(deps, call, DocumentFilter(call.query.status, call.query.knowledge_base_id))


def list_documents_of_knowledge_base(
    deps: LibraryDeps, call: Call[None, DocumentsQuery]
) -> Listing[DocumentView]:
    return _listing(deps, call, DocumentFilter(call.query.status, call.path["knowledge_base_id"]))


def get_document(deps: LibraryDeps, call: Call[None, NoParams]) -> DocumentView:
    store = deps.store.of(call.caller.account_id)
    return document_view(documents.get_document(store, call.caller, call.path["document_id"]))


def change_document(deps: LibraryDeps, call: Call[DocumentChanges, NoParams]) -> DocumentView:
    given = changes(call.body)
    now = deps.clock.now()

    def change(current: Document) -> Document:
        plain = {name: value for name, value in given.items() if name != _INTERVAL}
        changed = replace(current, **plain)
        return addresses.change_interval(changed, given[_INTERVAL], now) if _INTERVAL in given else changed

    changed = documents.change_document(
        deps.store.of(call.caller.account_id),
        deps.clock,
        call.caller,
        call.path["document_id"],
        change,
    )
    return document_view(changed)


def retry_document(deps: AddressDeps, call: Call[None, NoParams]) -> DocumentView:
    return document_view(addresses.retry(deps, call.caller, call.path["document_id"]))


def refresh_document(deps: AddressDeps, call: Call[None, NoParams]) -> DocumentView:
    return document_view(addresses.request_refresh(deps, call.caller, call.path["document_id"]))


def delete_document(deps: LibraryDeps, call: Call[None, NoParams]) -> AcceptedView:
    return AcceptedView(receipt_id=delete(deps, call.caller, call.path["document_id"]).id)


def _file_or_address(body: DocumentRequest) -> FileInfo | AddressInfo:
    """Raises `InvalidRequestError` unless it is exactly one of them, whole."""
    if body.url is not None:
        if body.filename is not None or body.size is not None:
            raise InvalidRequestError(
                "A document has an address or a file.",
                fields=(("url", "not together with `filename` or `size`"),),
            )
        return AddressInfo(body.url, body.refresh_interval_days, body.title, body.metadata)
    if body.refresh_interval_days is not None:
        raise InvalidRequestError(
            "A file is not read again.", fields=((_INTERVAL, "only together with `url`"),)
        )
    if body.filename is None or body.size is None:
        wanted = {"filename": body.filename, "size": body.size}
        fields = tuple((name, "Field required") for name, value in wanted.items() if value is None)
        names = ", ".join(name for name, _ in fields)
        raise InvalidRequestError(f"The request's body is not valid: {names}.", fields=fields)
    return FileInfo(
        filename=body.filename,
        content_type=body.content_type,
        size=body.size,
        title=body.title,
        metadata=body.metadata,
    )


def _file(form: DocumentForm, file: UploadedFile | None) -> tuple[FileInfo, bytes]:
    if file is None:
        raise InvalidRequestError(
            "The request holds no file.", fields=(("Content-Type", "must be multipart/form-data"),)
        )
    info = FileInfo(
        filename=file.filename,
        content_type=file.content_type,
        size=len(file.data),
        title=form.title,
        metadata=form.metadata,
    )
    return info, file.data


def _listing(
    deps: LibraryDeps, call: Call[None, DocumentsQuery], wanted: DocumentFilter
) -> Listing[DocumentView]:
    store = deps.store.of(call.caller.account_id)
    page = documents.list_documents(
        store, call.caller, wanted, limit=call.query.limit, cursor=call.query.cursor
    )
    return Listing[DocumentView](
        items=tuple(document_view(one) for one in page.items), next_cursor=page.next_cursor
    )


_INTERVAL = "refresh_interval_days"
_OF_BASE, _ONE = "/v1/knowledge-bases/{knowledge_base_id}/documents", "/v1/documents/{document_id}"

ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "POST",
        _OF_BASE,
        create_document,
        "Bring a document in: a file, an upload of the client's own, or an address to read",
        Permission.KB_WRITE,
        form=DocumentForm,
        body=DocumentRequest,
        response=DocumentView,
        status=202,
        also=((201, AwaitedView),),
    ),
    Route(
        "GET",
        _OF_BASE,
        list_documents_of_knowledge_base,
        "The documents of a knowledge base, newest first",
        Permission.KB_READ,
        query=DocumentsQuery,
        response=Listing[DocumentView],
    ),
    Route(
        "GET",
        "/v1/documents",
        list_documents,
        "The documents that the caller may see, newest first",
        Permission.KB_READ,
        query=AllDocumentsQuery,
        response=Listing[DocumentView],
    ),
    Route("GET", _ONE, get_document, "One document", Permission.KB_READ, response=DocumentView),
    Route(
        "PATCH",
        _ONE,
        change_document,
        "Change title, metadata, archiving or refresh interval of a document",
        Permission.KB_WRITE,
        body=DocumentChanges,
        response=DocumentView,
    ),
    Route(
        "DELETE",
        _ONE,
        delete_document,
        "Delete a document with all that derives from it",
        Permission.KB_WRITE,
        response=AcceptedView,
        status=202,
    ),
    Route(
        "PUT",
        f"{_ONE}/content",
        replace_document_content,
        "Bring a new version of a document in",
        Permission.KB_WRITE,
        form=DocumentForm,
        response=DocumentView,
        status=202,
    ),
    Route(
        "POST",
        f"{_ONE}:retry",
        retry_document,
        "Process a document again that failed",
        Permission.KB_WRITE,
        response=DocumentView,
        status=202,
    ),
    Route(
        "POST",
        f"{_ONE}:refresh",
        refresh_document,
        "Read a document's address again now",
        Permission.KB_WRITE,
        response=DocumentView,
        status=202,
    ),
)
