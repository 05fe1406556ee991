"""How a revision becomes what readers see, and how a document stops being it.

Publishers of one knowledge base all change the same manifest. So each leaves a small pending row first, and
whoever gets the transaction folds up to fifty of them into one change: a hundred documents that finish at
once cost a few commits, not a hundred that collide.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from shared.domain.errors import AlmanacError, NotFoundError, TransientError
from shared.domain.knowledge import Document, DocumentStatus, KnowledgeBase
from shared.index.manifest import MANIFESTS, Change, Manifest, dump, load, with_publication, with_removal
from shared.index.publication import PENDING, Pending, Publication, is_published, is_void, published, refusal
from shared.index.segment import SEGMENTS, Segment, SegmentRef, owner_of
from shared.ports import AccountStore, Clock, Query, Transaction
from shared.records import DOCUMENTS, KNOWLEDGE_BASES

FOLD_LIMIT = 50
_TRIES = 5


def write_segments(store: AccountStore, segments: Sequence[Segment]) -> tuple[SegmentRef, ...]:
    """Stores them; nobody sees them until they are published. Their ids derive from their content, so a
    repeat replaces like with like."""
    store.put_many(SEGMENTS, segments)
    return tuple(segment.ref for segment in segments)


def publish(store: AccountStore, clock: Clock, publication: Publication) -> Document:
    """Makes the revision the one that readers see, whole, and returns the document.

    Publishing twice does no harm. Raises `LeaseLostError` when the work was taken over or a newer revision
    came, `NotFoundError` when the document is deleted, `TransientError` when too many others publish.
    """

    for _ in range(_TRIES):
        document = _queue(store, publication)
        if document is not None:
            _drop_unlisted(store, publication)
            return document
        document = _folded(store, clock, publication)
        if document is not None:
            return document
        knowledge_base = store.get(KNOWLEDGE_BASES, publication.knowledge_base_id)
        if knowledge_base is None or knowledge_base.deleting:
            raise NotFoundError(f"The knowledge base {publication.knowledge_base_id} is deleted.")
    raise TransientError(f"Document {publication.document_id} was not folded in {_TRIES} tries.")


def _folded(store: AccountStore, clock: Clock, publication: Publication) -> Document | None:
    """The document once our row is folded, by us or, when others are quicker, by them."""
    with suppress(TransientError):
        for changed in fold(store, clock, publication.knowledge_base_id, first=publication.document_id):
            if changed.id == publication.document_id:
                return changed
    document = store.get(DOCUMENTS, publication.document_id)
    return document if is_published(publication, document) else None


def _queue(store: AccountStore, publication: Publication) -> Document | None:
    """Leaves the pending row; returns the document when there is nothing left to do."""

    def body(tx: Transaction) -> Document | AlmanacError | None:
        document = tx.get(DOCUMENTS, publication.document_id)
        if is_published(publication, document):
            return document
        refused = refusal(publication, document)
        if refused is None:
            tx.put(PENDING, Pending(publication.document_id, publication.knowledge_base_id, publication))
        return refused

    found = store.transact(body)
    if isinstance(found, AlmanacError):
        if is_void(publication, store.get(DOCUMENTS, publication.document_id)):
            store.delete_many(SEGMENTS, [ref.id for ref in publication.segments])
        raise found
    return found


def _drop_unlisted(store: AccountStore, publication: Publication) -> None:
    """Others published it before us. If its segments have been merged since, ours came too late for anybody:
    no manifest ever lists them again."""
    names = [ref.id for ref in publication.segments]

    def body(tx: Transaction) -> None:
        manifest = load(tx.get(MANIFESTS, publication.knowledge_base_id))
        for name in names:
            if not manifest.holds([name]):
                tx.delete(SEGMENTS, name)

    store.transact(body)


def fold(
    store: AccountStore, clock: Clock, knowledge_base_id: str, *, first: str | None = None
) -> tuple[Document, ...]:
    """Publishes up to fifty pending rows of the knowledge base in one transaction, the document `first` among
    them. Rows whose work was taken over, or whose document is deleted, are dropped. Returns the
    documents that readers see from now on."""
    # The rows are found outside of the transaction: a row that comes meanwhile must not make it start over.
    where = (("knowledge_base_id", "==", knowledge_base_id),)
    waiting = [row.id for row in store.find(PENDING, Query(where=where, limit=FOLD_LIMIT)).items]
    wanted = list(dict.fromkeys([*([first] if first else []), *waiting]))[:FOLD_LIMIT]
    if not wanted:
        return ()
    return store.transact(lambda tx: _fold(tx, clock.now(), knowledge_base_id, wanted))


def _fold(
    tx: Transaction, now: datetime, knowledge_base_id: str, wanted: Sequence[str]
) -> tuple[Document, ...]:
    index = _Index.read(tx, knowledge_base_id)
    rows = tx.get_many(PENDING, wanted)
    documents = tx.get_many(DOCUMENTS, list(rows))
    changed: list[Document] = []
    for name, row in sorted(rows.items()):
        document = documents.get(name)
        if document is None or index is None or refusal(row.publication, document) is not None:
            continue
        earlier = document.published.segments if document.published else {}
        publication = row.publication
        index.apply(
            with_publication(index.manifest, name, publication.revision, publication.segments, earlier)
        )
        changed.append(published(document, publication, now))
    if index is not None and changed:
        index.write(tx)
    for document in changed:
        tx.put(DOCUMENTS, document)
    for name in rows:
        tx.delete(PENDING, name)
    return tuple(changed)


def remove(store: AccountStore, clock: Clock, document: Document) -> Document | None:
    """Takes the document out of what readers see, for good, and marks it as being deleted; from the commit on
    no query shows it and no worker can publish it. Repeating it does no harm.

    Returns the document as it is now; None when its record is gone.
    """

    def body(tx: Transaction) -> Document | None:
        index = _Index.read(tx, document.knowledge_base_id)
        current = tx.get(DOCUMENTS, document.id)
        if current is None:
            return None
        gone = replace(current, status=DocumentStatus.DELETING, work=None, published=None)
        if gone == current:
            return current
        gone = replace(gone, updated_at=clock.now())
        if index is not None and current.published is not None:
            index.apply(with_removal(index.manifest, current.id, current.published.segments))
            index.write(tx)
        tx.put(DOCUMENTS, gone)
        tx.delete(PENDING, current.id)
        return gone

    return store.transact(body)


def drop_segments(store: AccountStore, document_id: str, *, below: int | None = None) -> int:
    """Deletes the segments that were written for revisions below `below` (None: for any) of a document and
    that nobody reads: what a worker left that died or lost its lease. Returns how many.

    Only for revisions that are not, and never will be, published: below the published one, or all of a
    document that is deleted.
    """
    end = owner_of(document_id, below) if below is not None else f"{document_id};"  # the next after ":"
    where = (("owner", ">=", f"{document_id}:"), ("owner", "<", end))
    names = [segment.id for segment in store.every(SEGMENTS, Query(where=where, order_by="owner"))]
    store.delete_many(SEGMENTS, names)
    return len(names)


def drop_index(store: AccountStore, knowledge_base_id: str) -> int:
    """Deletes everything that search keeps of a knowledge base that is deleted; returns how many segments."""
    record = store.get(MANIFESTS, knowledge_base_id)
    names = [ref.id for ref in load(record).segments]
    store.delete_many(SEGMENTS, names)
    store.delete_many(MANIFESTS, [knowledge_base_id])
    where = (("knowledge_base_id", "==", knowledge_base_id),)
    store.delete_many(PENDING, [row.id for row in store.every(PENDING, Query(where=where))])
    left = [segment.id for segment in store.every(SEGMENTS, Query(where=where))]
    store.delete_many(SEGMENTS, left)
    return len(names) + len(left)


@dataclass
class _Index:
    """The manifest and the knowledge base's record in a transaction, and the segments to delete with it."""

    knowledge_base: KnowledgeBase
    manifest: Manifest
    dropped: list[str]

    @classmethod
    def read(cls, tx: Transaction, knowledge_base_id: str) -> _Index | None:
        """None when the knowledge base is deleted."""
        knowledge_base = tx.get(KNOWLEDGE_BASES, knowledge_base_id)
        if knowledge_base is None or knowledge_base.deleting:
            return None
        return cls(knowledge_base, load(tx.get(MANIFESTS, knowledge_base_id)), [])

    def apply(self, change: Change) -> None:
        self.manifest = change.manifest
        self.dropped += change.dropped

    def write(self, tx: Transaction) -> None:
        """One more version: whoever reads the knowledge base's record from now on reads this manifest."""
        version = self.knowledge_base.index_version + 1
        tx.put(KNOWLEDGE_BASES, replace(self.knowledge_base, index_version=version))
        tx.put(MANIFESTS, dump(self.knowledge_base.id, replace(self.manifest, version=version)))
        for name in self.dropped:
            tx.delete(SEGMENTS, name)
