"""From a question to the passages that answer it: scope, search, fuse, minimum, k and token budget."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from shared.domain.accounts import Caller
from shared.domain.errors import ModelUnavailableError, TransientError
from shared.domain.models import TokenUse
from shared.domain.retrieval import Dropped, Retrieval, RetrievalStatus, RetrievedPassage
from shared.domain.text import StoredChunk
from shared.index.cache import IndexCache, ScopeItem
from shared.index.resolve import Question, Resolved, search
from shared.index.search import Vector
from shared.ports import AccountStore, Clock, Embedder, Store, TokenCounter
from shared.records import CHUNKS
from shared.retrieve.evidence import judge
from shared.retrieve.fallback import best_summaries
from shared.retrieve.fuse import STRONG_LEXICAL_SHARE, Ranked, rank
from shared.retrieve.past import asks_for_past
from shared.retrieve.policy import POLICIES, Limits, Policy, PolicyName, limited, minimum
from shared.retrieve.scope import Asked, Scope, resolve_scope
from shared.retrieve.select import BELOW_MINIMUM, passes, select

log = logging.getLogger(__name__)

# Candidates by each of cosine and BM25, and how many of the fused ones are read with their text.
_CANDIDATES = 50
_READ = 24
_TRIES = 4


class RetrieveDeps(Protocol):
    """What retrieval needs of the container."""

    @property
    def store(self) -> Store: ...
    @property
    def index(self) -> IndexCache: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def embedder(self) -> Embedder: ...
    @property
    def count_tokens(self) -> TokenCounter: ...


@dataclass(frozen=True, slots=True)
class RetrieveRequest:
    """`scope` is what `asked` comes to, where that is known already."""

    query: str
    asked: Asked = field(default_factory=Asked)
    policy: PolicyName = PolicyName.RUN
    include_archived: bool = False
    scope: Scope | None = None
    limits: Limits = field(default_factory=Limits)


def retrieve(deps: RetrieveDeps, caller: Caller, request: RetrieveRequest) -> Retrieval:
    """What the caller's question finds, with every score and the reason for everything left out.

    Raises `NotFoundError` for an explicit document that the caller may not see. When the search itself
    fails, the status is `failed` and says why: a conversation goes on without it.
    """
    store = deps.store.of(caller.account_id)
    scope = request.scope or resolve_scope(store, caller, request.asked)
    if not scope.entries:
        return Retrieval(RetrievalStatus.EMPTY, request.query)
    use = TokenUse()
    try:
        embedded = deps.embedder.query(request.query)
        use = embedded.use
        found = _find(deps, store, scope, request, embedded.vectors[0])
    except (TransientError, ModelUnavailableError) as error:
        log.warning("retrieval failed", extra={"account_id": caller.account_id, "code": error.code})
        return Retrieval(
            RetrievalStatus.FAILED,
            request.query,
            scope=scope.entries,
            detail=f"{error.code}: {error.message}",
            use=use,
        )
    return replace(found, scope=scope.entries, use=use)


def _find(
    deps: RetrieveDeps, store: AccountStore, scope: Scope, request: RetrieveRequest, vector: Vector
) -> Retrieval:
    policy = limited(POLICIES[request.policy], request.limits)
    profile = deps.embedder.profile
    question = Question(
        request.query,
        vector,
        profile.fingerprint,
        _CANDIDATES,
        at=deps.clock.now(),
        past=request.include_archived or asks_for_past(request.query),
    )
    items = [ScopeItem(scope.knowledge_bases[e.knowledge_base_id], e.document_ids) for e in scope.entries]
    for _ in range(_TRIES):
        resolved = search(deps.index, store, items, question)
        ranked = rank(resolved.found, profile)
        eligible, below = _split(ranked, minimum(policy, profile, request.limits))
        considered = (eligible or ranked)[:_READ]
        chunks = store.get_many(CHUNKS, [r.hit.chunk_id for r in considered])
        if all(r.hit.chunk_id in chunks for r in considered):
            return _chosen(deps, policy, _Search(request.query, resolved, eligible, below, chunks))
        # A chunk went because its document was replaced after the search: search again.
    raise TransientError(f"Documents in scope were replaced during each of {_TRIES} searches.")


def _split(ranked: Sequence[Ranked], least: float) -> tuple[list[Ranked], list[Ranked]]:
    """The ones that may be used, and the ones below the minimum; each in order."""
    eligible: list[Ranked] = []
    below: list[Ranked] = []
    for r in ranked:
        good = passes(r.hit.similarity, r.hit.held, minimum=least, lexical_bar=STRONG_LEXICAL_SHARE)
        (eligible if good else below).append(r)
    return eligible, below


@dataclass(frozen=True, slots=True)
class _Search:
    """A search that is settled: what may be used and what not, best first, and the chunks of the best."""

    query: str
    resolved: Resolved
    eligible: Sequence[Ranked]
    below: Sequence[Ranked]
    chunks: Mapping[str, StoredChunk]


def _chosen(deps: RetrieveDeps, policy: Policy, done: _Search) -> Retrieval:
    candidates = [_passage(deps, done, ranked) for ranked in done.eligible[:_READ]]
    selection = select(candidates, policy)
    dropped = (
        *selection.dropped,
        *(_dropped(ranked, "beyond the candidates that are read") for ranked in done.eligible[_READ:]),
        *(_dropped(ranked, BELOW_MINIMUM) for ranked in done.below),
    )
    if selection.chosen:
        return Retrieval(
            RetrievalStatus.OK,
            done.query,
            passages=selection.chosen,
            dropped=dropped,
            tokens=selection.tokens,
            covered=judge(done.query, done.resolved, selection.chosen, deps.embedder.profile),
        )
    summaries = best_summaries(policy, done.below, done.resolved.documents, done.chunks, deps.count_tokens)
    return Retrieval(
        RetrievalStatus.FALLBACK if summaries else RetrievalStatus.EMPTY,
        done.query,
        summaries=summaries,
        dropped=dropped,
        tokens=sum(summary.tokens for summary in summaries),
    )


def _passage(deps: RetrieveDeps, done: _Search, ranked: Ranked) -> RetrievedPassage:
    hit = ranked.hit
    chunk = done.chunks[hit.chunk_id]
    lead = chunk.text[slice(*hit.header)] if hit.header else ""
    text = lead + chunk.text[hit.start : hit.end]
    return RetrievedPassage(
        id=hit.passage_id,
        document_id=hit.document_id,
        knowledge_base_id=hit.knowledge_base_id,
        chunk_id=hit.chunk_id,
        version=hit.revision,
        title=done.resolved.documents[hit.document_id].title,
        heading_path=hit.heading_path,
        pages=hit.pages,
        text=text,
        score=ranked.score,
        similarity=hit.similarity,
        lexical=hit.lexical,
        fused=ranked.fused,
        boost=ranked.boost,
        tokens=deps.count_tokens(text),
        url=done.resolved.documents[hit.document_id].source.url,
        start=hit.start,
        lead=len(lead),
    )


def _dropped(ranked: Ranked, reason: str) -> Dropped:
    hit = ranked.hit
    return Dropped(
        hit.passage_id,
        hit.document_id,
        reason,
        hit.similarity,
        hit.lexical,
        ranked.score,
        ranked.fused,
        ranked.boost,
    )
