"""Search that holds up against what happens meanwhile: the documents of the best hits are read and decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum

import numpy as np
import numpy.typing as npt

from shared.domain.errors import TransientError
from shared.domain.knowledge import Document
from shared.domain.validity import is_future, is_past
from shared.index.cache import IndexCache, ScopeItem
from shared.index.search import Found, Hit
from shared.index.terms import QueryTerm, query_terms
from shared.ports import AccountStore
from shared.records import DOCUMENTS, KNOWLEDGE_BASES

# How often the index is read again because a hit's document has a newer revision.
_RELOADS = 8


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """`vector` is float32 of length 1, made by the model that `fingerprint` names; None: by words only. `at`
    is the time whose knowledge is asked for; with `past` what was in effect before is found as well."""

    text: str
    vector: npt.NDArray[np.float32] | None
    fingerprint: str
    limit: int
    at: datetime
    past: bool = False


@dataclass(frozen=True, slots=True)
class Resolved:
    """Hits whose documents are readable now, in the revision that was hit, and those documents by id."""

    found: Found
    terms: tuple[QueryTerm, ...]
    documents: Mapping[str, Document]


def search(
    cache: IndexCache, store: AccountStore, items: Sequence[ScopeItem], question: Question
) -> Resolved:
    """Searches the scope, whose knowledge bases were read after the question came.

    Nothing published before then is missed, nothing deleted before then is shown: a hit of a document that is
    deleted, not in effect yet or (unless asked for) of the past gives way to the next best, and a hit of a
    revision that has been replaced makes the index be read again. What changes while the question runs may be
    seen or not. Raises `TransientError` when the store fails or revisions follow one another faster than they
    can be read.
    """
    excluded: set[str] = set()
    reloads = 0
    while True:
        scope = cache.scope(store, items)
        terms = query_terms(question.text, scope.languages)
        found = scope.search(
            question.vector,
            terms,
            fingerprint=question.fingerprint,
            limit=question.limit,
            exclude=excluded,
        )
        documents = store.get_many(DOCUMENTS, list({hit.document_id: None for hit in found.hits}))
        in_effect = _in_effect(store, documents, question)
        states = [_state(hit, documents, in_effect) for hit in found.hits]
        if _State.STALE in states:
            reloads += 1
            if reloads > _RELOADS:
                raise TransientError(f"Documents in scope were replaced during each of {_RELOADS} searches.")
            items = _read_again(store, items)
        elif _State.GONE in states:
            excluded |= {
                hit.document_id for hit, state in zip(found.hits, states, strict=True) if state is _State.GONE
            }
        else:
            return Resolved(found, terms, documents)


class _State(Enum):
    CURRENT = "current"
    GONE = "gone"
    STALE = "stale"


def _in_effect(store: AccountStore, documents: Mapping[str, Document], question: Question) -> frozenset[str]:
    """Which of the documents count for the question."""
    newer = {d.superseded_by: None for d in documents.values() if d.superseded_by is not None}
    successors = store.get_many(DOCUMENTS, list(newer)) if newer and not question.past else {}
    return frozenset(
        document.id
        for document in documents.values()
        if not is_future(document, question.at)
        and (
            question.past or not is_past(document, successors.get(document.superseded_by or ""), question.at)
        )
    )


def _state(hit: Hit, documents: Mapping[str, Document], in_effect: frozenset[str]) -> _State:
    document = documents.get(hit.document_id)
    if document is None or document.published is None or not document.live:
        return _State.GONE
    if document.published.revision != hit.revision:
        return _State.STALE
    return _State.CURRENT if document.id in in_effect else _State.GONE


def _read_again(store: AccountStore, items: Sequence[ScopeItem]) -> list[ScopeItem]:
    """The same scope with the knowledge bases as they are now, without those that are gone."""
    found = store.get_many(KNOWLEDGE_BASES, [item.knowledge_base.id for item in items])
    return [
        replace(item, knowledge_base=current)
        for item in items
        if (current := found.get(item.knowledge_base.id)) is not None and not current.deleting
    ]
