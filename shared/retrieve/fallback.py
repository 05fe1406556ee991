"""When no passage passes the minimum: the summaries of the nearest chunks, which say what there is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shared.domain.knowledge import Document
from shared.domain.retrieval import RetrievedSummary
from shared.domain.text import StoredChunk
from shared.ports import TokenCounter
from shared.retrieve.fuse import Ranked
from shared.retrieve.policy import Policy


def best_summaries(
    policy: Policy,
    ranked: Iterable[Ranked],
    documents: Mapping[str, Document],
    chunks: Mapping[str, StoredChunk],
    count_tokens: TokenCounter,
) -> tuple[RetrievedSummary, ...]:
    """The summaries of the best chunks, at most as many and as long as the policy allows."""
    summaries: dict[str, RetrievedSummary] = {}
    tokens = 0
    for r in ranked:
        chunk = chunks.get(r.hit.chunk_id)
        if chunk is None or chunk.id in summaries:
            continue
        if len(summaries) >= policy.fallback_chunks:
            break
        cost = count_tokens(chunk.summary)
        if tokens + cost > policy.max_tokens:
            continue
        tokens += cost
        summaries[chunk.id] = RetrievedSummary(
            id=chunk.id,
            document_id=r.hit.document_id,
            knowledge_base_id=r.hit.knowledge_base_id,
            version=r.hit.revision,
            title=documents[r.hit.document_id].title,
            heading_path=r.hit.heading_path,
            pages=r.hit.pages,
            text=chunk.summary,
            score=r.score,
            tokens=cost,
            url=documents[r.hit.document_id].source.url,
        )
    return tuple(summaries.values())
