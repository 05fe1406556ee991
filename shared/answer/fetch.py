"""Reading on from what a search found: a document by the page, the section around a passage, or records."""

from __future__ import annotations

from dataclasses import dataclass

from shared.answer.files import FilesDeps, document_text
from shared.domain.accounts import Caller
from shared.library.documents import get_document
from shared.library.inline import is_inline, read_inline
from shared.library.knowledge_bases import get_knowledge_base
from shared.library.readings import read_passage, require_published
from shared.records import CHUNKS
from shared.tenancy.authorize import not_found

# Characters of one page of a document: about 10,000 tokens of English.
PAGE = 40_000


@dataclass(frozen=True, slots=True)
class Reading:
    """`next_offset` is where the rest of a document goes on; None at its end."""

    id: str
    title: str
    text: str
    document_id: str | None = None
    knowledge_base_id: str | None = None
    heading_path: tuple[str, ...] = ()
    version: int | None = None
    total_characters: int | None = None
    next_offset: int | None = None


def read_on(deps: FilesDeps, caller: Caller, name: str, offset: int = 0) -> Reading:
    """`name` is `doc_…` (from `offset` on), `doc_…:psg_…` or `kb_…` (of a form or page). Raises
    `NotFoundError`, also for what is not active."""
    document_id, colon, passage_id = name.partition(":")
    if colon:
        return _section(deps, caller, document_id, passage_id)
    if name.startswith("kb_"):
        return _records(deps, caller, name)
    document, text = document_text(deps, caller, name)
    end = offset + PAGE
    return Reading(
        id=name,
        title=document.title,
        text=text[offset:end],
        document_id=document.id,
        knowledge_base_id=document.knowledge_base_id,
        version=require_published(document).revision,
        total_characters=len(text),
        next_offset=end if end < len(text) else None,
    )


def _section(deps: FilesDeps, caller: Caller, document_id: str, passage_id: str) -> Reading:
    store = deps.store.of(caller.account_id)
    document = get_document(store, caller, document_id)
    if not get_knowledge_base(store, caller, document.knowledge_base_id).active:
        raise not_found(f"document {document_id}")
    passage = read_passage(store, document, passage_id)
    chunk = store.get(CHUNKS, passage.chunk_id)
    if chunk is None:
        raise not_found(f"passage {passage_id} in document {document_id}")
    return Reading(
        id=f"{document_id}:{passage_id}",
        title=document.title,
        text=chunk.text,
        document_id=document_id,
        knowledge_base_id=document.knowledge_base_id,
        heading_path=passage.heading_path,
        version=require_published(document).revision,
    )


def _records(deps: FilesDeps, caller: Caller, knowledge_base_id: str) -> Reading:
    store = deps.store.of(caller.account_id)
    base = get_knowledge_base(store, caller, knowledge_base_id)
    if not is_inline(base) or not base.active:
        raise not_found(f"form or page {knowledge_base_id}")
    text = read_inline(store, base)
    return Reading(knowledge_base_id, base.name, text, knowledge_base_id=base.id)
