"""Documents as the API shows them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import Field

from shared.domain.knowledge import (
    Coverage,
    Document,
    DocumentStatus,
    Failure,
    MetadataValue,
    Refresh,
    RefreshOutcome,
    SourceKind,
)
from shared.http.models import View
from shared.ports import UploadTarget


class SourceView(View):
    kind: SourceKind
    filename: str | None
    content_type: str | None
    url: str | None


class ProgressView(View):
    done: int
    total: int


class ErrorView(View):
    code: str
    message: str
    hint: str


class CoverageView(View):
    """How many pages (sheets, sections) there are, how many gave text, which did not although they show
    something, and which are hidden and left out."""

    unit: str
    total: int
    with_text: int
    missing: tuple[str, ...]
    left_out: tuple[str, ...]


class SpentView(View):
    """What models were paid for the document: summaries and embedding, all versions together."""

    calls: int
    input_tokens: int
    output_tokens: int
    cost_microdollars: float = Field(description="Millionths of a US dollar.")


class RefreshView(View):
    """How the last read of the address went; `code` is the error's."""

    outcome: RefreshOutcome
    at: datetime
    code: str | None
    detail: str | None


class DocumentView(View):
    """`version` is the revision that readers see, null before the first one is whole. `last_refreshed_at` is
    when the address was last read with success."""

    id: str
    knowledge_base_id: str
    title: str
    source: SourceView
    status: DocumentStatus
    progress: ProgressView
    attempts: int
    error: ErrorView | None
    coverage: CoverageView | None
    metadata: Mapping[str, MetadataValue]
    language: str | None
    sha256: str | None
    text_sha256: str | None
    bytes: int | None
    characters: int | None
    version: int | None
    duplicate_of: str | None
    refresh_interval_days: int | None = None
    last_refreshed_at: datetime | None = None
    next_refresh_at: datetime | None = None
    last_refresh: RefreshView | None = None
    archived: bool
    effective_from: datetime | None
    effective_to: datetime | None
    supersedes: str | None
    superseded_by: str | None
    upload_expires_at: datetime | None
    spent: SpentView
    created_at: datetime
    updated_at: datetime


class UploadView(View):
    method: str
    url: str
    headers: Mapping[str, str]
    expires_at: datetime


class AwaitedView(View):
    """A document that waits for its file, and how to send that."""

    document: DocumentView
    upload: UploadView


def document_view(document: Document) -> DocumentView:
    return DocumentView(
        id=document.id,
        knowledge_base_id=document.knowledge_base_id,
        title=document.title,
        source=SourceView(
            kind=document.source.kind,
            filename=document.source.filename,
            content_type=document.source.content_type,
            url=document.source.url,
        ),
        status=document.status,
        progress=ProgressView(done=document.progress.done, total=document.progress.total),
        attempts=document.attempts,
        error=_error_view(document.error),
        coverage=_coverage_view(document.coverage),
        metadata=document.metadata,
        language=document.language,
        sha256=document.sha256,
        text_sha256=document.text_sha256,
        bytes=document.bytes,
        characters=document.characters,
        version=document.published.revision if document.published is not None else None,
        duplicate_of=document.duplicate_of,
        **_refresh_fields(document.refresh),
        archived=document.archived,
        effective_from=document.effective_from,
        effective_to=document.effective_to,
        supersedes=document.supersedes,
        superseded_by=document.superseded_by,
        upload_expires_at=document.upload_expires_at,
        spent=SpentView(
            calls=document.spent.calls,
            input_tokens=document.spent.input,
            output_tokens=document.spent.output,
            cost_microdollars=document.spent.cost / 1000,
        ),
        created_at=document.created_at,
        updated_at=document.updated_at,
    )


def awaited_view(document: Document, target: UploadTarget) -> AwaitedView:
    upload = UploadView(
        method=target.method, url=target.url, headers=target.headers, expires_at=target.expires_at
    )
    return AwaitedView(document=document_view(document), upload=upload)


def _refresh_fields(refresh: Refresh | None) -> dict[str, Any]:
    if refresh is None:
        return {}
    last = refresh.last
    return {
        "refresh_interval_days": refresh.interval_days,
        "last_refreshed_at": refresh.confirmed_at,
        "next_refresh_at": refresh.next_at,
        "last_refresh": None
        if last is None
        else RefreshView(outcome=last.outcome, at=last.at, code=last.code, detail=last.detail),
    }


def _error_view(failure: Failure | None) -> ErrorView | None:
    if failure is None:
        return None
    return ErrorView(code=failure.code, message=failure.message, hint=failure.hint)


def _coverage_view(coverage: Coverage | None) -> CoverageView | None:
    if coverage is None:
        return None
    return CoverageView(
        unit=coverage.unit,
        total=coverage.total,
        with_text=coverage.with_text,
        missing=coverage.missing,
        left_out=coverage.left_out,
    )
