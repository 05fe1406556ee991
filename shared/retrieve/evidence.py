"""Whether what was found answers the question, or is only the nearest that there is.

A cosine alone cannot tell: some models keep everything within a narrow band. The share of the question's
information (idf) that stands in a passage tells more, and both together most.
"""

from __future__ import annotations

from collections.abc import Sequence

from shared.domain.models import EmbeddingProfile
from shared.domain.retrieval import RetrievedPassage
from shared.index.resolve import Resolved


def judge(resolved: Resolved, chosen: Sequence[RetrievedPassage], profile: EmbeddingProfile) -> bool:
    """True when one of the chosen passages holds enough of the question, by words and by vector together."""
    held = {hit.passage_id: hit.held for hit in resolved.found.hits}
    span = 1.0 - profile.floor
    return any(
        held[passage.id] + max(0.0, passage.similarity - profile.floor) / span >= _ENOUGH
        for passage in chosen
    )


_ENOUGH = 0.85
