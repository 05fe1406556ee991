"""Knowledge bases with made-up passages on a real record store, for tests of the index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from shared.domain.knowledge import (
    Coverage,
    Document,
    DocumentStatus,
    KnowledgeBase,
    KnowledgeBaseType,
    Source,
    SourceKind,
    Work,
)
from shared.index.cache import IndexCache, ScopeItem
from shared.index.publication import Publication
from shared.index.publish import publish, write_segments
from shared.index.resolve import Question, Resolved, search
from shared.index.segment import Segment, SegmentRef, pack
from shared.ports import AccountStore, Transaction
from shared.records import DOCUMENTS, KNOWLEDGE_BASES
from tests.unit.index_passages import FINGERPRINT, passage, unit

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


class StillClock:
    def now(self) -> datetime:
        return START


CLOCK = StillClock()


def add_knowledge_base(store: AccountStore, name: str = "kb", *, index_version: int = 0) -> KnowledgeBase:
    made = KnowledgeBase(
        id=name,
        name=name,
        name_key=name,
        type=KnowledgeBaseType.FILES,
        description="",
        category=None,
        department_ids=(),
        is_auto_context=False,
        active=True,
        index_version=index_version,
        created_at=START,
        updated_at=START,
    )
    store.create(KNOWLEDGE_BASES, made)
    return made


def new_document(name: str = "doc", knowledge_base_id: str = "kb") -> Document:
    return Document(
        id=name,
        knowledge_base_id=knowledge_base_id,
        title=name,
        source=Source(SourceKind.UPLOAD, f"{name}.txt"),
        status=DocumentStatus.UPLOADED,
        latest_revision=1,
        object_name=f"{name}/1",
        created_at=START,
        updated_at=START,
    )


def claimed(document: Document, revision: int) -> Document:
    """The document with work on a revision, as a worker's claim leaves it."""
    token = document.next_token
    return replace(
        document,
        latest_revision=revision,
        status=DocumentStatus.EMBEDDING,
        work=Work(revision, token, START + timedelta(minutes=2), 1),
        next_token=token + 1,
    )


def claim(
    store: AccountStore, name: str = "doc", revision: int = 1, knowledge_base_id: str = "kb"
) -> Document:
    """Claims a revision of a document; makes the document when it is not there."""

    def body(tx: Transaction) -> Document:
        found = tx.get(DOCUMENTS, name) or new_document(name, knowledge_base_id)
        document = claimed(found, revision)
        tx.put(DOCUMENTS, document)
        return document

    return store.transact(body)


def segments_of(document: Document, texts: Sequence[str], parts: int = 1) -> list[Segment]:
    """Segments of the claimed revision; passages are named by document, revision and place."""
    revision = document.latest_revision
    made = [
        passage(f"{document.id}/{revision}/{n}", document.id, revision, text=text, vector=(1.0, n + 1.0))
        for n, text in enumerate(texts)
    ]
    size = -(-len(made) // parts) if made else 1
    return [
        segment
        for start in range(0, len(made), size)
        for segment in pack(made[start : start + size], document.knowledge_base_id, FINGERPRINT)
    ]


def publication_of(document: Document, segments: Sequence[SegmentRef]) -> Publication:
    if document.work is None:
        raise ValueError(f"{document.id} is not claimed")
    return Publication(
        knowledge_base_id=document.knowledge_base_id,
        document_id=document.id,
        revision=document.latest_revision,
        token=document.work.token,
        fingerprint=f"chunks-1/{FINGERPRINT}",
        chunks=1,
        passages=sum(ref.rows for ref in segments),
        segments=tuple(segments),
        status=DocumentStatus.READY,
        sha256="0" * 64,
        text_sha256="1" * 64,
        bytes=10,
        characters=10,
        language="en",
        coverage=Coverage("section", 1, 1),
    )


def put_in(
    store: AccountStore,
    name: str = "doc",
    revision: int = 1,
    texts: Sequence[str] = ("alpha",),
    *,
    knowledge_base_id: str = "kb",
    parts: int = 1,
) -> Document:
    """Claims, writes and publishes a revision."""
    document = claim(store, name, revision, knowledge_base_id)
    refs = write_segments(store, segments_of(document, texts, parts))
    return publish(store, CLOCK, publication_of(document, refs))


def ask(
    cache: IndexCache,
    store: AccountStore,
    text: str,
    *knowledge_base_ids: str,
    only: frozenset[str] | None = None,
) -> Resolved:
    """Reads the knowledge bases, as every question does first, and searches them."""
    bases = store.get_many(KNOWLEDGE_BASES, knowledge_base_ids or ("kb",))
    items = [ScopeItem(base, only) for base in bases.values() if not base.deleting]
    return search(cache, store, items, Question(text, unit([1.0, 1.0]), FINGERPRINT, 100, CLOCK.now()))


def shown(resolved: Resolved) -> set[str]:
    return {hit.passage_id for hit in resolved.found.hits}
