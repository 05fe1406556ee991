"""Running heads, feet and page numbers: kept once, where they first stand."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from shared.ingest.extract.pdf.line import Line

_FEWEST_PAGES = 4
_NUMBER = "#"
_LINES = 2  # at the top and at the bottom
_SHARE = 0.2  # of pages; heads differ on left and right pages, and from chapter to chapter
# A line that is nothing but a page's number, in words or without.
_PAGE = re.compile(
    r"[\s\-–—·|.\[\]()]*(?:page|p\.|seite|página|pagina|стр\.?|страница|sida|strona|第)?\s*(?:\d{1,4}|[ivxlc]{1,7})"
    r"(?:\s*(?:of|/|von|de|di|из|av|z)\s*\d{1,4})?\s*(?:页|頁|ページ)?[\s\-–—·|.\[\]()]*",
    re.IGNORECASE,
)
_FIRST_NUMBER = re.compile(r"(\d{1,4})\s+(\D+)")
_LAST_NUMBER = re.compile(r"(\D+)\s+(\d{1,4})")
_FEWEST_WORDS = 2  # beside a number, for a running head; "Question 7" on top of a page is none


def without_furniture(pages: Sequence[list[Line]]) -> list[list[Line]]:
    """The pages' lines without what repeats at the same height on many of them."""
    if len(pages) < _FEWEST_PAGES:
        return list(pages)
    edges = [_edges(lines, number) for number, lines in enumerate(pages)]
    counts = Counter(key for page in edges for key in set(page.values()))
    usual = {key for key, count in counts.items() if count >= max(3, _SHARE * len(pages))}
    seen: set[tuple[str, int]] = set()
    kept = []
    for lines, keys in zip(pages, edges, strict=True):
        drop = {index for index, key in keys.items() if key in usual and (key in seen or key[0] == _NUMBER)}
        seen.update(keys.values())
        kept.append([line for index, line in enumerate(lines) if index not in drop])
    return kept


def _edges(lines: Sequence[Line], page: int) -> dict[int, tuple[str, int]]:
    """The outermost lines of a page by index, as text with its page number made relative, and height."""
    upright = [(line.box.y0, index) for index, line in enumerate(lines) if not line.aside and not line.table]
    upright.sort()
    outer = {index for _, index in [*upright[:_LINES], *upright[-_LINES:]]}
    return {index: _key(lines[index], page) for index in outer}


def _key(line: Line, page: int) -> tuple[str, int]:
    text = " ".join(line.text.split())
    height = round(line.box.y0 / 3)
    if _PAGE.fullmatch(text):
        return _NUMBER, height
    first, last = _FIRST_NUMBER.fullmatch(text), _LAST_NUMBER.fullmatch(text)
    if first and len(first[2].split()) >= _FEWEST_WORDS:
        return f"{int(first[1]) - page}# {first[2]}", height
    if last and len(last[1].split()) >= _FEWEST_WORDS:
        return f"{last[1]} #{int(last[2]) - page}", height
    return text, height
