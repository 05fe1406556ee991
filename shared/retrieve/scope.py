"""Which knowledge a caller's question may reach: explicit, attached and automatic, merged in this order.

Departments decide here, before anything is searched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shared.domain.accounts import Caller
from shared.domain.errors import NotFoundError
from shared.domain.ids import is_id
from shared.domain.knowledge import Document, DocumentStatus, KnowledgeBase, KnowledgeBaseType
from shared.domain.retrieval import ScopeEntry, Tier
from shared.ports import AccountStore, Query
from shared.records import DOCUMENTS, KNOWLEDGE_BASES


@dataclass(frozen=True, slots=True)
class Attachment:
    """A knowledge base that something brings along; `reason` says what."""

    knowledge_base_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What the call names: documents (explicit), knowledge bases (attached), and whether automatic context
    joins them.

    `attached` come with the agent, the space or the thread. With `narrowed` only named documents are
    searched, `narrow_to` among them: of these the ones that are gone or not the caller's are passed over.
    """

    document_ids: tuple[str, ...] = ()
    knowledge_base_ids: tuple[str, ...] = ()
    auto_context: bool = True
    attached: tuple[Attachment, ...] = ()
    narrowed: bool = False
    narrow_to: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scope:
    """`entries` are searched, in order of tier; `whole` are of all knowledge bases in scope, also those that
    travel inline, whatever the search is narrowed to. `knowledge_bases` are their records as read now."""

    entries: tuple[ScopeEntry, ...]
    knowledge_bases: Mapping[str, KnowledgeBase]
    whole: tuple[ScopeEntry, ...] = ()


def resolve_scope(store: AccountStore, caller: Caller, asked: Asked) -> Scope:
    """Reads the records and decides. Raises `NotFoundError` for a document id that does not exist, or that
    the caller may not see; an attached knowledge base that the caller may not see drops out silently."""
    documents = _documents(store, asked.document_ids)
    narrow = _still_there(store, asked.narrow_to)
    called = [Attachment(name, "attached to this call") for name in asked.knowledge_base_ids]
    attached = [one for one in (*called, *asked.attached) if is_id(one.knowledge_base_id)]
    named = [d.knowledge_base_id for d in (*documents, *narrow)] + [one.knowledge_base_id for one in attached]
    bases = store.get_many(KNOWLEDGE_BASES, named) if named else {}
    for document in documents:
        base = bases.get(document.knowledge_base_id)
        if base is None or not _reachable(base, caller):
            raise _no_such_document(document.id)
    automatic = _automatic(store) if asked.auto_context else []
    bases |= {base.id: base for base in automatic}
    reachable = {name: base for name, base in bases.items() if _reachable(base, caller)}
    whole = tuple(e for e in _entries(documents, attached, automatic) if e.knowledge_base_id in reachable)
    searched = _entries((*documents, *narrow), [], []) if asked.narrowed else whole
    entries = tuple(e for e in searched if _searchable(reachable.get(e.knowledge_base_id)))
    return Scope(entries, reachable, whole)


def _documents(store: AccountStore, ids: Sequence[str]) -> list[Document]:
    for name in ids:
        if not is_id(name):
            raise _no_such_document(name)
    found = store.get_many(DOCUMENTS, ids) if ids else {}
    for name in ids:
        if name not in found or found[name].status is DocumentStatus.DELETING:
            raise _no_such_document(name)
    return [found[name] for name in dict.fromkeys(ids)]


def _still_there(store: AccountStore, ids: Sequence[str]) -> list[Document]:
    found = store.get_many(DOCUMENTS, list(filter(is_id, ids))) if ids else {}
    return [document for document in found.values() if document.status is not DocumentStatus.DELETING]


def _automatic(store: AccountStore) -> list[KnowledgeBase]:
    query = Query(where=(("is_auto_context", "==", True), ("active", "==", True)))
    return list(store.every(KNOWLEDGE_BASES, query))


def _entries(
    documents: Sequence[Document], attached: Sequence[Attachment], automatic: Sequence[KnowledgeBase]
) -> list[ScopeEntry]:
    """One entry a knowledge base: the first tier that applies. Explicit documents narrow their knowledge base
    only when no later tier brings all of it."""
    whole: dict[str, ScopeEntry] = {}
    for one in attached:
        name = one.knowledge_base_id
        whole.setdefault(name, ScopeEntry(name, Tier.ATTACHED, one.reason))
    for base in automatic:
        reason = (
            "automatic context of the caller's departments" if base.department_ids else "automatic context"
        )
        whole.setdefault(base.id, ScopeEntry(base.id, Tier.AUTO, reason))
    explicit: dict[str, set[str]] = {}
    for document in documents:
        explicit.setdefault(document.knowledge_base_id, set()).add(document.id)
    named = [_explicit_entry(base_id, ids, whole.pop(base_id, None)) for base_id, ids in explicit.items()]
    return [*named, *whole.values()]


def _explicit_entry(base_id: str, ids: set[str], whole: ScopeEntry | None) -> ScopeEntry:
    if whole is None:
        return ScopeEntry(base_id, Tier.EXPLICIT, "documents named by this call", frozenset(ids))
    return ScopeEntry(base_id, Tier.EXPLICIT, f"documents named by this call; all of it: {whole.reason}")


def _searchable(base: KnowledgeBase | None) -> bool:
    return base is not None and base.type is KnowledgeBaseType.FILES


def _reachable(base: KnowledgeBase, caller: Caller) -> bool:
    return base.active and not base.deleting and caller.reaches(base.department_ids)


def _no_such_document(document_id: str) -> NotFoundError:
    return NotFoundError(f"There is no document {document_id}.")
