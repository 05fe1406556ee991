"""Headings: from the outline where the file has one, else from the size and weight of type."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from shared.ingest.extract.pdf.layout import Kind, Paragraph, Typography

_LARGER = 1.1  # than the body, to be a heading
_LONGEST = 200  # characters
_MOST_LINES = 4
_SHARE = 0.3  # more of the text than this in a size or weight, and it is no mark of headings
_LEVELS = 4
_MATCHED = 0.5  # of the outline, for the outline alone to decide
_NUMBERING = re.compile(r"^(?:\d+(?:\.\d+)*|[A-Z]|[IVXLC]+)[.):]?(?:\s+|$)|^§\s*")
_WORDS = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Bookmark:
    """An entry of the outline. `page` counts from 0; `top` is the height it points to."""

    title: str
    level: int
    page: int
    top: float | None


def mark_headings(pages: Sequence[list[Paragraph]], bookmarks: Sequence[Bookmark], style: Typography) -> None:
    """Turns paragraphs into headings, in place. Bookmarks that match no line become headings of their own,
    where they point to, when the others show that the outline is to be trusted."""
    matches = [(bookmark, _find(pages, bookmark)) for bookmark in bookmarks]
    found = sum(1 for _, paragraph in matches if paragraph is not None)
    if found and found >= _MATCHED * len(matches):
        for bookmark, paragraph in matches:
            if paragraph is not None:
                paragraph.kind, paragraph.level = Kind.HEADING, min(bookmark.level + 1, 6)
            else:
                _insert(pages, bookmark)
        return
    _by_type(pages, style)
    if not any(p.kind is Kind.HEADING for page in pages for p in page):
        for bookmark in bookmarks:
            _insert(pages, bookmark)


def _find(pages: Sequence[list[Paragraph]], bookmark: Bookmark) -> Paragraph | None:
    wanted = _letters(bookmark.title)
    bare = _letters(_NUMBERING.sub("", bookmark.title))
    for number in (bookmark.page, bookmark.page + 1, bookmark.page - 1):
        if not wanted or not 0 <= number < len(pages):
            continue
        for paragraph in pages[number]:
            if paragraph.kind not in {Kind.TEXT, Kind.ITEM} or len(paragraph.text) > _LONGEST + 50:
                continue
            text = _letters(paragraph.text)
            if text == wanted or (bare and bare in {text, _letters(_NUMBERING.sub("", paragraph.text))}):
                return paragraph
    return None


def _letters(text: str) -> str:
    return "".join(_WORDS.findall(text.casefold()))


def _insert(pages: Sequence[list[Paragraph]], bookmark: Bookmark) -> None:
    if not 0 <= bookmark.page < len(pages) or not pages[bookmark.page] or not _letters(bookmark.title):
        return
    page = pages[bookmark.page]
    top = bookmark.top
    at = 0
    if top is not None:
        at = next((i for i, paragraph in enumerate(page) if paragraph.box.y0 < top), 0)
    neighbour = page[min(at, len(page) - 1)]
    level = min(bookmark.level + 1, 6)
    page.insert(
        at, Paragraph(Kind.HEADING, bookmark.title, neighbour.box, neighbour.size, bold=True, level=level)
    )


def _by_type(pages: Sequence[list[Paragraph]], style: Typography) -> None:
    texts = [p for page in pages for p in page if p.kind in {Kind.TEXT, Kind.ITEM}]
    total = sum(len(p.text) for p in texts) or 1
    volume: Counter[float] = Counter()
    bold = 0
    for p in texts:
        volume[_rounded(p.size)] += len(p.text)
        bold += len(p.text) if p.bold else 0
    large = {size for size in volume if size >= _LARGER * style.body and volume[size] <= _SHARE * total}
    marked = [p for p in texts if _rounded(p.size) in large and _could_be(p)]
    by_size = set(map(id, marked))
    by_weight = bold <= _SHARE * total
    weighty = [
        p for p in texts if by_weight and p.bold and id(p) not in by_size and _is_bold_heading(p, style)
    ]
    if sum(len(p.text) for p in [*marked, *weighty]) > 2 * _SHARE * total:
        return
    levels = _levels(Counter(_rounded(p.size) for p in marked))
    for p in marked:
        p.level = levels[_rounded(p.size)]
    for p in weighty:
        p.level = max(levels.values(), default=0) + 1
    for p in [*marked, *weighty]:
        p.kind = Kind.HEADING
    _title_first(texts, [*marked, *weighty])


def _levels(counts: Counter[float]) -> dict[float, int]:
    """Levels by size. Sizes above the largest one that comes again are those of one title page."""
    sizes = sorted(counts, reverse=True)
    again = next((index for index, size in enumerate(sizes) if counts[size] > 1), 0)
    first = 2 if again else 1
    return {size: 1 if i < again else min(first + i - again, _LEVELS) for i, size in enumerate(sizes)}


def _title_first(texts: Sequence[Paragraph], headings: Sequence[Paragraph]) -> None:
    """A document that opens with a lower heading than others has a title there, though it is set smaller."""
    if not headings or texts[0].kind is not Kind.HEADING or texts[0].level <= min(p.level for p in headings):
        return
    for p in headings:
        p.level = 1 if p is texts[0] else min(p.level + 1, 6)


def _rounded(size: float) -> float:
    return round(size * 2) / 2


def _could_be(p: Paragraph) -> bool:
    letters = sum(character.isalpha() for character in p.text)
    return (
        len(p.text) <= _LONGEST
        and p.lines <= _MOST_LINES
        and letters >= 2
        and letters * 3 >= len(p.text)
        and not p.text.endswith((",", ";", "."))
        and not p.text.startswith("- ")
    )


def _is_bold_heading(p: Paragraph, style: Typography) -> bool:
    short = len(p.text) <= _LONGEST // 2 and p.lines <= 2 and "\n" not in p.text
    return short and p.size >= 0.95 * style.body and _could_be(p) and not p.text.endswith(":")
