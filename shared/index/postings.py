"""Where the terms of a question stand, over many segments at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shared.index.dictionary import ranges
from shared.index.loaded import LoadedSegment
from shared.index.rows import BODY_MAX, HEADING_SHIFT, is_exact, term_keys
from shared.index.terms import QueryTerm


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """One entry a passage and term of the question that it holds. `rows` counts over all segments, `terms` is
    the term's place in the question, `body` and `headings` how often it stands there."""

    rows: npt.NDArray[np.intp]
    terms: npt.NDArray[np.intp]
    body: npt.NDArray[np.float32]
    headings: npt.NDArray[np.float32]


def postings(
    segments: Sequence[LoadedSegment], starts: Sequence[int], question: Sequence[QueryTerm]
) -> Postings:
    """`starts` says at which row each segment begins."""
    keys, owners = _keys(question)
    short_count = int(np.count_nonzero(is_exact(keys)))
    short, long = keys[:short_count].astype(np.uint32), keys[short_count:]
    rows: list[npt.NDArray[np.intp]] = []
    terms: list[npt.NDArray[np.intp]] = []
    counts: list[npt.NDArray[np.uint8]] = []
    for segment, first in zip(segments, starts, strict=True):
        places, begins, ends = segment.dictionary.find(short, long)
        where, owner = ranges(begins, ends)
        rows.append(segment.posting_rows[where] + np.intp(first))
        terms.append(places[owner])
        counts.append(segment.posting_counts[where])
    packed = np.concatenate(counts) if counts else np.zeros(0, dtype=np.uint8)
    found = Postings(
        np.concatenate(rows) if rows else np.zeros(0, dtype=np.intp),
        owners[np.concatenate(terms)] if terms else np.zeros(0, dtype=np.intp),
        (packed & BODY_MAX).astype(np.float32),
        (packed >> HEADING_SHIFT).astype(np.float32),
    )
    return found if len(keys) == len(question) else _added(found, len(question))


def _keys(question: Sequence[QueryTerm]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.intp]]:
    """Sorted keys of all spellings, and the place in the question of the word that each spells."""
    spelled = [(term, place) for place, word in enumerate(question) for term in word.spellings]
    keys = term_keys(term for term, _ in spelled)
    order = np.argsort(keys, kind="stable")
    return keys[order], np.array([place for _, place in spelled], dtype=np.intp)[order]


def _added(found: Postings, question_length: int) -> Postings:
    """Spellings of one word in the same passage count as that word, together."""
    cells, inverse = np.unique(found.rows * question_length + found.terms, return_inverse=True)
    rows, terms = np.divmod(cells, question_length)
    return Postings(
        rows,
        terms,
        np.bincount(inverse, found.body, len(cells)).astype(np.float32),
        np.bincount(inverse, found.headings, len(cells)).astype(np.float32),
    )
