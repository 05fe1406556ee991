"""Passages on their way into a segment, as the index needs them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

# How often a term stands in a passage is kept up to 63, in its headings up to 3: BM25 saturates long before.
BODY_MAX, HEADING_SHIFT, HEADING_MAX = 63, 6, 3

Keys = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]

_HASHED = 1 << 63


@dataclass(frozen=True, slots=True, eq=False)
class IndexPassage:
    """A passage to be indexed.

    `ordinal` is its chunk's place in the document; `start` and `end` (and `header`, where a repeated table
    header stands) count characters in the chunk's text. `terms` counts the terms of the text, `heading_terms`
    those of its headings and title; `language` is the one that they were stemmed by. `vector` is float32 of
    length 1; of size 0 where there is no model.
    """

    passage_id: str
    document_id: str
    revision: int
    chunk_id: str
    ordinal: int
    start: int
    end: int
    heading_path: tuple[str, ...]
    pages: tuple[int, int] | None
    terms: Mapping[str, int]
    vector: npt.NDArray[np.float32]
    heading_terms: Mapping[str, int] = field(default_factory=dict)
    header: tuple[int, int] | None = None
    language: str | None = None


class Where(NamedTuple):
    """What a passage is and where it stands, as `IndexPassage` says."""

    passage_id: str
    document_id: str
    revision: int
    chunk_id: str
    ordinal: int
    start: int
    end: int
    heading_path: tuple[str, ...]
    pages: tuple[int, int] | None
    header: tuple[int, int] | None


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """A passage as a segment holds it: vector in float16, terms as sorted keys with a byte of counts each."""

    where: Where
    language: str | None
    length: int
    vector: npt.NDArray[np.float16]
    keys: Keys
    counts: Bytes


def row_of(passage: IndexPassage) -> Row:
    keys, counts = _packed(passage.terms, passage.heading_terms)
    return Row(
        where=Where(
            passage.passage_id,
            passage.document_id,
            passage.revision,
            passage.chunk_id,
            passage.ordinal,
            passage.start,
            passage.end,
            passage.heading_path,
            passage.pages,
            passage.header,
        ),
        language=passage.language,
        length=sum(passage.terms.values()),
        vector=np.asarray(passage.vector).astype(np.float16),
        keys=keys,
        counts=counts,
    )


def _packed(body: Mapping[str, int], headings: Mapping[str, int]) -> tuple[Keys, Bytes]:
    merged: dict[int, int] = {}
    for term, count in body.items():
        merged[term_key(term)] = min(count, BODY_MAX)
    for term, count in headings.items():
        key = term_key(term)
        merged[key] = merged.get(key, 0) & BODY_MAX | min(count, HEADING_MAX) << HEADING_SHIFT
    order = sorted(merged)
    keys = np.fromiter(order, np.uint64, len(order))
    return keys, np.fromiter((merged[key] for key in order), np.uint8, len(order))


def term_key(term: str) -> int:
    """The number that a term has in every segment.

    One or two characters of the basic plane (bigrams, which make most of a Chinese index) are their own code,
    below 2^32 and exact; anything else is a 63-bit hash with the top bit set.
    """
    if len(term) <= 2 and max(term) <= "\uffff":
        return ord(term[0]) << 16 | (ord(term[1]) if len(term) == 2 else 0)
    digest = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") | _HASHED


def term_keys(terms: Iterable[str]) -> Keys:
    return np.array([term_key(term) for term in terms], dtype=np.uint64)


def is_exact(keys: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Which keys are codes of one or two characters."""
    return keys < np.uint64(1 << 32)
