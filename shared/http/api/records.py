"""Records of form and page knowledge bases."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from pydantic import Field

from shared.domain.accounts import Permission
from shared.domain.knowledge import MetadataValue, Record
from shared.http.api.values import FormValues
from shared.http.models import Body, Listing, NoParams, PageParams, View
from shared.http.routes import AnyRoute, Call, Reply, Route
from shared.library import records
from shared.library.deps import LibraryDeps
from shared.library.records import RecordContent


class RecordBody(Body):
    """`values` for a form, `text` (Markdown) for a page."""

    text: str | None = Field(default=None, min_length=1, max_length=100_000)
    values: FormValues | None = None


class RecordView(View):
    id: str
    knowledge_base_id: str
    text: str | None
    values: Mapping[str, MetadataValue] | None
    created_at: datetime
    updated_at: datetime


def create_record(deps: LibraryDeps, call: Call[RecordBody, NoParams]) -> RecordView:
    store = deps.store.of(call.caller.account_id)
    base_id = call.path["knowledge_base_id"]
    return _view(records.create_record(store, deps.clock, call.caller, base_id, _content(call.body)))


def list_records(deps: LibraryDeps, call: Call[None, PageParams]) -> Listing[RecordView]:
    page = records.list_records(
        deps.store.of(call.caller.account_id),
        call.caller,
        call.path["knowledge_base_id"],
        limit=call.query.limit,
        cursor=call.query.cursor,
    )
    return Listing[RecordView](items=tuple(_view(one) for one in page.items), next_cursor=page.next_cursor)


def get_record(deps: LibraryDeps, call: Call[None, NoParams]) -> RecordView:
    store = deps.store.of(call.caller.account_id)
    return _view(records.get_record(store, call.caller, call.path["record_id"]))


def replace_record(deps: LibraryDeps, call: Call[RecordBody, NoParams]) -> RecordView:
    store = deps.store.of(call.caller.account_id)
    record_id = call.path["record_id"]
    return _view(records.replace_record(store, deps.clock, call.caller, record_id, _content(call.body)))


def delete_record(deps: LibraryDeps, call: Call[None, NoParams]) -> Reply:
    records.delete_record(deps.store.of(call.caller.account_id), call.caller, call.path["record_id"])
    return Reply(None, 204)


def _content(body: RecordBody) -> RecordContent:
    return RecordContent(body.text, dict(body.values or {}))


def _view(record: Record) -> RecordView:
    return RecordView(
        id=record.id,
        knowledge_base_id=record.knowledge_base_id,
        text=record.text,
        values=record.values or None,
        created_at=record.created_at,
        updated_at=record.updated_at,
    )


_OF_BASE, _ONE = "/v1/knowledge-bases/{knowledge_base_id}/records", "/v1/records/{record_id}"

ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "POST",
        _OF_BASE,
        create_record,
        "Add a record",
        Permission.KB_WRITE,
        body=RecordBody,
        response=RecordView,
        status=201,
    ),
    Route(
        "GET",
        _OF_BASE,
        list_records,
        "The records of a knowledge base",
        Permission.KB_READ,
        query=PageParams,
        response=Listing[RecordView],
    ),
    Route("GET", _ONE, get_record, "One record", Permission.KB_READ, response=RecordView),
    Route(
        "PUT",
        _ONE,
        replace_record,
        "Replace a record",
        Permission.KB_WRITE,
        body=RecordBody,
        response=RecordView,
    ),
    Route("DELETE", _ONE, delete_record, "Delete a record", Permission.KB_WRITE, status=204),
)
