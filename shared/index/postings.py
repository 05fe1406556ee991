"""Where the terms of a question stand, over many segments at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from shared.index.rows import BODY_MAX, HEADING_SHIFT, Keys, term_keys
from shared.index.state import KnowledgeBaseIndex
from shared.index.terms import QueryTerm


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """One entry a passage and term of the question that it holds. `rows` counts over all segments, `terms` is
    the term's place in the question, `body` and `headings` how often it stands there."""

    rows: npt.NDArray[np.intp]
    terms: npt.NDArray[np.intp]
    body: npt.NDArray[np.float32]
    headings: npt.NDArray[np.float32]


_NONE = Postings(
    np.zeros(0, dtype=np.intp),
    np.zeros(0, dtype=np.intp),
    np.zeros(0, dtype=np.float32),
    np.zeros(0, dtype=np.float32),
)


def postings(
    indexes: Sequence[KnowledgeBaseIndex], starts: Sequence[int], question: Sequence[QueryTerm]
) -> Postings:
    """`starts` says at which row each index begins."""
    keys, owners = _keys(question)
    if not len(keys):
        return _NONE
    read = [_read(index, first, keys) for index, first in zip(indexes, starts, strict=True)]
    if not read:
        return _NONE
    rows, places, counts = (np.concatenate(arrays) for arrays in zip(*read, strict=True))
    found = Postings(
        rows,
        owners[places],
        (counts & BODY_MAX).astype(np.float32),
        (counts >> HEADING_SHIFT).astype(np.float32),
    )
    return found if len(keys) == len(question) else _added(found, len(question))


def _read(
    index: KnowledgeBaseIndex, first: int, keys: Keys
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.uint8]]:
    """(row, place among the keys, counts) of every posting."""
    spans = index.lexicon.find(keys)
    lengths = spans.ends - spans.starts
    passed = np.concatenate([np.zeros(1, dtype=np.intp), np.cumsum(lengths)])
    where = np.arange(passed[-1]) + np.repeat(spans.starts - passed[:-1], lengths)
    rows = np.empty(len(where), dtype=np.uint8)
    counts = np.empty(len(where), dtype=np.uint8)
    bounds = passed[spans.segments.searchsorted(np.arange(len(index.segments) + 1))].tolist()
    for segment, (start, end) in zip(index.segments, pairwise(bounds), strict=True):
        if end > start:
            segment.posting_rows.take(where[start:end], out=rows[start:end], mode="clip")
            segment.posting_counts.take(where[start:end], out=counts[start:end], mode="clip")
    first_rows = index.segment_starts[spans.segments] + first
    return np.repeat(first_rows, lengths) + rows, np.repeat(spans.keys, lengths), counts


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
