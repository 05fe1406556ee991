"""Records of form and page knowledge bases."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from pydantic import Field

from shared.context.sections import INLINE_TOKENS
from shared.domain.accounts import Permission
from shared.domain.knowledge import MetadataValue, Record
from shared.http.api.values import FormValues
from shared.http.models import Body, Listing, NoParams, PageParams, View
from shared.http.routes import AnyRoute, Call, Reply, Route
from shared.library import records
from shared.library.deps import LibraryDeps
from shared.library.inline import InlineRoom
from shared.library.records import RecordContent
from shared.ports import TokenCounter


class RecordsDeps(LibraryDeps, Protocol):
    @property
    def count_tokens(self) -> TokenCounter: ...


class RecordBody(Body):
    """`values` for a form, `text` (Markdown) for a page."""

    text: str | None = Field(default=None, min_length=1, max_length=100_000)
    values: FormValues | None = None


class RecordView(View):
    id: str
    knowledge_base_id: str
    text: str | None
    values: Mapping[str, MetadataValue] | None
    tokens: int = Field(description="As it stands in a prompt.")
    created_at: datetime
    updated_at: datetime


def create_record(deps: RecordsDeps, call: Call[RecordBody, NoParams]) -> RecordView:
    made = records.create_record(
        deps.store.of(call.caller.account_id),
        deps.clock,
        call.caller,
        call.path["knowledge_base_id"],
        _content(call.body),
        room=InlineRoom(deps.count_tokens, INLINE_TOKENS),
    )
    return _view(made)


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


def replace_record(deps: RecordsDeps, call: Call[RecordBody, NoParams]) -> RecordView:
    changed = records.replace_record(
        deps.store.of(call.caller.account_id),
        deps.clock,
        call.caller,
        call.path["record_id"],
        _content(call.body),
        room=InlineRoom(deps.count_tokens, INLINE_TOKENS),
    )
    return _view(changed)


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
        tokens=record.tokens,
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
