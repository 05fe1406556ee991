"""What came out of a document: chunks, text, passages."""

from __future__ import annotations

from pydantic import Field

from shared.domain.accounts import Permission
from shared.domain.errors import InvalidRequestError
from shared.domain.text import PageSpan
from shared.http.models import Listing, NoParams, PageParams, View
from shared.http.routes import AnyRoute, Call, Route
from shared.library.deps import LibraryDeps
from shared.library.documents import get_document
from shared.library.objects import RevisionRef, text_name


class ChunkView(View):
    id: str
    document_id: str
    version: int
    ordinal: int
    title: str
    heading_path: tuple[str, ...]
    pages: tuple[int, int] | None
    start: int = Field(description="Place in the document's text, in characters.")
    end: int
    text: str
    summary: str
    tokens: int


class PageView(View):
    number: int
    start: int
    end: int


class TextView(View):
    """The document as Markdown; `pages` says which characters each page has."""

    document_id: str
    version: int
    text: str
    language: str | None
    pages: tuple[PageView, ...]
    notes: tuple[str, ...]


class PassageView(View):
    id: str
    document_id: str
    version: int
    chunk_id: str
    title: str
    heading_path: tuple[str, ...]
    pages: tuple[int, int] | None
    start: int = Field(description="Place in the chunk's text, in characters.")
    end: int
    text: str


def list_chunks(deps: LibraryDeps, call: Call[None, PageParams]) -> Listing[ChunkView]:
    from shared.library.readings import read_chunks, require_published

    store = deps.store.of(call.caller.account_id)
    document = get_document(store, call.caller, call.path["document_id"])
    offset = _offset(call.query.cursor)
    found, total = read_chunks(store, document, offset=offset, limit=call.query.limit)
    after = offset + call.query.limit
    version = require_published(document).revision
    return Listing[ChunkView](
        items=tuple(
            ChunkView(
                id=one.chunk.id,
                document_id=document.id,
                version=version,
                ordinal=one.ordinal,
                title=one.entry.title,
                heading_path=one.entry.heading_path,
                pages=one.entry.pages,
                start=one.entry.start,
                end=one.entry.end,
                text=one.chunk.text,
                summary=one.chunk.summary,
                tokens=one.chunk.tokens,
            )
            for one in found
        ),
        next_cursor=str(after) if after < total else None,
    )


def get_text(deps: LibraryDeps, call: Call[None, NoParams]) -> TextView:
    from shared.ingest.extract.serialize import load_extraction
    from shared.library.readings import require_published

    store = deps.store.of(call.caller.account_id)
    document = get_document(store, call.caller, call.path["document_id"])
    version = require_published(document).revision
    name = text_name(RevisionRef(call.caller.account_id, document.id, version))
    extraction = load_extraction(deps.derived.read(name))
    return TextView(
        document_id=document.id,
        version=version,
        text=extraction.markdown,
        language=extraction.language,
        pages=tuple(map(_page_view, extraction.pages)),
        notes=extraction.notes,
    )


def get_passage(deps: LibraryDeps, call: Call[None, NoParams]) -> PassageView:
    from shared.library.readings import read_passage, require_published

    store = deps.store.of(call.caller.account_id)
    document = get_document(store, call.caller, call.path["document_id"])
    passage = read_passage(store, document, call.path["passage_id"])
    return PassageView(
        id=passage.id,
        document_id=document.id,
        version=require_published(document).revision,
        chunk_id=passage.chunk_id,
        title=document.title,
        heading_path=passage.heading_path,
        pages=passage.pages,
        start=passage.start,
        end=passage.end,
        text=passage.text,
    )


def _offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 10):
        raise InvalidRequestError(
            "The cursor is not one of ours.", fields=(("cursor", "not a cursor of this list"),)
        )
    return int(cursor)


def _page_view(page: PageSpan) -> PageView:
    return PageView(number=page.number, start=page.start, end=page.end)


_ONE = "/v1/documents/{document_id}"

ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "GET",
        f"{_ONE}/chunks",
        list_chunks,
        "The chunks of a document in reading order, with their summaries",
        Permission.KB_READ,
        query=PageParams,
        response=Listing[ChunkView],
    ),
    Route("GET", f"{_ONE}/text", get_text, "The text of a document", Permission.KB_READ, response=TextView),
    Route(
        "GET",
        f"{_ONE}/passages/{{passage_id}}",
        get_passage,
        "One passage of a document",
        Permission.KB_READ,
        response=PassageView,
    ),
)
