"""What calls to models cost, and what they were for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from shared.domain.models import TokenUse


class Purpose(StrEnum):
    """What a call to a model was for."""

    ANSWER = "answer"
    QUESTION = "question"  # the embedding of a question
    REWRITE = "rewrite"  # of a follow-up into a question that stands alone
    HISTORY = "history"  # the summary of a conversation's older turns
    SUMMARY = "summary"  # of a chunk
    EMBEDDING = "embedding"  # of passages
    IMAGE = "image"  # its description


@dataclass(frozen=True, slots=True)
class Spending:
    """The calls to one model for one purpose."""

    purpose: Purpose
    use: TokenUse


def spent(*found: Spending) -> tuple[Spending, ...]:
    """One entry a purpose and model, in the order in which they first came; nothing for what used nothing."""
    sums: dict[tuple[Purpose, str], TokenUse] = {}
    for one in found:
        if one.use.calls:
            key = (one.purpose, one.use.model)
            sums[key] = sums.get(key, TokenUse()) + one.use
    return tuple(Spending(purpose, use) for (purpose, _), use in sums.items())


def total(found: Iterable[Spending]) -> TokenUse:
    """All of it together, whatever the models."""
    return sum((one.use for one in found), TokenUse())
