"""From the ids that an answer cites to citations that can be stored and shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shared.domain.conversation import Citation, ContextItem
from shared.domain.retrieval import Retrieval, RetrievedPassage, RetrievedSummary

Found = RetrievedPassage | RetrievedSummary


def found_by_id(retrieval: Retrieval) -> Mapping[str, Found]:
    """What may be cited: the passages, or the summaries that stand in for them."""
    every: tuple[Found, ...] = (*retrieval.passages, *retrieval.summaries)
    return {one.id: one for one in every}


def citations(cited: Iterable[str], retrieval: Retrieval) -> tuple[Citation, ...]:
    """One citation an id, numbered from 1 in the order given. Every id is one that retrieval found."""
    found = found_by_id(retrieval)
    return tuple(_citation(n, found[name]) for n, name in enumerate(cited, start=1))


def context_items(retrieval: Retrieval, sent: Iterable[str]) -> tuple[ContextItem, ...]:
    """What stood in the prompt, with the scores that brought it there."""
    found = found_by_id(retrieval)
    return tuple(_item(found[name]) for name in sent)


def _citation(n: int, found: Found) -> Citation:
    return Citation(
        n=n,
        passage_id=found.id,
        document_id=found.document_id,
        knowledge_base_id=found.knowledge_base_id,
        chunk_id=_chunk_id(found),
        title=found.title,
        heading_path=found.heading_path,
        pages=found.pages,
        quote=found.text,
        version=found.version,
        is_summary=isinstance(found, RetrievedSummary),
        url=found.url,
    )


def _item(found: Found) -> ContextItem:
    passage = found if isinstance(found, RetrievedPassage) else None
    return ContextItem(
        passage_id=found.id,
        document_id=found.document_id,
        knowledge_base_id=found.knowledge_base_id,
        chunk_id=_chunk_id(found),
        version=found.version,
        tokens=found.tokens,
        score=found.score,
        similarity=passage.similarity if passage else 0.0,
        lexical=passage.lexical if passage else 0.0,
        is_summary=passage is None,
    )


def _chunk_id(found: Found) -> str:
    return found.chunk_id if isinstance(found, RetrievedPassage) else found.id
