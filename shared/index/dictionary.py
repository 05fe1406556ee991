"""The terms of a segment and in how many passages each is, in as few bytes as an array can be searched in.

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
    """Views of these sections; terms count from 0 in the order of their keys."""

    def __init__(self, sections: Mapping[str, npt.NDArray[Any]]) -> None:
        self.long_keys: Keys = sections["long_keys"]
        self.lead_starts: npt.NDArray[np.uint32] = sections["lead_starts"]
        self.leads: npt.NDArray[np.uint16] = sections["leads"]
        self.seconds: npt.NDArray[np.uint16] = sections["seconds"]
        self.several: npt.NDArray[np.uint8] = sections["several"]
        self.spread: npt.NDArray[np.uint8] = sections["spread"]

    def __len__(self) -> int:
        return len(self.seconds) + len(self.long_keys)

    def keys(self) -> Keys:
        """One a posting, in the order of the postings."""
        short = np.repeat(self.leads.astype(np.uint64) << np.uint64(16), np.diff(self.lead_starts))
        keys = np.concatenate([short | self.seconds, self.long_keys])
        postings = np.ones(len(self), dtype=np.intp)
        postings[np.unpackbits(self.several, count=len(self), bitorder="little") > 0] += self.spread
        return np.repeat(keys, postings)
