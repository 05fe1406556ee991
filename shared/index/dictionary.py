"""The terms of a segment and where their postings are, in as few bytes as an array can be searched in.

Most of a Chinese index is its dictionary: hundreds of new bigrams with every passage, four in five of them in
that passage alone. So a bigram is its second character in a list that its first character opens, and how many
passages have a term is kept only for terms in several; a bit says which these are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from shared.index.rows import Keys, is_exact

_Places = npt.NDArray[np.intp]


def pack_dictionary(keys: Keys) -> dict[str, npt.NDArray[Any]]:
    """The sections of a segment that hold its terms. `keys` has one a posting, in any order."""
    distinct, spread = np.unique(keys, return_counts=True)
    exact = is_exact(distinct)
    short = distinct[exact].astype(np.uint32)
    leads, first = np.unique((short >> 16).astype(np.uint16), return_index=True)
    return {
        "long_keys": distinct[~exact],
        "lead_starts": np.append(first, len(short)).astype(np.uint32),
        "leads": leads,
        "seconds": (short & 0xFFFF).astype(np.uint16),
        "several": np.packbits(spread > 1, bitorder="little"),
        "spread": (spread[spread > 1] - 1).astype(np.uint8),
    }


class Dictionary:
    """Views of these sections; terms count from 0 in the order of their keys.

    The postings of term t begin at t plus what the terms before it have beyond one. That is summed up for
    terms in several passages only, and the bits before t in `several` say how many of those there are.
    """

    def __init__(self, sections: Mapping[str, npt.NDArray[Any]]) -> None:
        self._long: Keys = sections["long_keys"]
        self._lead_starts: npt.NDArray[np.uint32] = sections["lead_starts"]
        self._leads: npt.NDArray[np.uint16] = sections["leads"]
        self._seconds: npt.NDArray[np.uint16] = sections["seconds"]
        self._several: npt.NDArray[np.uint8] = sections["several"]
        self._spread: npt.NDArray[np.uint8] = sections["spread"]
        ones = np.bitwise_count(self._several)
        self._several_before = _sums_before(ones)
        self._beyond = _sums_before(self._spread)
        self.nbytes = self._several_before.nbytes + self._beyond.nbytes

    def __len__(self) -> int:
        return len(self._seconds) + len(self._long)

    def find(self, short: npt.NDArray[np.uint32], long: Keys) -> tuple[_Places, _Places, _Places]:
        """Of the keys of a question, those that are here: (place in `short` followed by `long`, where its
        postings start, where they end). `long` is sorted."""
        short_places, short_terms = self._find_short(short)
        long_places, long_terms = self._find_long(long)
        places = np.concatenate([short_places, long_places + len(short)])
        return places, *self._spans(np.concatenate([short_terms, long_terms + len(self._seconds)]))

    def keys(self) -> Keys:
        """One a posting, in the order of the postings."""
        short = np.repeat(self._leads.astype(np.uint64) << np.uint64(16), np.diff(self._lead_starts))
        keys = np.concatenate([short | self._seconds, self._long])
        starts, ends = self._spans(np.arange(len(self)))
        return np.repeat(keys, ends - starts)

    def _find_short(self, keys: npt.NDArray[np.uint32]) -> tuple[_Places, _Places]:
        places, leads = _found(self._leads, (keys >> 16).astype(np.uint16))
        terms, owners = ranges(self._lead_starts[leads], self._lead_starts[leads + 1])
        seconds = (keys[places] & 0xFFFF).astype(np.uint16)
        same = self._seconds[terms] == seconds[owners]
        return places[owners[same]], terms[same]

    def _find_long(self, keys: Keys) -> tuple[_Places, _Places]:
        return _found(self._long, keys)

    def _spans(self, terms: _Places) -> tuple[_Places, _Places]:
        byte, bit = terms >> 3, (terms & 7).astype(np.uint8)
        bits = self._several[byte]
        before = self._several_before[byte] + np.bitwise_count(bits & ((1 << bit) - 1).astype(np.uint8))
        starts = terms + self._beyond[before]
        is_in_several = bits >> bit & 1
        return starts, terms + 1 + self._beyond[before + is_in_several]


def ranges(starts: npt.NDArray[Any], ends: npt.NDArray[Any]) -> tuple[_Places, _Places]:
    """All numbers of several ranges, one range behind the other, and of which range each is."""
    starts = starts.astype(np.intp)
    lengths = ends - starts
    owners = np.repeat(np.arange(len(lengths)), lengths)
    passed = np.cumsum(lengths) - lengths
    return np.arange(len(owners)) + (starts - passed)[owners], owners


def _found(keys: npt.NDArray[Any], wanted: npt.NDArray[Any]) -> tuple[_Places, _Places]:
    """(place in `wanted`, place in the sorted `keys`) of those that both have."""
    if not len(keys) or not len(wanted):
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
    at = np.minimum(keys.searchsorted(wanted), len(keys) - 1)
    places = np.flatnonzero(keys[at] == wanted)
    return places, at[places]


def _sums_before(values: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint32]:
    """The sum of all values before each place, and of all."""
    sums = np.zeros(len(values) + 1, dtype=np.uint32)
    np.cumsum(values, dtype=np.uint32, out=sums[1:])
    return sums
