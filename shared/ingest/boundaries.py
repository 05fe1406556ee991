"""Where text is cut: at places chosen by what stands there, so that an edit moves only its neighbours.

Counting characters from the start would move every later boundary with each edit. Here a boundary is, of
all good places in a stretch of text, the one whose following words have the smallest hash: two versions of
a text that differ in one place choose the same boundaries again a little behind it.
"""

from __future__ import annotations

import functools
import re
import unicodedata
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, field, replace
from itertools import accumulate, pairwise

from shared.domain.sentences import split_sentences

_HASHED = 48  # characters behind a place that decide its hash
_JOINERS = {"\u200d", "\ufe0e", "\ufe0f"}
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_FLAGS = range(0x1F1E6, 0x1F200)

_LINE_ENDS = re.compile(r"\n\s*")
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Places:
    """Where a text may be cut, best first: each rank holds sorted offsets. `whole` are spans (of tables and
    code) inside which only the ranks count, never a blank between two words."""

    ranks: tuple[tuple[int, ...], ...]
    whole: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Sizes:
    """In characters: a piece ends between `low` and `high` where there is a place; else at the last good
    place from `floor` on. A row or line that is longer may stay whole up to `stretch`. What is left at the
    end has `tail` or more."""

    floor: int
    low: int
    high: int
    stretch: int
    tail: int

    def scaled(self, factor: float) -> Sizes:
        return Sizes(*(max(1, int(size * factor)) for size in astuple(self)))

    def less(self, overhead: int) -> Sizes:
        """The same with `overhead` characters repeated in front of the piece."""
        return Sizes(*(max(1, size - overhead) for size in astuple(self)))

    def before(self, left: int) -> Sizes:
        """The same where `left` characters are left, more than fit: the last ones make a piece, too."""
        high = max(min(self.high, left - self.tail), 1)
        return replace(self, floor=min(self.floor, high), low=min(self.low, high), high=high)


@dataclass(slots=True)
class Cutter:
    """Cuts one text. Sentence ends are found when first asked for."""

    text: str
    places: Places
    _sentences: list[int] | None = field(default=None, init=False)

    def cut(
        self,
        start: int,
        end: int,
        sizes: Callable[[int], Sizes],
        fit: Callable[[int, int, int], float] = lambda _before, _start, _end: 1.0,
    ) -> list[int]:
        """Boundaries from `start` to `end`, both included. `sizes(at)` are those of a piece starting there;
        `fit(before, start, end)` says how many times over its limit a piece is (1 or less: it fits), where
        `before` is the start of the piece before it."""
        bounds = [start]
        while bounds[-1] < end:
            at, before = bounds[-1], bounds[max(len(bounds) - 2, 0)]
            bounds.append(self._next(at, end, sizes(at), functools.partial(fit, before, at)))
        return bounds

    def _next(self, at: int, end: int, sizes: Sizes, fit: Callable[[int], float]) -> int:
        factor = 1.0
        while True:
            now = sizes.scaled(factor)
            left = end - at
            stop = end if left <= now.high else self._choose(at, end, now.before(left))
            over = fit(stop)
            if over <= 1 or stop - at <= 1:
                return stop
            factor = min(factor * 0.8, factor * 0.95 / over)

    def _choose(self, at: int, end: int, sizes: Sizes) -> int:
        """The best place for the end of a piece that starts at `at` and may not reach `end`."""
        for rank in self.places.ranks:
            found = self._best(_between(rank, at + sizes.low, at + sizes.high))
            if found is None:
                earlier = _between(rank, at + sizes.floor, at + sizes.low - 1)
                found = earlier[-1] if earlier else None
            if found is not None:
                return found
        if self._inside_whole(at + sizes.high):
            return self._around(at, end, sizes)
        return self._inside(at, sizes)

    def _around(self, at: int, end: int, sizes: Sizes) -> int:
        """No row or line ends in the window: take the next end, when it is not too far."""
        later = [
            found
            for rank in self.places.ranks
            for found in _between(rank, at + sizes.high + 1, min(at + sizes.stretch, end))[:1]
        ]
        if later:
            return min(later)
        if end - at <= sizes.stretch:
            return end
        return self._inside(at, sizes)

    def _inside(self, at: int, sizes: Sizes) -> int:
        """A place in running text: a sentence's end, a blank, or between any two characters."""
        low, high = at + sizes.low, at + sizes.high
        sentences = _between(self._sentence_ends(), low, high)
        if sentences:
            return self._best(sentences) or high
        for pattern in (_LINE_ENDS, _BLANKS):
            found = [match.end() for match in pattern.finditer(self.text, low, high)]
            if found:
                return self._best(found) or high
        anywhere = [place for place in range(low, high + 1) if self._between_characters(place)]
        return self._best(anywhere) or high

    def overlap(self, at: int, size: int, floor: int) -> int:
        """Where the overlap of a piece that starts at `at` begins: at most `size` characters earlier, not
        before `floor`, at the furthest good place; `at` itself inside tables and code with long lines."""
        earliest = max(at - size, floor)
        for places in (*self.places.ranks, self._sentence_ends()):
            found = _between(places, earliest, at - 1)
            if found:
                return found[0]
        if earliest == floor:
            return floor
        if self._inside_whole(at - 1):
            return at
        blank = _BLANKS.search(self.text, earliest, at)
        if blank and blank.end() < at:
            return blank.end()
        while earliest < at and not self._between_characters(earliest):
            earliest += 1
        return earliest

    def _best(self, places: Sequence[int]) -> int | None:
        return min(places, key=lambda at: (digest(self.text, at), at)) if places else None

    def _inside_whole(self, at: int) -> bool:
        index = bisect_right(self.places.whole, (at, len(self.text) + 1)) - 1
        return index >= 0 and self.places.whole[index][0] <= at < self.places.whole[index][1]

    def _sentence_ends(self) -> list[int]:
        if self._sentences is None:
            self._sentences = [sentence.start for sentence in split_sentences(self.text)]
        return self._sentences

    def _between_characters(self, at: int) -> bool:
        """Whether a cut here tears no character that is written with several code points."""
        if not 0 < at < len(self.text):
            return True
        before, after = self.text[at - 1], self.text[at]
        if after in _JOINERS or before == "\u200d" or ord(after) in _SKIN_TONES:
            return False
        if ord(after) in _FLAGS and ord(before) in _FLAGS:
            return False
        return not unicodedata.category(after).startswith("M")


