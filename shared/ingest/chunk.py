"""Text into chunks: sections of the document, the unit that is summarised.

A chunk is a `#` or `##` section. Small ones join their neighbours until they have 4,000 characters, large
ones are cut at deeper headings, then between blocks towards 40,000. A table or a fence is cut only when it
alone has more; then between rows or lines, with the header row or the opening line repeated in every part.
"""

from __future__ import annotations

import functools
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from shared.domain.ids import content_id
from shared.domain.text import Chunk, Extraction, PageSpan
from shared.ingest.blocks import Block, BlockKind, blocks, starting_in
from shared.ingest.boundaries import Cutter, Places, Sizes, digest, divide, group

MINIMUM = 4_000
TARGET = 40_000
MAXIMUM = 44_000
# Joined small sections that have more are divided again: wide enough that there is a choice of places.
_JOINED = 2 * MINIMUM
_SIZES = Sizes(floor=MINIMUM, low=TARGET - 8_000, high=MAXIMUM, stretch=MAXIMUM, tail=MINIMUM)
# A header row that would fill half of every part is not repeated.
_LONGEST_LEAD = TARGET // 2
_TITLES = 3  # headings that make the title of joined sections

Heading = tuple[int, str]


@dataclass(frozen=True, slots=True)
class _Section:
    start: int
    end: int


def chunk(document_id: str, extraction: Extraction) -> tuple[Chunk, ...]:
    """The chunks of a document in reading order; together they hold all of its text but blank lines between.

    `Chunk.id` follows from the document, the text and how often it occurred before, not from its position.
    """
    text = extraction.markdown
    parts = blocks(text)
    cutter = Cutter(text, _places(parts))
    spans = [
        piece for section in _split(text, parts, 0, len(text), 2) for piece in _fitted(cutter, parts, section)
    ]
    return tuple(_chunks(document_id, extraction, parts, _with_bodies(parts, spans)))


def _split(text: str, parts: Sequence[Block], start: int, end: int, level: int) -> Iterator[_Section]:
    """Sections at headings of `level` and above, the small ones joined, the large ones split deeper."""
    headings = (b for b in starting_in(parts, start + 1, end) if b.kind is BlockKind.HEADING)
    starts = [start, *(heading.start for heading in headings if heading.level <= level)]
    ends = [*starts[1:], end]
    sizes = [last - first for first, last in zip(starts, ends, strict=True)]
    for first, last in group(sizes, [digest(text, at) for at in starts], MINIMUM, _JOINED):
        section = _Section(starts[first], ends[last - 1])
        if section.end - section.start > MAXIMUM and level < 6:
            yield from _split(text, parts, section.start, section.end, level + 1)
        else:
            yield section


def _places(parts: Sequence[Block]) -> Places:
    """Between blocks; inside only those that are over the target alone."""
    large = [block for block in parts if block.end - block.start > TARGET]
    inner = (at for block in large for at in block.inner if at > (block.lead or block.start))
    # A heading stays with what follows it.
    after_heading = {b.start for a, b in pairwise(parts) if a.kind is BlockKind.HEADING}
    between = tuple(block.start for block in parts if block.start not in after_heading)
    return Places((between, tuple(inner)))


def _fitted(cutter: Cutter, parts: Sequence[Block], section: _Section) -> Iterator[_Section]:
    """The section itself, or pieces of it: divided between blocks, then inside of those that are too long."""
    for piece in _divided(cutter, section):
        cuttable = _cuttable(starting_in(parts, piece.start, piece.end))
        bounds = cutter.cut(piece.start, piece.end, functools.partial(_sizes, cutter.text, cuttable))
        yield from (_Section(start, end) for start, end in pairwise(bounds))


def _divided(cutter: Cutter, section: _Section) -> Iterator[_Section]:
    if section.end - section.start <= MAXIMUM:
        yield section
        return
    between = cutter.places.ranks[0]
    inner = between[bisect_left(between, section.start + 1) : bisect_left(between, section.end)]
    offsets = [section.start, *inner, section.end]
    digests = [digest(cutter.text, at) for at in offsets[:-1]]
    bounds = divide(offsets, digests, MINIMUM, MAXIMUM)
    yield from (_Section(offsets[first], offsets[last]) for first, last in pairwise(bounds))


def _sizes(text: str, cuttable: Sequence[Block], at: int) -> Sizes:
    return _SIZES.less(len(_lead(text, cuttable, at)))


