"""One order out of two scores, on one scale: logarithms of odds that a passage answers.

A BM25 score is such a logarithm but for its scale (Robertson and Zaragoza 2009), and so it is used as it is:
a question that names rare things weighs words more than one that does not, which scaling by the best hit or
by the question's own weight would undo. A cosine means something only beside those of other passages with
the same question, so it counts in standard deviations above their mean. What was tried is in the README
beside this file.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shared.domain.models import EmbeddingProfile
from shared.index.search import Found, Hit, Spread

# In standard deviations of the cosine: a unit of BM25, and a unit of likeness to what the best hits say.
# Chosen on six judged sets at once. For the weight of BM25 alone, the sets were also left out one by one.
LEXICAL_WEIGHT = 0.4
_SUPPORT_WEIGHT = 0.2
# What it is worth to hold all of the question's information; nothing up to the share that is evidence by
# itself. It puts the one passage with a rare name before those that are only near.
_COVERAGE_WEIGHT = 6.0
# The best hits whose common direction the others are compared with, and how much the very best counts more.
_BEST = 3
_SHARPNESS = 0.5
# As many passages of unrelated text stand beside those in scope: three cosines have no spread to speak of.
_PRIOR_PASSAGES = 30
# A guess at the odds of being relevant, 0.5 at 8 units: `score` orders, and is no calibrated chance.
_SLOPE, _EVEN = 0.6, 8.0
# A passage that holds this share of the question's information (idf) is evidence by itself, also where no
# vector is near: a part number, an error code, a quoted phrase.
STRONG_LEXICAL_SHARE = 0.6

_Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A hit with its fused score (0 to 1), the boost that feedback gives it, and the score that orders."""

    hit: Hit
    fused: float
    boost: float = 1.0

    @property
    def score(self) -> float:
        """The odds times the boost, as a chance: a boost of 1.5 or 0.5 decides between passages of about the
        same relevance, and no boost lifts one over another that is clearly better."""
        odds = self.fused * self.boost
        return odds / (odds + 1.0 - self.fused)


def rank(found: Found, profile: EmbeddingProfile) -> list[Ranked]:
    """Best first; without boosts."""
    scored = [Ranked(hit, score) for hit, score in zip(found.hits, fuse(found, profile), strict=True)]
    return ordered(scored)


def ordered(ranked: list[Ranked]) -> list[Ranked]:
    return sorted(ranked, key=lambda r: (-r.score, r.hit.passage_id))


def fuse(found: Found, profile: EmbeddingProfile) -> tuple[float, ...]:
    """Scores between 0 and 1, one a hit. A leg without a signal weighs nothing."""
    if not found.hits:
        return ()
    mean, deviation = _unrelated(found.spread, profile)
    compared: npt.NDArray[np.bool_] = np.any(found.vectors, axis=1)
    similarity = np.array([hit.similarity for hit in found.hits])
    evidence = np.where(compared, (similarity - mean) / deviation, 0.0)
    evidence += LEXICAL_WEIGHT * np.array([hit.lexical for hit in found.hits])
    held = np.array([hit.held for hit in found.hits])
    beyond = (held - STRONG_LEXICAL_SHARE) / (1 - STRONG_LEXICAL_SHARE)
    evidence += _COVERAGE_WEIGHT * beyond.clip(0.0, 1.0)
    evidence += _SUPPORT_WEIGHT * _support(evidence, found, compared) / deviation
    chances: list[float] = (1.0 / (1.0 + np.exp(-_SLOPE * (evidence.clip(-40, 56) - _EVEN)))).tolist()
    return tuple(chances)


def _unrelated(spread: Spread, profile: EmbeddingProfile) -> tuple[float, float]:
    """Mean and deviation of the cosine of a passage that has nothing to do with the question."""
    weight = spread.passages / (spread.passages + _PRIOR_PASSAGES)
    mean = weight * spread.mean + (1 - weight) * profile.floor
    variance = weight * spread.deviation**2 + (1 - weight) * profile.deviation**2
    return mean, variance**0.5


def _support(evidence: _Array, found: Found, compared: npt.NDArray[np.bool_]) -> _Array:
    """How much nearer than the others each hit is to the best (pseudo-relevance feedback), in cosines."""
    support = np.zeros(len(evidence))
    rows = np.flatnonzero(compared)
    if len(rows) <= _BEST:
        return support
    best = rows[np.argsort(-evidence[rows], kind="stable")[:_BEST]]
    weights = np.exp(_SHARPNESS * (evidence[best] - evidence[best[0]]))
    weights /= weights.sum()
    likeness = found.likeness(best)
    length = float(weights @ likeness[:, best] @ weights) ** 0.5
    near = weights @ likeness[:, rows] / max(length, 1e-6)
    support[rows] = near - near.mean()
    return support
