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
class Asked:
    """What the call names: documents (explicit), knowledge bases (attached), and whether automatic context
    joins them."""

    document_ids: tuple[str, ...] = ()
    knowledge_base_ids: tuple[str, ...] = ()
    auto_context: bool = True


@dataclass(frozen=True, slots=True)
class Scope:
    """Entries in order of tier, and the records of their knowledge bases as read just now."""

    entries: tuple[ScopeEntry, ...]
    knowledge_bases: Mapping[str, KnowledgeBase]


def resolve_scope(store: AccountStore, caller: Caller, asked: Asked) -> Scope:
    """Reads the records and decides. Raises `NotFoundError` for a document id that does not exist, or that
    the caller may not see; an attached knowledge base that the caller may not see drops out silently."""
    documents = _documents(store, asked.document_ids)
    named = [*(d.knowledge_base_id for d in documents), *filter(is_id, asked.knowledge_base_ids)]
    bases = store.get_many(KNOWLEDGE_BASES, named) if named else {}
    for document in documents:
        base = bases.get(document.knowledge_base_id)
        if base is None or not _reachable(base, caller):
            raise _no_such_document(document.id)
    automatic = _automatic(store) if asked.auto_context else []
    bases |= {base.id: base for base in automatic}
    entries = _entries(documents, asked.knowledge_base_ids, automatic)
    kept = tuple(e for e in entries if _searchable(bases.get(e.knowledge_base_id), caller))
    return Scope(kept, {e.knowledge_base_id: bases[e.knowledge_base_id] for e in kept})


def _documents(store: AccountStore, ids: Sequence[str]) -> list[Document]:
    for name in ids:
        if not is_id(name):
            raise _no_such_document(name)
    found = store.get_many(DOCUMENTS, ids) if ids else {}
    for name in ids:
        if name not in found or found[name].status is DocumentStatus.DELETING:
            raise _no_such_document(name)
    return [found[name] for name in dict.fromkeys(ids)]


def _automatic(store: AccountStore) -> list[KnowledgeBase]:
    query = Query(where=(("is_auto_context", "==", True), ("active", "==", True)))
    return list(store.every(KNOWLEDGE_BASES, query))


def _entries(
    documents: Sequence[Document], attached: Sequence[str], automatic: Sequence[KnowledgeBase]
) -> list[ScopeEntry]:
    """One entry a knowledge base: the first tier that applies. Explicit documents narrow their knowledge base
    only when no later tier brings all of it."""
    whole: dict[str, ScopeEntry] = {}
    for name in attached:
        whole.setdefault(name, ScopeEntry(name, Tier.ATTACHED, "attached to this call"))
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


def _searchable(base: KnowledgeBase | None, caller: Caller) -> bool:
    return base is not None and base.type is KnowledgeBaseType.FILES and _reachable(base, caller)


def _reachable(base: KnowledgeBase, caller: Caller) -> bool:
    return base.active and not base.deleting and caller.reaches(base.department_ids)


def _no_such_document(document_id: str) -> NotFoundError:
    return NotFoundError(f"There is no document {document_id}.")
