"""Content identity: in a knowledge base, certain bytes are one document's, and the others with the same bytes
say so. A claim record for each (knowledge base, SHA-256) decides, also between uploads that race."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Protocol

from shared.domain.ids import content_id
from shared.domain.knowledge import ContentClaim, Document, DocumentStatus, Progress
from shared.library.objects import RevisionRef
from shared.ports import AccountStore, Clock, Query, Store, Task, TaskQueue, Transaction
from shared.records import CONTENTS, DOCUMENTS

# Documents handed over in one transaction.
_BATCH = 100


class ContentDeps(Protocol):
    @property
    def store(self) -> Store: ...
    @property
    def queue(self) -> TaskQueue: ...
    @property
    def clock(self) -> Clock: ...


def claim_id(knowledge_base_id: str, sha256: str) -> str:
    """The id of the claim on these bytes in this knowledge base."""
    return content_id("content", knowledge_base_id, sha256)


def claim_content(store: AccountStore, document: Document, sha256: str) -> str | None:
    """Claims the bytes for the document's latest revision: None when they are its own now, else the id of the
    document that has them. What failed or is being deleted holds nothing back."""

    def body(tx: Transaction) -> str | None:
        claim = tx.get(CONTENTS, claim_id(document.knowledge_base_id, sha256))
        holder = _holder(tx, claim)
        if holder is not None and holder.id != document.id:
            return holder.id
        tx.put(CONTENTS, _claim(document, sha256, claim if holder is not None else None))
        return None

    return store.transact(body)


def holder_of(tx: Transaction, knowledge_base_id: str, sha256: str) -> Document | None:
    """The document that stands for these bytes, if there is one."""
    return _holder(tx, tx.get(CONTENTS, claim_id(knowledge_base_id, sha256)))


def _holder(tx: Transaction, claim: ContentClaim | None) -> Document | None:
    document = tx.get(DOCUMENTS, claim.document_id) if claim is not None else None
    return document if claim is not None and document is not None and _holds(document, claim) else None


def _holds(document: Document, claim: ContentClaim) -> bool:
    """Whether readers see one of the claim's revisions, or it is on its way to them."""
    if document.status is DocumentStatus.DELETING:
        return False
    if document.published is not None and document.published.revision in claim.revisions:
        return True
    over = document.status in (DocumentStatus.FAILED, DocumentStatus.DUPLICATE)
    return document.latest_revision in claim.revisions and not over


def _claim(document: Document, sha256: str, earlier: ContentClaim | None = None) -> ContentClaim:
    """The claim of the document's latest revision, beside its earlier ones with the same bytes."""
    revisions = {document.latest_revision, *(earlier.revisions if earlier is not None else ())}
    name = claim_id(document.knowledge_base_id, sha256)
    return ContentClaim(name, document.id, sha256, tuple(sorted(revisions)))


def release_content(deps: ContentDeps, account_id: str, document_id: str) -> int:
    """Gives up the bytes that a document has no more, and makes the oldest of their copies whole: that one is
    processed, the others become copies of it. Returns how many copies were handed over.

    For a document that goes these are all its bytes; for one that published another content, all but that.
    Repeating it does no harm.
    """
    store = deps.store.of(account_id)
    document = store.get(DOCUMENTS, document_id)
    kept: str | None = None
    if document is not None and document.status is not DocumentStatus.DELETING:
        published = document.published
        if published is None or published.revision < document.latest_revision:
            return 0  # what is on its way may hold a claim of its own; its publication comes back here
        kept = document.sha256
    # The claims first: from then on nothing new becomes a copy of this document.
    drop_claims(store, document_id, kept)
    where = (("duplicate_of", "==", document_id),)
    copies = store.every(DOCUMENTS, Query(where=where, order_by="created_at"))
    waiting = [copy.id for copy in copies if copy.sha256 != kept]
    for start in range(0, len(waiting), _BATCH):
        batch = waiting[start : start + _BATCH]
        now = deps.clock.now()
        heirs = store.transact(partial(_hand_over, document_id=document_id, copy_ids=batch, now=now))
        for heir in heirs:
            deps.queue.enqueue(advance_task(RevisionRef(account_id, heir.id, heir.latest_revision)))
        store.transact(partial(_detach, document_id=document_id, heir_ids=[heir.id for heir in heirs]))
    return len(waiting)


def advance_task(ref: RevisionRef) -> Task:
    """The call that takes a revision on towards the index."""
    return Task(
        "/advance", {"account": ref.account_id, "document": ref.document_id, "revision": ref.revision}
    )


def drop_claims(store: AccountStore, document_id: str, kept: str | None = None) -> None:
    """The document holds no bytes any more, but for those with the SHA-256 `kept`."""
    claims = store.every(CONTENTS, Query(where=(("document_id", "==", document_id),)))
    ids = [claim.id for claim in claims if claim.sha256 != kept]

    def body(tx: Transaction) -> None:
        for claim in tx.get_many(CONTENTS, ids).values():
            if claim.document_id == document_id:
                tx.delete(CONTENTS, claim.id)

    if ids:
        store.transact(body)


def _hand_over(
    tx: Transaction, *, document_id: str, copy_ids: Sequence[str], now: datetime
) -> tuple[Document, ...]:
    """Finds each copy the document that stands for it now; returns those copies that stand for themselves.

    These still name the document they came from until their work is enqueued: a repeat after a crash finds
    them by it.
    """
    found = tx.get_many(DOCUMENTS, copy_ids)
    mine = [found[name] for name in copy_ids if name in found and found[name].duplicate_of == document_id]
    copies = [document for document in mine if document.status is DocumentStatus.DUPLICATE]
    heirs = [document for document in mine if document.status is not DocumentStatus.DUPLICATE]
    holders: dict[str, str] = {}
    for copy in copies:
        if copy.sha256 is not None and copy.sha256 not in holders:
            holder = holder_of(tx, copy.knowledge_base_id, copy.sha256)
            holders[copy.sha256] = copy.id if holder is None else holder.id
    for copy in copies:
        holder_id = copy.id if copy.sha256 is None else holders[copy.sha256]
        if holder_id != copy.id:
            tx.put(DOCUMENTS, replace(copy, duplicate_of=holder_id, updated_at=now))
            continue
        heirs.append(start_over(copy, now))
        tx.put(DOCUMENTS, heirs[-1])
        if copy.sha256 is not None:
            tx.put(CONTENTS, _claim(copy, copy.sha256))
    return tuple(heirs)


def _detach(tx: Transaction, *, document_id: str, heir_ids: Sequence[str]) -> None:
    """Their work is enqueued: they stand for themselves."""
    for heir in tx.get_many(DOCUMENTS, heir_ids).values():
        if heir.duplicate_of == document_id and heir.status is not DocumentStatus.DUPLICATE:
            tx.put(DOCUMENTS, replace(heir, duplicate_of=None))


def start_over(document: Document, now: datetime) -> Document:
    """The document with its latest revision to be processed from the start. `duplicate_of` stays."""
    return replace(
        document,
        status=DocumentStatus.UPLOADED,
        settled_revision=document.latest_revision - 1,
        work=None,
        attempts=0,
        error=None,
        progress=Progress(),
        updated_at=now,
    )
