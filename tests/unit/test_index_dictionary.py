"""The dictionary of a segment against the plainest one."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.index.dictionary import Dictionary, pack_dictionary, ranges

short_keys = st.tuples(st.integers(0, 5), st.integers(0, 300)).map(
    lambda pair: (pair[0] << 29 >> 13) + pair[1]
)
long_keys = st.integers(0, 40).map(lambda n: (1 << 63) + n * 7919)


@given(
    st.lists(short_keys | long_keys, max_size=300),
    st.lists(short_keys, max_size=8, unique=True),
    st.lists(long_keys, max_size=8, unique=True),
)
@settings(max_examples=200)
def test_postings_are_where_the_plain_way_puts_them(
    keys: list[int], short: list[int], long: list[int]
) -> None:
    postings = sorted(keys)
    dictionary = Dictionary(pack_dictionary(np.array(keys, dtype=np.uint64)))
    asked = [*short, *sorted(long)]
    found = dictionary.find(np.array(short, dtype=np.uint32), np.array(sorted(long), dtype=np.uint64))
    counts = Counter(keys)
    assert {
        (asked[place], start, end) for place, start, end in zip(*map(np.ndarray.tolist, found), strict=True)
    } == {(key, postings.index(key), postings.index(key) + counts[key]) for key in asked if key in counts}
    assert dictionary.keys().tolist() == postings
    assert len(dictionary) == len(counts)


def test_a_bigram_takes_two_bytes() -> None:
    keys = np.array([(0x4E00 + a) << 16 | 0x4E00 + b for a in range(50) for b in range(100)], dtype=np.uint64)
    sections = pack_dictionary(keys)
    assert sum(section.nbytes for section in sections.values()) < 2.3 * len(keys)


def test_several_ranges_behind_one_another() -> None:
    numbers, owners = ranges(np.array([3, 9, 5], dtype=np.uint32), np.array([5, 9, 8], dtype=np.uint32))
    assert numbers.tolist() == [3, 4, 5, 6, 7]
    assert owners.tolist() == [0, 0, 2, 2, 2]
