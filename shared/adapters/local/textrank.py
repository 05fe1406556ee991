"""Which sentences say most of a text: TextRank on their embeddings, chosen for what each adds.

Mihalcea and Tarau, "TextRank: Bringing Order into Text" (EMNLP 2004); Carbonell and Goldstein, "The use of
MMR, diversity-based reranking" (SIGIR 1998).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]

_DAMPING = 0.85
_ROUNDS = 40
# Texts open with what they are about: the prior of sentence i falls from 1 towards one half.
_PRIOR_HALF_LIFE = 10.0
_RELEVANCE = 0.7  # against novelty


def centred_similarity(vectors: npt.NDArray[np.float32]) -> Array:
    """Cosines after the mean is taken out, in [-1, 1], 0 on the diagonal: some models put every pair of
    sentences between 0.7 and 0.95, where a graph has no shape."""
    import numpy as np

    rows = vectors.astype(np.float64)
    if len(rows) > 1:
        rows = rows - rows.mean(axis=0)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows / np.where(lengths > 0, lengths, 1.0)
    similarity: Array = np.clip(rows @ rows.T, -1.0, 1.0)
    np.fill_diagonal(similarity, 0.0)
    return similarity


def text_rank(similarity: Array) -> Array:
    """The stationary weight of each sentence, the largest being 1. Jumps go to early sentences first."""
    import numpy as np

    count = len(similarity)
    prior = 0.5 + 0.5 * 2.0 ** (-np.arange(count) / _PRIOR_HALF_LIFE)
    prior /= prior.sum()
    weights = np.maximum(similarity, 0.0)
    totals = weights.sum(axis=1, keepdims=True)
    step = np.where(totals > 0, weights / np.where(totals > 0, totals, 1.0), prior)
    rank = prior.copy()
    for _ in range(_ROUNDS):
        rank = (1 - _DAMPING) * prior + _DAMPING * rank @ step
    result: Array = rank / rank.max()
    return result


def choose(scores: Sequence[float] | Array, similarity: Array, sizes: Sequence[int], room: int) -> list[int]:
    """Positions by maximal marginal relevance whose sizes together stay within `room`, in reading order.

    The best-scored one is always taken, whatever its size.
    """
    import numpy as np

    left = set(range(len(sizes)))
    closest = np.zeros(len(sizes))
    chosen: list[int] = []
    while left:
        best = max(left, key=lambda at: (_RELEVANCE * scores[at] - (1 - _RELEVANCE) * closest[at], -at))
        left.discard(best)
        if chosen and sizes[best] > room:
            continue
        chosen.append(best)
        room -= sizes[best]
        closest = np.maximum(closest, similarity[best])
    return sorted(chosen)
