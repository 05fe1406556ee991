"""What each plan includes: one table, and the only place that reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shared.domain.accounts import Caller, Plan
from shared.domain.errors import PlanRequiredError, QuotaExceededError


@dataclass(frozen=True, slots=True)
class Limits:
    """`retrieval` is whether knowledge bases of type `files` may be had; the numbers are per account."""

    retrieval: bool
    knowledge_bases: int
    documents: int
    chats_per_minute: int


LIMITS: Mapping[Plan, Limits] = {
    Plan.FREE: Limits(retrieval=False, knowledge_bases=5, documents=0, chats_per_minute=10),
    Plan.PRO: Limits(retrieval=True, knowledge_bases=50, documents=10_000, chats_per_minute=60),
    Plan.ENTERPRISE: Limits(retrieval=True, knowledge_bases=500, documents=100_000, chats_per_minute=600),
}


def limits(caller: Caller) -> Limits:
    return LIMITS[caller.plan]


def require_retrieval(caller: Caller) -> None:
    """Raises `PlanRequiredError` where the plan has no knowledge bases with retrieval."""
    if not limits(caller).retrieval:
        raise PlanRequiredError(
            f"Knowledge bases with files need the plan pro or above; this account is on {caller.plan.value}."
        )


def require_room(caller: Caller, what: str, have: int, at_most: int) -> None:
    """Raises `QuotaExceededError` when there is no room for one more."""
    if have >= at_most:
        raise QuotaExceededError(
            f"The plan {caller.plan.value} holds {at_most} {what}, and there are {have}."
        )
