"""Pages of lines as one Markdown text whose pages can be cited."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from shared.domain.errors import NoTextError
from shared.domain.knowledge import Coverage
from shared.domain.text import Extraction, PageSpan
from shared.ingest.extract.escape import escape_line
from shared.ingest.extract.pdf.furniture import without_furniture
from shared.ingest.extract.pdf.headings import Bookmark, mark_headings
from shared.ingest.extract.pdf.layout import Kind, Paragraph, goes_on, join, paragraphs, typography
from shared.ingest.extract.pdf.line import Box, Line
from shared.ingest.extract.pdf.order import ordered
from shared.ingest.extract.pdf.words import Hyphens

SCAN_HINT = "A scan has to go through text recognition (OCR) first."


@dataclass(frozen=True, slots=True)
class Page:
    """`picture`: one picture covers most of it; `scan`: and its few letters are no text of their own;
    `shows`: there is more on it than blank paper. `values` are those of its form fields."""

    number: int
    lines: list[Line]
    values: list[str] = field(default_factory=list)
    scan: bool = False
    picture: bool = False
    shows: bool = True


def write(
    pages: Sequence[Page], bookmarks: Sequence[Bookmark], *, title: str | None, language: str | None
) -> Extraction:
    """Raises `NoTextError` when no page gave text."""
    hyphens = Hyphens([line.text for page in pages for line in page.lines])
    lines = without_furniture([page.lines for page in pages])
    coverage = _coverage(pages, lines)
    blocks = [ordered(page) for page in lines]
    style = typography(block for page in blocks for block in page)
    laid_out = [paragraphs(page, style, hyphens) for page in blocks]
    mark_headings(laid_out, bookmarks, style)
    for page, found in zip(pages, laid_out, strict=True):
        found.extend(_field(value) for value in page.values)
    first = next((p.text for page in laid_out for p in page if p.kind is Kind.HEADING), None)
    markdown, spans = _with_spans(pages, laid_out, hyphens)
    return Extraction(markdown, coverage, title=title or first, language=language, pages=spans)


def _coverage(pages: Sequence[Page], kept: Sequence[Sequence[Line]]) -> Coverage:
    missing = []
    with_text = 0
    for page, lines in zip(pages, kept, strict=True):
        # On a picture, what also stands on every other page is a stamp.
        words = lines if page.picture else page.lines
        if (words or page.values) and not page.scan:
            with_text += 1
        elif page.shows:
            missing.append(str(page.number))
    if not with_text:
        raise NoTextError(f"None of the PDF's {len(pages)} page(s) holds text", hint=SCAN_HINT)
    return Coverage("page", len(pages), with_text, tuple(missing))


def _field(value: str) -> Paragraph:
    return Paragraph(Kind.ITEM, f"- {value}", Box(0, 0, 0, 0), 0, bold=False)


def _with_spans(
    pages: Sequence[Page], laid_out: Sequence[list[Paragraph]], hyphens: Hyphens
) -> tuple[str, tuple[PageSpan, ...]]:
    """The text, and the pages with words; a sentence that runs over a page's end is not broken there."""
    filled = [(page.number, found) for page, found in zip(pages, laid_out, strict=True) if found]
    seams = [_seam(above[-1], below[0], hyphens) for (_, above), (_, below) in pairwise(filled)]
    parts: list[str] = []
    spans: list[PageSpan] = []
    at = 0
    for (number, found), seam in zip(filled, [*seams, "\n"], strict=True):
        part = _markdown(found) + seam
        spans.append(PageSpan(number, at, at + len(part)))
        parts.append(part)
        at += len(part)
    return "".join(parts), tuple(spans)


def _seam(above: Paragraph, below: Paragraph, hyphens: Hyphens) -> str:
    """What stands between two pages. Takes the hyphen off a word that goes on."""
    if not goes_on(above, below):
        return "\n\n"
    joined = join(above.text, below.text, hyphens, full=True)
    before = joined.removesuffix(below.text)
    if len(before) == len(joined):
        # The first word below is half a word and was changed, which a seam cannot do.
        return " "
    text = above.text.rstrip()
    above.text = before.rstrip() if before.rstrip() in {text, text[:-1]} else text
    return before[len(before.rstrip()) :]


def _markdown(found: Sequence[Paragraph]) -> str:
    return "".join(_pieces(found))


def _pieces(found: Sequence[Paragraph]) -> Iterator[str]:
    for index, paragraph in enumerate(found):
        if index:
            tight = paragraph.kind is Kind.ITEM is found[index - 1].kind
            yield "\n" if tight else "\n\n"
        yield _block(paragraph)


def _block(paragraph: Paragraph) -> str:
    match paragraph.kind:
        case Kind.HEADING:
            return "#" * paragraph.level + " " + " ".join(paragraph.text.split())
        case Kind.TABLE:
            return paragraph.text
        case Kind.RULE:
            return "---"
        case _:
            return "\n".join(escape_line(line) for line in paragraph.text.split("\n"))
