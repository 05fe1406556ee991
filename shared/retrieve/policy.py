"""How much retrieval may bring, and from what similarity on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from shared.domain.models import EmbeddingProfile


class PolicyName(StrEnum):
    RUN = "run"
    MESSAGE = "message"


@dataclass(frozen=True, slots=True)
class Policy:
    """`max_chunks` and `max_passages` None means no such limit; `fallback_chunks` 0 means no fallback to
    summaries. `max_tokens` counts passages as the answering model sees them."""

    name: PolicyName
    max_chunks: int | None
    max_passages: int | None
    max_tokens: int
    fallback_chunks: int


POLICIES = {
    PolicyName.RUN: Policy(
        PolicyName.RUN, max_chunks=5, max_passages=None, max_tokens=8_000, fallback_chunks=5
    ),
    PolicyName.MESSAGE: Policy(
        PolicyName.MESSAGE, max_chunks=None, max_passages=5, max_tokens=8_000, fallback_chunks=0
    ),
}


@dataclass(frozen=True, slots=True)
class Limits:
    """What one exploring call sets in place of its policy's; None leaves it. `minimum` is a raw cosine."""

    minimum: float | None = None
    max_chunks: int | None = None
    max_passages: int | None = None
    max_tokens: int | None = None


def limited(policy: Policy, limits: Limits) -> Policy:
    changes = {
        name: value
        for name in ("max_chunks", "max_passages", "max_tokens")
        if (value := getattr(limits, name)) is not None
    }
    return replace(policy, **changes)


def minimum(policy: Policy, profile: EmbeddingProfile, limits: Limits | None = None) -> float:
    """The raw cosine below which a passage is out. The number belongs to the embedding model."""
    if limits is not None and limits.minimum is not None:
        return limits.minimum
    return dict(profile.minimums)[policy.name]
