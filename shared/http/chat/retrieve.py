"""Retrieval alone, with its reasons."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from pydantic import Field

from shared.domain.accounts import Permission
from shared.domain.errors import TransientError
from shared.domain.retrieval import (
    Dropped,
    Retrieval,
    RetrievalStatus,
    RetrievedPassage,
    RetrievedSummary,
    ScopeEntry,
)
from shared.http.models import Body, NoParams, View
from shared.http.routes import AnyRoute, Call, Route
from shared.retrieve.policy import PolicyName

if TYPE_CHECKING:
    from shared.retrieve.flow import RetrieveDeps

log = logging.getLogger(__name__)

MAX_QUERY = 8_000
MAX_NAMED = 100


class RetrieveBody(Body):
    query: str = Field(min_length=1, max_length=MAX_QUERY)
    document_ids: tuple[str, ...] = Field(default=(), max_length=MAX_NAMED)
    knowledge_base_ids: tuple[str, ...] = Field(default=(), max_length=MAX_NAMED)
    auto_context: bool = True
    policy: PolicyName = Field(default=PolicyName.RUN, strict=False)
    include_archived: bool = False
    minimum: float | None = Field(
        default=None, ge=-1, le=1, description="In place of the policy's least cosine, to explore."
    )
    max_chunks: int | None = Field(default=None, ge=1, le=50)
    max_passages: int | None = Field(default=None, ge=1, le=50)
    max_tokens: int | None = Field(default=None, ge=1, le=32_000)
    explain: bool = Field(default=True, description="Whether to list what was dropped, and why.")


class RetrievalView(View):
    status: RetrievalStatus
    query: str
    passages: tuple[RetrievedPassage, ...]
    summaries: tuple[RetrievedSummary, ...]
    scope: tuple[ScopeEntry, ...]
    dropped: tuple[Dropped, ...]
    tokens: int
    covered: bool = Field(description="Whether what was found was judged to answer the question.")
    detail: str | None = Field(description="What failed, when `status` is failed.")


def retrieve_passages(deps: RetrieveDeps, call: Call[RetrieveBody, NoParams]) -> RetrievalView:
    from shared.retrieve.flow import RetrieveRequest, retrieve
    from shared.retrieve.policy import Limits
    from shared.retrieve.scope import Asked

    body = call.body
    asked = Asked(body.document_ids, body.knowledge_base_ids, body.auto_context)
    limits = Limits(body.minimum, body.max_chunks, body.max_passages, body.max_tokens)
    request = RetrieveRequest(body.query, asked, body.policy, body.include_archived, limits=limits)
    found = retrieve(deps, call.caller, request)
    count_found(deps, call.caller.account_id, found)
    return _view(found, explain=body.explain)


def count_found(deps: RetrieveDeps, account_id: str, found: Retrieval) -> None:
    """Counts what a search by itself cost. One that cannot be counted is answered all the same."""
    from shared.domain.spending import Purpose, Spending
    from shared.tenancy.usage import count_search

    shares: dict[str, int] = {}
    every: tuple[RetrievedPassage | RetrievedSummary, ...] = (*found.passages, *found.summaries)
    for one in every:
        shares[one.knowledge_base_id] = shares.get(one.knowledge_base_id, 0) + one.tokens
    spent = [Spending(Purpose.QUESTION, found.use)]
    try:
        count_search(deps.store.of(account_id), spent, shares, deps.clock.now())
    except TransientError:
        log.warning("usage of a search not counted", exc_info=True)


def _view(found: Retrieval, *, explain: bool) -> RetrievalView:
    return RetrievalView(
        status=found.status,
        query=found.query,
        passages=found.passages,
        summaries=found.summaries,
        scope=found.scope,
        dropped=found.dropped if explain else (),
        tokens=found.tokens,
        covered=found.covered,
        detail=found.detail,
    )


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
        again=retrieve_passages,  # it changes nothing: to ask again is as good
    ),
)
