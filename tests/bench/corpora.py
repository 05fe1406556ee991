"""Made-up text whose term counts are like those of real passages, and vectors of length 1.

Real ones for comparison, at 1,000 characters: an English handbook has 95 distinct terms a passage and 18 new
ones with each of the first 256; Chinese prose has 540 distinct terms (bigrams) a passage and 370 new ones
with each of the first 32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

PASSAGE_CHARACTERS = 1_000

_FUNCTION_WORDS = ("the", "of", "to", "is")
_SYLLABLES = [c + v + e for c in "bcdfglmnprst" for v in "aeiou" for e in ("", "n", "r", "st")]


def english(rng: np.random.Generator) -> Iterator[str]:
    """Words of one to four syllables in Zipf's distribution without its head, which are the function words
    that stand between them, and a part number."""
    words = _words(rng, 40_000, lambda length: "".join(rng.choice(_SYLLABLES, length)))
    chances = np.cumsum(_zipf(len(words), 1.05, head=20))
    while True:
        text = " ".join(f"{words[n]} {_FUNCTION_WORDS[n % 4]}" for n in _drawn(rng, chances, 150))
        yield f"{text[: PASSAGE_CHARACTERS - 20]} PX-{rng.integers(100_000)}."


def chinese(rng: np.random.Generator) -> Iterator[str]:
    """Words of one to three characters out of 3,500, a comma every few words; half of a passage is about its
    own two dozen words."""
    characters = [chr(0x4E00 + int(n)) for n in rng.choice(20_000, 3_500, replace=False)]
    weights = _zipf(len(characters), 0.8)
    words = _words(rng, 30_000, lambda length: "".join(rng.choice(characters, length, p=weights)))
    chances = np.cumsum(_zipf(len(words), 1.05))
    while True:
        topic = _drawn(rng, chances, 24)
        drawn = [
            words[own if common < 0.55 else n]
            for n, own, common in zip(
                _drawn(rng, chances, 900), rng.choice(topic, 900), rng.random(900), strict=True
            )
        ]
        pieces = ["".join(drawn[start : start + 5]) for start in range(0, len(drawn), 5)]
        yield "，".join(pieces)[:PASSAGE_CHARACTERS]


def vectors(rng: np.random.Generator, count: int, dimensions: int) -> npt.NDArray[np.float32]:
    made = rng.standard_normal((count, dimensions), dtype=np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made


def _words(rng: np.random.Generator, count: int, make: Callable[[int], str]) -> list[str]:
    """Distinct words; the commonest are short."""
    words: dict[str, None] = {}
    while len(words) < count:
        rank = len(words) / count
        words[make(1 + int(rng.binomial(3 if rank > 0.02 else 1, 0.5)))] = None
    return list(words)


def _drawn(rng: np.random.Generator, chances: npt.NDArray[np.float64], count: int) -> list[int]:
    places: list[int] = np.searchsorted(chances, rng.random(count)).clip(max=len(chances) - 1).tolist()
    return places


def _zipf(count: int, exponent: float, head: int = 2) -> npt.NDArray[np.float64]:
    weights = 1.0 / np.arange(head, count + head, dtype=np.float64) ** exponent
    weights /= weights.sum()
    return weights
