"""The dictionaries of all segments of a knowledge base, searched at once.

A search of one segment after the other costs twenty calls of numpy for each; with forty segments these took
four times as long as all cosines. Here the segments' lists stand behind one another, and the number of its
segment leads every key, so that one search finds all terms of a question in all segments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shared.index.dictionary import Dictionary
from shared.index.rows import Keys, is_exact

Places = npt.NDArray[np.intp]

# A long key in here is the number of its segment, which 16 bits hold for sixteen million passages, and the
# first 48 bits of its hash: among a million terms, one in 300 million words meets one that is not its own.
_HASH_BITS = 48


class Spans(NamedTuple):
    """Where terms of a question have postings: one entry a term and segment that has it, in the order of the
    segments. `keys` are places among the keys asked for; `starts` and `ends` count in the segment's own
    postings."""

    segments: Places
    keys: Places
    starts: Places
    ends: Places


class Lexicon:
    """Finds terms in the dictionaries that it is made of. `nbytes` is what it takes in memory.

    Terms count over all segments: those of a segment before those of the next, its short ones before its long
    ones. The postings of term t begin at t plus what the terms before it have beyond one. That is summed up
    for terms in several passages only, and the bits before t in `several` say how many of those there are.
    """

    def __init__(self, dictionaries: Sequence[Dictionary]) -> None:
        self._count = len(dictionaries)
        self._leads = _led(dictionaries, lambda d: d.leads, 16, np.uint32)
        self._seconds = _joined([d.seconds for d in dictionaries], np.uint16)
        self._second_starts = _starts([len(d.seconds) for d in dictionaries])
        lists = zip(dictionaries, self._second_starts.tolist(), strict=False)
        ends = [d.lead_starts[1:] + np.uint32(first) for d, first in lists]
        self._lists = np.concatenate([np.zeros(1, dtype=np.uint32), *ends])
        self._longest = int(np.diff(self._lists).max(initial=0))
        self._long = _led(dictionaries, lambda d: _shortened(d.long_keys), _HASH_BITS, np.uint64)
        self._long_starts = _starts([len(d.long_keys) for d in dictionaries])
        self._several = _joined([d.several for d in dictionaries], np.uint8)
        self._several_starts = _starts([len(d.several) for d in dictionaries])
        self._several_before = _sums_before(np.bitwise_count(self._several))
        self._beyond = _sums_before(_joined([d.spread for d in dictionaries], np.uint8))
        self._beyond_starts = self._beyond[_starts([len(d.spread) for d in dictionaries])].astype(np.intp)
        self.nbytes = sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))

    def find(self, keys: Keys) -> Spans:
        """Which of the keys, sorted, the segments have."""
        short_count = int(np.count_nonzero(is_exact(keys)))
        short = self._find_short(keys[:short_count].astype(np.uint32))
        long = self._find_long(keys[short_count:])
        segments = np.concatenate([short[0], long[0]])
        places = np.concatenate([short[1], long[1] + short_count])
        terms = np.concatenate([short[2], long[2]])
        order = np.argsort(segments, kind="stable")
        segments = segments[order]
        return Spans(segments, places[order], *self._postings(segments, terms[order]))

    def _find_short(self, keys: npt.NDArray[np.uint32]) -> tuple[Places, Places, Places]:
        """(segment, place among the keys, place of the term in its segment) of those that are there."""
        segments, places, lists = self._in_every_segment(self._leads, keys >> 16, 16)
        wanted = (keys[places] & 0xFFFF).astype(np.uint16)
        at = _lower_bound(self._seconds, self._lists[lists], self._lists[lists + 1], wanted, self._longest)
        found = np.flatnonzero(at < self._lists[lists + 1])
        found = found[self._seconds[at[found]] == wanted[found]]
        segments = segments[found]
        return segments, places[found], at[found] - self._second_starts[segments]

    def _find_long(self, keys: Keys) -> tuple[Places, Places, Places]:
        segments, places, at = self._in_every_segment(self._long, _shortened(keys), _HASH_BITS)
        short_terms = np.diff(self._second_starts)[segments]
        return segments, places, at - self._long_starts[segments] + short_terms

    def _in_every_segment(
        self, led: npt.NDArray[Any], keys: npt.NDArray[Any], bits: int
    ) -> tuple[Places, Places, Places]:
        """(segment, place among the keys, place in `led`) of every key in every segment that has it."""
        if not len(keys) or not len(led):
            return (np.zeros(0, dtype=np.intp),) * 3
        segments = np.arange(self._count, dtype=led.dtype) << led.dtype.type(bits)
        wanted = (segments[:, None] | keys.astype(led.dtype)).reshape(-1)
        at = np.minimum(led.searchsorted(wanted), len(led) - 1)
        found = np.flatnonzero(led[at] == wanted)
        return *np.divmod(found, len(keys)), at[found]

    def _postings(self, segments: Places, terms: Places) -> tuple[Places, Places]:
        """Where the postings of these terms start and end in their segments."""
        byte = self._several_starts[segments] + (terms >> 3)
        bit = (terms & 7).astype(np.uint8)
        bits = self._several[byte]
        lower = bits & ((1 << bit) - 1).astype(np.uint8)
        before = self._several_before[byte] + np.bitwise_count(lower)
        first = terms - self._beyond_starts[segments]
        is_in_several = bits >> bit & 1
        return first + self._beyond[before], first + 1 + self._beyond[before + is_in_several]


def _lower_bound(
    values: npt.NDArray[Any],
    starts: npt.NDArray[Any],
    ends: npt.NDArray[Any],
    wanted: npt.NDArray[Any],
    longest: int,
) -> Places:
    """The first place in each of several sorted ranges of `values` that is not below what is wanted there.

    A binary search in all ranges at once: each step halves what is left of every range.
    """
    at, last = starts.astype(np.intp), ends.astype(np.intp)
    step = 1 << longest.bit_length()
    while step := step >> 1:
        ahead = at + step
        inside = np.minimum(ahead, last)
        at = np.where((ahead <= last) & (values[inside - 1] < wanted), ahead, at)
    return at


def _led(
    dictionaries: Sequence[Dictionary],
    keys: Callable[[Dictionary], npt.NDArray[Any]],
    bits: int,
    dtype: type[np.unsignedinteger[Any]],
) -> npt.NDArray[Any]:
    """The sorted keys of all dictionaries, each behind the number of its own; so sorted all together."""
    led = [keys(d).astype(dtype) | dtype(n) << dtype(bits) for n, d in enumerate(dictionaries)]
    return _joined(led, dtype)


def _shortened(keys: Keys) -> Keys:
    """The first bits of each hash, without the one that all have set."""
    return keys << np.uint64(1) >> np.uint64(64 - _HASH_BITS)


def _joined(arrays: Sequence[npt.NDArray[Any]], dtype: type[np.generic]) -> npt.NDArray[Any]:
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=dtype)


def _starts(lengths: Sequence[int]) -> Places:
    """Where each of several lists begins in all of them together, and where the last ends."""
    return np.array(list(accumulate(lengths, initial=0)), dtype=np.intp)


def _sums_before(values: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint32]:
    """The sum of all values before each place, and of all."""
    sums = np.zeros(len(values) + 1, dtype=np.uint32)
    np.cumsum(values, dtype=np.uint32, out=sums[1:])
    return sums
