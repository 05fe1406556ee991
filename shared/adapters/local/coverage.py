"""How much of a question a text holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shared.index.terms import QueryTerm


def shares_held(
    asked: Sequence[QueryTerm], weights: Sequence[float], counted: Sequence[Mapping[str, int]]
) -> list[float]:
    """Of each text, given as its terms: the weight of the question's terms in it, as a share of all."""
    total = sum(weights) or 1.0
    return [
        sum(
            weight
            for term, weight in zip(asked, weights, strict=True)
            if any(spelling in counts for spelling in term.spellings)
        )
        / total
        for counts in counted
    ]
