"""Chunks into passages: overlapping windows of about 1,000 characters, the unit that is embedded and cited.

A window begins at a heading, between paragraphs, or at a sentence's end where a paragraph is long; inside a
table between rows, with the header row repeated; inside code between lines.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from shared.domain.ids import content_id
from shared.domain.text import Chunk, PageSpan, Passage
from shared.ingest.blocks import Block, BlockKind, blocks
from shared.ingest.boundaries import Cutter, Places, Sizes, digest, group
from shared.ingest.chunk import Heading, pages_of, section_paths, shared_path, trimmed
from shared.ports import TokenCounter

OVERLAP = 200
_SIZES = Sizes(floor=400, low=600, high=1_400, stretch=4_000, tail=150)
# A section of this weight has windows of its own, so that a citation names its heading and page. A character
# of Chinese, Japanese or Korean says about as much as three letters.
_OWN = 150
_WIDE_WEIGHT = 3
_WIDE = "\u2e80"
# A header row is repeated in front of rows while it leaves most of the window to them.
_LONGEST_HEADER = 500
# A window that spans several sections is named after the one that has this share of it.
_DOMINANT = 0.6
# The nearest headings say what a window is about; the outermost ones are the same for the whole document.
_HEADINGS_EMBEDDED = 2
_HEADING_EMBEDDED = 80

_Path = tuple[str, ...]


def passages(
    document_id: str,
    chunks: Iterable[Chunk],
    *,
    pages: Sequence[PageSpan],
    count_tokens: TokenCounter,
    max_tokens: int,
) -> tuple[Passage, ...]:
    """The passages of all chunks of a document, in order. None has more than `max_tokens` as it is embedded.

    `Passage.id` follows from the document, the text and how often it occurred before in the document: not
    from the chunk or the position, so that an edit elsewhere leaves it as it is.
    """
    seen: Counter[str] = Counter()
    made = []
    for chunk in chunks:
        for window in _ChunkWindows(chunk, count_tokens, max_tokens).windows():
            text = window.text(chunk)
            offset = chunk.start - len(chunk.header)
            made.append(
                Passage(
                    id=content_id("psg", document_id, text, seen[text]),
                    chunk_id=chunk.id,
                    text=text,
                    start=window.start,
                    end=window.end,
                    heading_path=window.path,
                    pages=pages_of(pages, max(offset + window.start, chunk.start), offset + window.end),
                    header=window.header,
                )
            )
            seen[text] += 1
    return tuple(made)


def embedding_text(heading_path: _Path, text: str) -> str:
    """What is embedded: a passage under its nearest headings, so that a window from the middle of a section
    is still found by the section's subject."""
    headings = [h[:_HEADING_EMBEDDED] for h in heading_path[-_HEADINGS_EMBEDDED:] if h not in text]
    return "\n".join([*headings, text])


@dataclass(frozen=True, slots=True)
class _Window:
    start: int
    end: int
    header: tuple[int, int] | None
    path: _Path

    def text(self, chunk: Chunk) -> str:
        lead = chunk.text[slice(*self.header)] if self.header else ""
        return lead + chunk.text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class _Section:
    start: int
    end: int
    path: _Path


