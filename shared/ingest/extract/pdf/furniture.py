"""Running heads, feet and page numbers: kept once, where they first stand."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from shared.ingest.extract.pdf.line import Line

_FEWEST_PAGES = 4
_LINES = 2  # at the top and at the bottom
_SHARE = 0.2  # of pages; heads differ on left and right pages, and from chapter to chapter
_NUMBERS = re.compile(r"\d+|\b[ivxlc]+\b", re.IGNORECASE)


def without_furniture(pages: Sequence[list[Line]]) -> list[list[Line]]:
    """The pages' lines without what repeats at the same height on many of them."""
    if len(pages) < _FEWEST_PAGES:
        return list(pages)
    edges = [_edges(lines) for lines in pages]
    counts = Counter(key for page in edges for key in set(page.values()))
    usual = {key for key, count in counts.items() if count >= max(3, _SHARE * len(pages))}
    seen: set[tuple[str, int]] = set()
    kept = []
    for lines, keys in zip(pages, edges, strict=True):
        drop = {index for index, key in keys.items() if key in usual and (key in seen or _is_number(key))}
        seen.update(keys.values())
        kept.append([line for index, line in enumerate(lines) if index not in drop])
    return kept


def _edges(lines: Sequence[Line]) -> dict[int, tuple[str, int]]:
    """The outermost lines of a page by index, as text without its numbers, and height."""
    upright = [(line.box.y0, index) for index, line in enumerate(lines) if not line.aside and not line.table]
    upright.sort()
    outer = {index for _, index in [*upright[:_LINES], *upright[-_LINES:]]}
    return {index: _key(lines[index]) for index in outer}


def _key(line: Line) -> tuple[str, int]:
    return _NUMBERS.sub("#", " ".join(line.text.split())), round(line.box.y0 / 3)


def _is_number(key: tuple[str, int]) -> bool:
    return not any(character.isalpha() for character in key[0].replace("Page", "").replace("of", ""))