def _cuttable(parts: Sequence[Block]) -> list[Block]:
    return [block for block in parts if block.lead and block.end - block.start > TARGET]


def _lead(text: str, cuttable: Sequence[Block], at: int) -> str:
    """The lines to repeat in front of a piece that starts at `at`, inside a table or a fence."""
    for block in cuttable:
        if block.lead and block.lead <= at < block.end:
            place = bisect_left(block.inner, at)
            if at == block.lead or block.inner[place : place + 1] == (at,):
                lines = text[block.start : block.lead]
                return lines if len(lines) <= _LONGEST_LEAD else ""
    return ""


def _with_bodies(parts: Sequence[Block], spans: Sequence[_Section]) -> list[_Section]:
    """Headings with nothing below them at the very end go with the text before."""
    kept = list(spans)
    while len(kept) > 1:
        inside = starting_in(parts, kept[-1].start, kept[-1].end)
        if not inside or any(block.kind is not BlockKind.HEADING for block in inside):
            break
        if kept[-1].end - kept[-2].start > MAXIMUM:
            break
        last = kept.pop()
        kept[-1] = _Section(kept[-1].start, last.end)
    return kept


def _chunks(
    document_id: str, extraction: Extraction, parts: Sequence[Block], spans: Sequence[_Section]
) -> Iterator[Chunk]:
    text = extraction.markdown
    seen: Counter[str] = Counter()
    outer: tuple[Heading, ...] = ()
    ordinal = 0
    large = _cuttable(parts)
    for span in spans:
        inside = [b for b in starting_in(parts, span.start, span.end) if b.kind is BlockKind.HEADING]
        start, end = trimmed(text, span.start, span.end)
        if start < end:
            header = _lead(text, large, start)
            body = header + text[start:end]
            key = " ".join(body.split())
            opens = bool(inside) and inside[0].start <= start
            paths = section_paths(outer, [(b.level, b.title) for b in inside], starts_with_heading=opens)
            yield Chunk(
                id=content_id("chk", document_id, key, seen[key]),
                ordinal=ordinal,
                text=body,
                start=start,
                end=end,
                heading_path=shared_path(paths),
                title=_title(outer, inside, extraction.title, opens=opens),
                pages=pages_of(extraction.pages, start, end),
                header=header,
                outer=outer,
            )
            seen[key] += 1
            ordinal += 1
        for block in inside:
            outer = under(outer, (block.level, block.title))


def under(outer: tuple[Heading, ...], heading: Heading) -> tuple[Heading, ...]:
    """The headings in force below `heading`."""
    return (*(above for above in outer if above[0] < heading[0]), heading)


def section_paths(
    outer: tuple[Heading, ...], headings: Sequence[Heading], *, starts_with_heading: bool
) -> list[tuple[str, ...]]:
    """The heading path of every section in a text; the first belongs to what stands before any heading."""
    paths = [] if starts_with_heading else [tuple(title for _, title in outer)]
    for heading in headings:
        outer = under(outer, heading)
        paths.append(tuple(title for _, title in outer))
    return paths


def shared_path(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The longest path that all begin with."""
    if not paths:
        return ()
    common = paths[0]
    for path in paths[1:]:
        size = next(
            (i for i, (a, b) in enumerate(zip(common, path, strict=False)) if a != b),
            min(len(common), len(path)),
        )
        common = common[:size]
    return common


def _title(outer: tuple[Heading, ...], inside: Sequence[Block], document: str | None, *, opens: bool) -> str:
    """The headings at the top of the chunk, or the one above it; never only the first of several."""
    top = [] if inside and opens else [outer[-1][1] if outer else document or ""]
    highest = min((block.level for block in inside), default=0)
    titles = [block.title for block in inside if block.level == highest or (opens and block is inside[0])]
    kept = [title for title in (*top, *titles) if title]
    return " · ".join(kept[:_TITLES]) + (" …" if len(kept) > _TITLES else "")


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without blank lines around; the first line keeps its indentation."""
    end = start + len(text[start:end].rstrip())
    lead = text[start:end]
    blank = len(lead) - len(lead.lstrip())
    return start + max(lead.rfind("\n", 0, blank) + 1, 0), end


def pages_of(pages: Sequence[PageSpan], start: int, end: int) -> tuple[int, int] | None:
    """The first and last page that `[start, end)` touches."""
    touched = [page.number for page in pages if page.start < end and start < page.end]
    return (touched[0], touched[-1]) if touched else None