class _ChunkWindows:
    """The windows of one chunk."""

    def __init__(self, chunk: Chunk, count_tokens: TokenCounter, max_tokens: int) -> None:
        self._chunk = chunk
        self._count = count_tokens
        self._max = max_tokens
        self._overlap = min(OVERLAP, max_tokens // 4)
        self._blocks = blocks(chunk.text)
        self._sections = _sections(chunk.text, chunk.outer, self._blocks)
        self._starts = [section.start for section in self._sections]
        self._cutter = Cutter(chunk.text, _places(self._blocks))
        tables = [block for block in self._blocks if block.kind is BlockKind.TABLE]
        self._tables = [block for block in tables if self._repeatable(block)]

    def windows(self) -> Iterator[_Window]:
        sizes = [_weight(self._chunk.text[section.start : section.end]) for section in self._sections]
        digests = [digest(self._chunk.text, section.start) for section in self._sections]
        for first, last in group(sizes, digests, _OWN, 3 * _OWN):
            start, end = trimmed(self._chunk.text, self._sections[first].start, self._sections[last - 1].end)
            if start < end:
                yield from self._cut(start, end)

    def _cut(self, start: int, end: int) -> Iterator[_Window]:
        bounds = self._cutter.cut(start, end, lambda _at: _SIZES, self._over)
        for before, at, stop in zip([start, *bounds], bounds, bounds[1:], strict=False):
            window = self._window(before, at, stop)
            if window.start < window.end:
                yield window

    def _window(self, before: int, at: int, stop: int) -> _Window:
        """The piece `[at, stop)` with its overlap; where the model takes so little that the overlap would be
        most of it, with less."""
        overlaps = [self._overlap]
        if stop - at < 2 * self._overlap:
            overlaps += [self._overlap // 4, 0]
        for overlap in overlaps:
            window = self._with_overlap(before, at, stop, overlap)
            if self._tokens(window) <= self._max:
                break
        return window

    def _with_overlap(self, before: int, at: int, stop: int, overlap: int) -> _Window:
        """The overlap does not reach beyond the piece before."""
        start = self._cutter.overlap(at, overlap, before) if overlap and before < at else at
        start, end = trimmed(self._chunk.text, start, stop)
        header = next(((t.start, t.lead) for t in self._tables if t.lead and t.lead <= start < t.end), None)
        return _Window(start, end, header, self._path(at, stop))

    def _over(self, before: int, at: int, stop: int) -> float:
        return self._tokens(self._window(before, at, stop)) / self._max

    def _tokens(self, window: _Window) -> int:
        return self._count(embedding_text(window.path, window.text(self._chunk)))

    def _path(self, start: int, end: int) -> _Path:
        """The path of the section that most of the text belongs to, else what all its sections share."""
        first = max(bisect_right(self._starts, start) - 1, 0)
        shares = [
            (min(end, section.end) - max(start, section.start), section.path)
            for section in self._sections[first : bisect_left(self._starts, end)]
        ]
        if not shares:
            return self._chunk.heading_path
        size, path = max(shares, key=lambda share: share[0])
        if size >= _DOMINANT * sum(share for share, _ in shares):
            return path
        return shared_path([path for _, path in shares]) or path

    def _repeatable(self, table: Block) -> bool:
        header = self._chunk.text[table.start : table.lead]
        return len(header) <= _LONGEST_HEADER and self._count(header) <= self._max // 3


def _weight(text: str) -> int:
    return len(text) + (_WIDE_WEIGHT - 1) * sum(character >= _WIDE for character in text)


def path_at(text: str, outer: tuple[Heading, ...], at: int) -> _Path:
    """The headings in force at a place of a chunk's text; `outer` are those in force before it."""
    sections = _sections(text, outer, blocks(text))
    return next((section.path for section in reversed(sections) if section.start <= at), sections[0].path)


def _sections(text: str, outer: tuple[Heading, ...], parts: Sequence[Block]) -> list[_Section]:
    headings = [block for block in parts if block.kind is BlockKind.HEADING]
    opens = bool(headings) and not text[: headings[0].start].strip()
    starts = [heading.start for heading in headings]
    if opens:
        starts[0] = 0
    else:
        starts.insert(0, 0)
    found = [(heading.level, heading.title) for heading in headings]
    paths = section_paths(outer, found, starts_with_heading=opens)
    ends = [*starts[1:], len(text)]
    return [_Section(start, end, path) for start, end, path in zip(starts, ends, paths, strict=True)]


def _places(parts: Sequence[Block]) -> Places:
    after_heading = {b.start for a, b in pairwise(parts) if a.kind is BlockKind.HEADING}
    between = tuple(block.start for block in parts if block.start not in after_heading)
    inner = tuple(at for block in parts for at in block.inner)
    whole = tuple(
        (block.start, block.end) for block in parts if block.kind in {BlockKind.TABLE, BlockKind.CODE}
    )
    return Places((between, inner), whole)