def group(
    weights: Sequence[int], digests: Sequence[int], minimum: int, maximum: int
) -> list[tuple[int, int]]:
    """Joins small neighbouring sections into runs, as (first, last + 1).

    `weights` are the sections' sizes, `digests` hashes of their beginnings. A section that has the minimum by
    itself ends its run, and begins one unless what stands before it has too little to be alone; only the last
    run may have less. Runs of more than the maximum are divided.
    """
    grouped: list[tuple[int, int]] = []
    for first, last in _runs(weights, minimum):
        offsets = list(accumulate(weights[first:last], initial=0))
        bounds = divide(offsets, digests[first:last], minimum, maximum)
        grouped += [(first + start, first + end) for start, end in pairwise(bounds)]
    return grouped


def _runs(weights: Sequence[int], minimum: int) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    first = total = 0
    for index, weight in enumerate(weights):
        if weight >= minimum and total >= minimum:
            runs.append((first, index))
            first, total = index, 0
        total += weight
        if weight >= minimum:
            runs.append((first, index + 1))
            first, total = index + 1, 0
    if first < len(weights):
        runs.append((first, len(weights)))
    return runs


def divide(offsets: Sequence[int], digests: Sequence[int], minimum: int, maximum: int) -> list[int]:
    """Which of the sorted offsets are boundaries: their places in `offsets`, the first and the last included.
    `digests` are hashes of what begins at each offset but the last.

    What is longer than `maximum` is divided at the offset with the smallest hash, and so are its parts. None
    is shorter than `minimum` and, while it can be, than a quarter of the whole; one may stay longer than
    `maximum` where there is no place. A boundary depends on no other but the few that it lies between: those
    of two versions of a text cannot run out of step, as they could where each is chosen from the one before.
    """
    bounds = [0]
    waiting = [(0, len(offsets) - 1)]
    while waiting:
        first, last = waiting.pop()
        inner = _inside(offsets, first, last, minimum, maximum)
        if inner:
            at = min(inner, key=digests.__getitem__)
            waiting += [(at, last), (first, at)]
        elif last > first:
            bounds.append(last)
    return bounds


def _inside(offsets: Sequence[int], first: int, last: int, minimum: int, maximum: int) -> range:
    """Where what is between two offsets may be divided."""
    start, end = offsets[first], offsets[last]
    if end - start <= maximum:
        return range(0)
    quarter = min(end - start, 2 * maximum) // 4
    for margin in (max(quarter, minimum), minimum):
        low = bisect_left(offsets, start + margin, first + 1, last)
        high = bisect_right(offsets, end - margin, first + 1, last)
        if low < high:
            return range(low, high)
    return range(0)


def digest(text: str, at: int) -> int:
    """A hash of the words behind `at`."""
    return zlib.crc32(text[at : at + _HASHED].encode("utf-8", "surrogatepass"))


def _between(places: Sequence[int], low: int, high: int) -> Sequence[int]:
    return places[bisect_left(places, low) : bisect_right(places, high)]
