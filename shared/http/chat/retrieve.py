"""Retrieval alone, with its reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from shared.domain.accounts import Permission
from shared.domain.retrieval import Dropped, Retrieval, RetrievalStatus, ScopeEntry, Tier
from shared.http.models import Body, NoParams, View
from shared.http.routes import AnyRoute, Call, Route
from shared.retrieve.policy import PolicyName

if TYPE_CHECKING:
    from shared.retrieve.flow import RetrieveDeps

MAX_QUERY = 8_000
MAX_NAMED = 100


class RetrieveBody(Body):
    query: str = Field(min_length=1, max_length=MAX_QUERY)
    document_ids: tuple[str, ...] = Field(default=(), max_length=MAX_NAMED)
    knowledge_base_ids: tuple[str, ...] = Field(default=(), max_length=MAX_NAMED)
    auto_context: bool = True
    policy: PolicyName = Field(default=PolicyName.RUN, strict=False)
    include_archived: bool = False
    explain: bool = Field(default=True, description="Whether to list what was dropped, and why.")


class RetrievedPassageView(View):
    id: str
    document_id: str
    knowledge_base_id: str
    chunk_id: str
    version: int
    title: str
    heading_path: tuple[str, ...]
    pages: tuple[int, int] | None
    text: str
    score: float = Field(description="Fused from the two below; it ordered the result.")
    similarity: float = Field(description="Raw cosine.")
    lexical: float = Field(description="Raw BM25 score.")
    boost: float
    tokens: int


class RetrievedSummaryView(View):
    """A chunk's summary, where no passage passed; `id` is the chunk's."""

    id: str
    document_id: str
    knowledge_base_id: str
    version: int
    title: str
    heading_path: tuple[str, ...]
    pages: tuple[int, int] | None
    text: str
    score: float
    tokens: int


class ScopeView(View):
    knowledge_base_id: str
    tier: Tier
    reason: str
    document_ids: tuple[str, ...] | None = Field(description="Null: the whole knowledge base.")


class DroppedView(View):
    passage_id: str
    document_id: str
    reason: str
    similarity: float
    lexical: float
    score: float


class RetrievalView(View):
    status: RetrievalStatus
    query: str
    passages: tuple[RetrievedPassageView, ...]
    summaries: tuple[RetrievedSummaryView, ...]
    scope: tuple[ScopeView, ...]
    dropped: tuple[DroppedView, ...]
    tokens: int
    covered: bool = Field(description="Whether what was found was judged to answer the question.")
    detail: str | None = Field(description="What failed, when `status` is failed.")


def retrieve_passages(deps: RetrieveDeps, call: Call[RetrieveBody, NoParams]) -> RetrievalView:
    from shared.retrieve.flow import RetrieveRequest, retrieve
    from shared.retrieve.scope import Asked

    body = call.body
    asked = Asked(body.document_ids, body.knowledge_base_ids, body.auto_context)
    request = RetrieveRequest(body.query, asked, body.policy, body.include_archived)
    return _view(retrieve(deps, call.caller, request), explain=body.explain)


def _view(found: Retrieval, *, explain: bool) -> RetrievalView:
    return RetrievalView(
        status=found.status,
        query=found.query,
        passages=tuple(
            RetrievedPassageView.model_validate(passage, from_attributes=True) for passage in found.passages
        ),
        summaries=tuple(
            RetrievedSummaryView.model_validate(summary, from_attributes=True) for summary in found.summaries
        ),
        scope=tuple(_scope(entry) for entry in found.scope),
        dropped=tuple(_dropped(one) for one in found.dropped) if explain else (),
        tokens=found.tokens,
        covered=found.covered,
        detail=found.detail,
    )


def _scope(entry: ScopeEntry) -> ScopeView:
    named = None if entry.document_ids is None else tuple(sorted(entry.document_ids))
    return ScopeView(
        knowledge_base_id=entry.knowledge_base_id, tier=entry.tier, reason=entry.reason, document_ids=named
    )


def _dropped(one: Dropped) -> DroppedView:
    return DroppedView.model_validate(one, from_attributes=True)


ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "POST",
        "/v1/retrieve",
        retrieve_passages,
        "Find passages, and say why these",
        Permission.KB_READ,
        body=RetrieveBody,
        response=RetrievalView,
        secret=True,  # it quotes documents: a copy for repeats would outlive them
    ),
)
