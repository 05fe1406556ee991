"""The product's own path over a judged set: chunk, passages, embed, publish and retrieve on an embedded
Firestore.

Each document of the corpus is a Markdown document with its title as headings (`A > B` names a path).
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from emulators.firestore.server import FirestoreEmulator
from shared.adapters.firestore.store import FirestoreStore, connect
from shared.adapters.tokens import count_tokens
from shared.domain.accounts import Caller, Permission, Plan
from shared.domain.ids import content_id
from shared.domain.knowledge import Coverage, Document
from shared.domain.text import Extraction
from shared.index.cache import IndexCache
from shared.ingest.chunk import chunk
from shared.ingest.claim import Lease
from shared.ingest.extract.language import detect_language
from shared.ingest.passages import embedding_text, passages
from shared.ingest.publish import Content, publish_content
from shared.ports import AccountStore, Embedder, Summarizer, TokenCounter
from shared.records import DOCUMENTS
from shared.retrieve.flow import RetrieveRequest, retrieve
from shared.retrieve.policy import Limits, PolicyName
from shared.retrieve.scope import Asked
from tests.bench.rankings import JudgedSet, Text
from tests.flows.index_library import CLOCK, StillClock, add_knowledge_base, claimed, new_document
from tests.flows.workbench import ScriptedSummarizer

_CACHE_BYTES = 1 << 30
_BULK = 200
# Enough for ten documents, whatever their passages weigh; no minimum, since a ranking is to be judged.
_LIMITS = Limits(minimum=-1.0, max_passages=60, max_tokens=1_000_000)
_ACCOUNT = "bench"


@dataclass(frozen=True)
class Deps:
    store: FirestoreStore
    embedder: Embedder
    index: IndexCache = field(default_factory=lambda: IndexCache(_CACHE_BYTES))
    clock: StillClock = CLOCK
    summarizer: Summarizer = field(default_factory=ScriptedSummarizer)
    count_tokens: TokenCounter = count_tokens


def rankings(judged: JudgedSet, embedder: Embedder, say: Callable[[str], None]) -> list[list[str]]:
    """For every question the ids of the ten best documents, each by its first passage."""
    with FirestoreEmulator() as emulator:
        os.environ["FIRESTORE_EMULATOR_HOST"] = emulator.host
        client = connect(f"demo-{uuid.uuid4().hex[:12]}", "(default)")
        deps = Deps(FirestoreStore(client), embedder)
        names = _publish(deps, judged.corpus, say)
        found = [[names[name] for name in _documents(deps, question.text)] for question in judged.questions]
        client.close()
    return found


def _publish(deps: Deps, corpus: Sequence[Text], say: Callable[[str], None]) -> dict[str, str]:
    """Publishes all documents; returns which text each of them holds."""
    store = deps.store.of(_ACCOUNT)
    base = add_knowledge_base(store)
    documents = [_document(text, base.id) for text in corpus]
    for start in range(0, len(documents), _BULK):
        store.put_many(DOCUMENTS, documents[start : start + _BULK])
    for place, (document, text) in enumerate(zip(documents, corpus, strict=True)):
        if place and place % 500 == 0:
            say(f"{place} of {len(documents)} documents are published")
        _publish_one(deps, store, document, text)
    return {document.id: text.id for document, text in zip(documents, corpus, strict=True)}


def _document(text: Text, knowledge_base_id: str) -> Document:
    named = new_document(content_id("doc", text.id), knowledge_base_id)
    return claimed(replace(named, title=text.title or text.id), 1)


def _publish_one(deps: Deps, store: AccountStore, document: Document, text: Text) -> None:
    markdown = _markdown(text)
    extraction = Extraction(
        markdown, Coverage("section", 1, 1), title=text.title or None, language=detect_language(markdown)
    )
    chunks = chunk(document.id, extraction)
    profile = deps.embedder.profile
    windows = passages(
        document.id, chunks, pages=(), count_tokens=deps.count_tokens, max_tokens=profile.max_input_tokens
    )
    vectors = deps.embedder.passages([embedding_text(w.heading_path, w.text) for w in windows]).vectors
    publish_content(
        deps,
        store,
        Lease(store, deps.clock, 600, document),
        Content(
            sha256=document.id,
            size=len(markdown),
            extraction=extraction,
            chunks=chunks,
            summaries=dict.fromkeys((one.id for one in chunks), "-"),
            windows=windows,
            vectors=vectors,
        ),
    )


def _markdown(text: Text) -> str:
    path = [part.strip() for part in text.title.split(" > ") if part.strip()]
    headings = [f"{'#' * min(level, 6)} {part}" for level, part in enumerate(path, 1)]
    return "\n\n".join([*headings, text.text])


def _documents(deps: Deps, question: str) -> list[str]:
    caller = Caller(_ACCOUNT, Plan.PRO, "bench", frozenset(Permission), None)
    found = retrieve(
        deps,
        caller,
        RetrieveRequest(
            question, Asked(knowledge_base_ids=("kb",)), policy=PolicyName.MESSAGE, limits=_LIMITS
        ),
    )
    if found.detail:
        raise RuntimeError(found.detail)
    best = sorted(found.passages, key=lambda passage: -passage.score)
    return list(dict.fromkeys(passage.document_id for passage in best))[:10]
