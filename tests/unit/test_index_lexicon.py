"""The dictionaries of segments, and the search in all of them, against the plainest ones."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.index.dictionary import Dictionary, pack_dictionary
from shared.index.lexicon import Lexicon

short_keys = st.tuples(st.integers(0, 5), st.integers(0, 300)).map(
    lambda pair: (pair[0] << 29 >> 13) + pair[1]
)
# As far apart as hashes are: neighbours differ in the bits that a lexicon keeps.
long_keys = st.integers(0, 40).map(lambda n: (1 << 63) + n * 7919 * (1 << 40))
keys_of_a_segment = st.lists(short_keys | long_keys, max_size=200)


def dictionary(keys: list[int]) -> Dictionary:
    return Dictionary(pack_dictionary(np.array(keys, dtype=np.uint64)))


@given(st.lists(keys_of_a_segment, max_size=4), st.lists(short_keys | long_keys, max_size=16, unique=True))
@settings(max_examples=300)
def test_postings_are_where_the_plain_way_puts_them(segments: list[list[int]], asked: list[int]) -> None:
    asked.sort()
    found = Lexicon([dictionary(keys) for keys in segments]).find(np.array(asked, dtype=np.uint64))
    spans = list(zip(*map(np.ndarray.tolist, found), strict=True))
    assert [segment for segment, *_ in spans] == sorted(segment for segment, *_ in spans)
    assert Counter((segment, asked[key], start, end) for segment, key, start, end in spans) == Counter(
        (n, key, sorted(keys).index(key), sorted(keys).index(key) + keys.count(key))
        for n, keys in enumerate(segments)
        for key in asked
        if key in keys
    )


@given(keys_of_a_segment)
def test_a_dictionary_gives_back_its_keys(keys: list[int]) -> None:
    assert dictionary(keys).keys().tolist() == sorted(keys)
    assert len(dictionary(keys)) == len(set(keys))


def test_a_bigram_takes_two_bytes() -> None:
    keys = np.array([(0x4E00 + a) << 16 | 0x4E00 + b for a in range(50) for b in range(100)], dtype=np.uint64)
    sections = pack_dictionary(keys)
    assert sum(section.nbytes for section in sections.values()) < 2.3 * len(keys)
