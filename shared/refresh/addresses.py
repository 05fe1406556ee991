"""Documents that follow an address: bring one in, ask for a read now, change how often it is read.

The address is read by a task, never here: a request does not wait for somebody else's server.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from shared.domain.accounts import Caller
from shared.domain.errors import ConflictError, InvalidRequestError
from shared.domain.ids import content_id, new_id
from shared.domain.knowledge import (
    Document,
    DocumentStatus,
    MetadataValue,
    Refresh,
    Source,
    SourceKind,
)
from shared.domain.web_url import parse_url
from shared.library.documents import retry_document
from shared.library.knowledge_bases import reachable
from shared.library.reach import get_in_transaction
from shared.library.uploads import require_place
from shared.ports import Query, Task, TaskQueue, Transaction
from shared.records import DOCUMENTS, KNOWLEDGE_BASES
from shared.refresh.deps import AddressDeps
from shared.refresh.schedule import followed, following, window, with_interval

_LONGEST_TITLE = 300


@dataclass(frozen=True, slots=True)
class AddressInfo:
    """An address as it comes in. Without `title` the page's own becomes the document's."""

    url: str
    interval_days: int | None = None
    title: str | None = None
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)


def create_from_address(
    deps: AddressDeps,
    caller: Caller,
    knowledge_base_id: str,
    info: AddressInfo,
    *,
    document_id: str | None = None,
) -> Document:
    """A document that waits for the first read of its address. `document_id` as in `create_from_bytes`.
    Where the knowledge base follows the address already, that document with what is given anew: it is read
    again now.

    Raises `UrlForbiddenError` for an address that is not on the public web as far as its text tells, and as
    `create_from_bytes`.
    """
    store = deps.store.of(caller.account_id)
    url = str(parse_url(info.url, local_sites=deps.settings.web_sites))
    require_place(store, caller, knowledge_base_id)
    now = deps.clock.now()
    document = Document(
        id=document_id or new_id("doc"),
        knowledge_base_id=knowledge_base_id,
        title=info.title or default_title(url),
        source=Source(SourceKind.URL, url=url),
        status=DocumentStatus.UPLOADED,
        latest_revision=0,
        object_name="",
        created_at=now,
        updated_at=now,
        metadata=dict(info.metadata),
        refresh=Refresh(info.interval_days, now, address_id=content_id("address", knowledge_base_id, url)),
    )
    document = store.transact(partial(_keep, caller=caller, made=document, info=info))
    enqueue_refresh(deps.queue, caller.account_id, document)
    return document


def _keep(tx: Transaction, *, caller: Caller, made: Document, info: AddressInfo) -> Document:
    base_id = made.knowledge_base_id
    reachable(caller, tx.get(KNOWLEDGE_BASES, base_id), base_id)
    where = (("refresh.address_id", "==", following(made).address_id),)
    found = next((one for one in tx.find(DOCUMENTS, Query(where=where)) if _stays(one)), None)
    if found is None:
        tx.put(DOCUMENTS, made)
        return made
    days = info.interval_days
    refresh = following(found) if days is None else replace(following(found), interval_days=days)
    again = replace(found, title=info.title or found.title, metadata=dict(info.metadata) or found.metadata)
    return _due_now(tx, again, refresh, made.created_at)


def _stays(document: Document) -> bool:
    return document.status is not DocumentStatus.DELETING


def default_title(url: str) -> str:
    """What a document is called until its page says more."""
    return url.partition("://")[2].rstrip("/")[:_LONGEST_TITLE]


def request_refresh(deps: AddressDeps, caller: Caller, document_id: str) -> Document:
    """Has the address read now. Raises `NotFoundError`, and `ConflictError` for a document without one."""

    def body(tx: Transaction) -> Document:
        document = get_in_transaction(tx, caller, document_id)
        refresh = followed(document)
        if refresh is None:
            raise ConflictError(
                f"Document {document_id} has no address to read.", hint="PUT its new content instead."
            )
        return _due_now(tx, document, refresh, deps.clock.now())

    document = deps.store.of(caller.account_id).transact(body)
    enqueue_refresh(deps.queue, caller.account_id, document)
    return document


def retry(deps: AddressDeps, caller: Caller, document_id: str) -> Document:
    """Runs the document again: from its address when nothing of it could be taken over, else from what is
    stored. Raises as `retry_document`."""

    def body(tx: Transaction) -> Document | None:
        document = get_in_transaction(tx, caller, document_id)
        refresh = followed(document)
        if refresh is None or document.status is not DocumentStatus.FAILED or document.object_name:
            return None
        return _due_now(tx, replace(document, status=DocumentStatus.UPLOADED), refresh, deps.clock.now())

    document = deps.store.of(caller.account_id).transact(body)
    if document is None:
        return retry_document(deps, caller, document_id)
    enqueue_refresh(deps.queue, caller.account_id, document)
    return document


def change_interval(document: Document, days: int | None, now: datetime) -> Document:
    """Raises `InvalidRequestError` for a document without an address."""
    refresh = followed(document)
    if refresh is None:
        raise InvalidRequestError(
            f"Document {document.id} was not read from an address.",
            fields=(("refresh_interval_days", "only for documents of an address"),),
        )
    return replace(document, refresh=with_interval(refresh, days, now))


def enqueue_refresh(
    queue: TaskQueue, account_id: str, document: Document, at: datetime | None = None, mark: str = ""
) -> bool:
    """One task for each document and window; False when it is there already. `mark` names a further one."""
    due = window(document.refresh) if document.refresh is not None else None
    if due is None:
        return False
    name = content_id("task", "refresh", account_id, document.id, due, mark)
    body: dict[str, str | int] = {"account": account_id, "document": document.id, "window": due}
    return queue.enqueue(Task("/refresh", body, name=name, at=at))


def _due_now(tx: Transaction, document: Document, refresh: Refresh, now: datetime) -> Document:
    due = replace(document, refresh=replace(refresh, next_at=now), updated_at=now)
    tx.put(DOCUMENTS, due)
    return due
