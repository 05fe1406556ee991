"""Vectors that are alike where texts share words, made from nothing but the words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b
from struct import iter_unpack

import numpy as np
import numpy.typing as npt

_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+")
_PLACES_PER_TERM = 4


def terms(text: str) -> list[str]:
    """Lower-cased words; runs of Han and kana as pairs of characters."""
    found: list[str] = []
    for word in _WORD.findall(text.lower()):
        rest = 0
        for run in _UNSPACED.finditer(word):
            found += [word[rest : run.start()]] if run.start() > rest else []
            characters = run.group()
            found += [characters[i : i + 2] for i in range(max(1, len(characters) - 1))]
            rest = run.end()
        found += [word[rest:]] if rest < len(word) else []
    return found


def embed(text: str, dimensions: int) -> npt.NDArray[np.float32]:
    """A unit vector: each term adds the root of its count, with signs, to four places that its hash names.
    Texts without common words are nearly orthogonal."""
    vector = np.zeros(dimensions, dtype=np.float64)
    for term, count in Counter(terms(text) or [text]).items():
        for place, sign in _places(term, dimensions):
            vector[place] += sign * count**0.5
    length = float(np.linalg.norm(vector))
    if length == 0.0:  # every place cancelled out
        vector[0] = length = 1.0
    return (vector / length).astype(np.float32)


def _places(term: str, dimensions: int) -> Iterator[tuple[int, int]]:
    digest = blake2b(term.encode("utf-8", "surrogatepass"), digest_size=4 * _PLACES_PER_TERM).digest()
    for (number,) in iter_unpack("<I", digest):
        yield (number >> 1) % dimensions, 1 if number & 1 else -1
