"""Records: the entries of a `form` knowledge base, or the one text of a `page` one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from shared.domain.accounts import Caller
from shared.domain.errors import ConflictError, InvalidRequestError, NotFoundError
from shared.domain.ids import content_id, new_id
from shared.domain.knowledge import KnowledgeBase, KnowledgeBaseType, MetadataValue, Record
from shared.library.inline import InlineRoom, render_record, require_inline_room
from shared.library.knowledge_bases import get_knowledge_base, reachable
from shared.ports import AccountStore, Clock, Page, Query, Transaction
from shared.records import KNOWLEDGE_BASES, RECORDS
from shared.tenancy.authorize import not_found


@dataclass(frozen=True, slots=True)
class RecordContent:
    """`values` of a form's entry, or the `text` of a page: one of the two."""

    text: str | None = None
    values: Mapping[str, MetadataValue] = field(default_factory=dict)


def create_record(
    store: AccountStore,
    clock: Clock,
    caller: Caller,
    knowledge_base_id: str,
    content: RecordContent,
    *,
    room: InlineRoom,
) -> Record:
    """Raises `NotFoundError`, `InvalidRequestError` for content that does not fit the type, `ConflictError`
    for the second record of a page, and `InlineTooLargeError` when there is no room for it."""
    now = clock.now()

    def body(tx: Transaction) -> Record:
        base = reachable(caller, tx.get(KNOWLEDGE_BASES, knowledge_base_id), knowledge_base_id)
        _require_fit(base, content)
        is_page = base.type is KnowledgeBaseType.PAGE
        # A page has one record, whose id says so: of two requests at once one finds it taken.
        name = content_id("rec", base.id) if is_page else new_id("rec")
        if is_page and tx.get(RECORDS, name) is not None:
            raise ConflictError(
                f"The page {base.name!r} has its text already.", hint=f"PUT /v1/records/{name} replaces it."
            )
        record = _counted(Record(name, base.id, now, now, content.text, dict(content.values)), room)
        grown = _grown(base, record.tokens)
        require_inline_room(tx, grown, room.limit)
        tx.put(KNOWLEDGE_BASES, grown)
        tx.put(RECORDS, record)
        return record

    return store.transact(body)


def get_record(store: AccountStore, caller: Caller, record_id: str) -> Record:
    """Raises `NotFoundError` for what is absent or in a knowledge base that the caller may not see."""
    found = store.get(RECORDS, record_id)
    base = store.get(KNOWLEDGE_BASES, found.knowledge_base_id) if found is not None else None
    return _reachable_record(caller, found, base, record_id)


def list_records(
    store: AccountStore, caller: Caller, knowledge_base_id: str, *, limit: int, cursor: str | None
) -> Page[Record]:
    """The records of one knowledge base in the order of their making."""
    get_knowledge_base(store, caller, knowledge_base_id)
    where = (("knowledge_base_id", "==", knowledge_base_id),)
    return store.find(RECORDS, Query(where=where, order_by="created_at", limit=limit, cursor=cursor))


def replace_record(
    store: AccountStore,
    clock: Clock,
    caller: Caller,
    record_id: str,
    content: RecordContent,
    *,
    room: InlineRoom,
) -> Record:
    """Raises as `create_record`."""

    def body(tx: Transaction) -> Record:
        record, base = _in_transaction(tx, caller, record_id)
        _require_fit(base, content)
        changed = replace(record, text=content.text, values=dict(content.values), updated_at=clock.now())
        changed = _counted(changed, room)
        resized = _grown(base, changed.tokens - record.tokens)
        if changed.tokens > record.tokens:  # what makes it smaller is never refused
            require_inline_room(tx, resized, room.limit)
        tx.put(KNOWLEDGE_BASES, resized)
        tx.put(RECORDS, changed)
        return changed

    return store.transact(body)


def delete_record(store: AccountStore, caller: Caller, record_id: str) -> None:
    """Raises `NotFoundError`. Nothing is derived from a record, so there is nothing more to remove."""

    def body(tx: Transaction) -> None:
        record, base = _in_transaction(tx, caller, record_id)
        tx.put(KNOWLEDGE_BASES, _grown(base, -record.tokens))
        tx.delete(RECORDS, record_id)

    store.transact(body)


def _counted(record: Record, room: InlineRoom) -> Record:
    return replace(record, tokens=room.count_tokens(render_record(record)))


def _grown(base: KnowledgeBase, tokens: int) -> KnowledgeBase:
    return replace(
        base,
        inline_tokens=max(0, base.inline_tokens + tokens),
        inline_version=base.inline_version + 1,
    )


def _in_transaction(tx: Transaction, caller: Caller, record_id: str) -> tuple[Record, KnowledgeBase]:
    found = tx.get(RECORDS, record_id)
    base = tx.get(KNOWLEDGE_BASES, found.knowledge_base_id) if found is not None else None
    record = _reachable_record(caller, found, base, record_id)
    return record, reachable(caller, base, record.knowledge_base_id)


def _reachable_record(
    caller: Caller, found: Record | None, base: KnowledgeBase | None, record_id: str
) -> Record:
    if found is None:
        raise not_found(f"record {record_id}")
    try:
        reachable(caller, base, found.knowledge_base_id)
    except NotFoundError as error:
        raise not_found(f"record {record_id}") from error
    return found


def _require_fit(base: KnowledgeBase, content: RecordContent) -> None:
    if base.type is KnowledgeBaseType.FILES:
        raise InvalidRequestError(
            f"The knowledge base {base.name!r} is of type files and holds documents.",
            hint="POST to its `documents`, or use a knowledge base of type form or page.",
        )
    if base.type is KnowledgeBaseType.PAGE and (content.text is None or content.values):
        raise InvalidRequestError(
            "The record of a page is its text.", fields=(("text", "required, and nothing else"),)
        )
    if base.type is KnowledgeBaseType.FORM and (content.text is not None or not content.values):
        raise InvalidRequestError(
            "The record of a form holds values.", fields=(("values", "required, and nothing else"),)
        )
