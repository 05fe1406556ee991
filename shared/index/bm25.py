"""BM25 as Lucene computes it (Robertson and Zaragoza 2009; Kamphuis et al. 2020, "Which BM25 do you mean?").

    score(q, d) = sum over t in q of idf(t) * tf / (tf + k1 * (1 - b + b * |d| / avgdl))
    idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5))

Frequencies, lengths and counts are those of the passages in scope. Where these are in several languages, a
passage counts as holding every stop word of its own: "what" is no rare word because only the Portuguese
passages keep it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shared.index.postings import Postings
from shared.index.terms import QueryTerm


@dataclass(frozen=True, slots=True)
class Parameters:
    """k1 is Lucene's; b is lower than its 0.75, since passages are windows of about one size, and the length
    of a short one says little. A term in a passage's headings counts as `heading` more in its text."""

    k1: float = 1.2
    b: float = 0.5
    heading: float = 1.0


DEFAULT = Parameters()


@dataclass(frozen=True, slots=True, eq=False)
class Lexical:
    """`scores` and `held` have one entry a row: the BM25 score, and the idf of those terms of the question
    that the passage holds, summed. `idf` has one a term; `mass` is its sum without stop words that nothing
    in scope is indexed by. `unseen` counts the other terms that nothing in scope holds."""

    scores: npt.NDArray[np.float64]
    held: npt.NDArray[np.float64]
    idf: npt.NDArray[np.float64]
    mass: float
    unseen: int


def bm25(
    found: Postings,
    question: Sequence[QueryTerm],
    lengths: npt.NDArray[np.uint32],
    alive: npt.NDArray[np.bool_],
    *,
    stopped: npt.NDArray[np.intp] | None = None,
    parameters: Parameters = DEFAULT,
) -> Lexical:
    """Scores every row; rows that are not alive get 0 and count nowhere. `stopped` says of each term how many
    passages leave it out as a stop word."""
    found = _of_rows(found, alive)
    passages = int(np.count_nonzero(alive))
    mean_length = max(float(lengths[alive].mean()), 1.0) if passages else 1.0
    document_frequency = np.bincount(found.terms, minlength=len(question))
    holders = document_frequency if stopped is None else np.minimum(document_frequency + stopped, passages)
    idf = np.log1p((passages - holders + 0.5) / (holders + 0.5))
    frequency = found.body + parameters.heading * found.headings
    norm = parameters.k1 * (1 - parameters.b + parameters.b * lengths / mean_length)
    weights = idf[found.terms]
    said = np.array([not term.weak for term in question], dtype=np.bool_) | (document_frequency > 0)
    return Lexical(
        scores=_sums(found.rows, weights * frequency / (frequency + norm[found.rows]), len(lengths)),
        held=_sums(found.rows, weights, len(lengths)),
        idf=idf,
        mass=float(idf[said].sum()),
        unseen=int(np.count_nonzero(said & (document_frequency == 0))),
    )


def _of_rows(found: Postings, wanted: npt.NDArray[np.bool_]) -> Postings:
    live = wanted[found.rows]
    if live.all():
        return found
    return Postings(found.rows[live], found.terms[live], found.body[live], found.headings[live])


def _sums(
    rows: npt.NDArray[np.intp], values: npt.NDArray[np.float64], length: int
) -> npt.NDArray[np.float64]:
    return np.bincount(rows, weights=values, minlength=length).astype(np.float64, copy=False)
