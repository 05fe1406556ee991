"""The lines of a page, as pdfium puts them together, with their places."""

from __future__ import annotations

import ctypes
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

from shared.ingest.extract.pdf.line import Box, Line
from shared.ingest.extract.pdf.words import JOINT

_NAME_BYTES = 256
_QUARTERS = 4
_DOWN = 3
_FIRST_UPRIGHT = "\u2e80"  # scripts from here on can be written in columns
# In the names of fonts; the last ones are those of TeX and of its URW fonts.
_BOLD = (b"bold", b"black", b"heavy", b"-bd", b"demi", b"-medi", b"cmbx", b"sfbx")


@dataclass(frozen=True, slots=True)
class Turn:
    """How a page is turned, in quarters: its boxes are turned back by it."""

    quarters: int

    def box(self, left: float, bottom: float, right: float, top: float) -> Box:
        if left > right:
            left, right = right, left
        if bottom > top:
            bottom, top = top, bottom
        match self.quarters:
            case 0:
                return Box(left, bottom, right, top)
            case 1:
                return Box(bottom, -right, top, -left)
            case 2:
                return Box(-right, -top, -left, -bottom)
            case _:
                return Box(-top, left, -bottom, right)


class _Span(NamedTuple):
    """A line's words and where they stand in the page's text."""

    text: str
    at: int


class PageReader:
    """Reads pages one after the other; the buffers for pdfium's answers are made once."""

    def __init__(self) -> None:
        self._rect = pdfium.FS_RECTF()
        self._last_rect = pdfium.FS_RECTF()
        self._matrix = pdfium.FS_MATRIX()
        self._name = ctypes.create_string_buffer(_NAME_BYTES)
        self._flags = ctypes.c_int()
        self._weights: dict[bytes, bool] = {}

    def lines(self, text_page: pypdfium2.PdfTextPage) -> tuple[list[Line], Turn]:
        """The lines in the order of the page's content, and how its text is turned."""
        text = text_page.get_text_range()
        page = text_page.raw
        index = _indices(text_page, text)
        spans = list(_spans(text))
        if JOINT in text:
            spans = [part for span in spans for part in self._at_joints(page, span, index)]
        fonts = [self._line_font(page, span, index) for span in spans]
        turn = Turn(Counter(quarters for _, quarters in fonts).most_common(1)[0][0] if fonts else 0)
        lines = []
        for span, (drawn, quarters) in zip(spans, fonts, strict=True):
            first, last = index(span.at), index(span.at + len(span.text.rstrip()) - 1)
            box = self._span_box(page, turn, first, last)
            # A bullet or a raised number is no measure of its line.
            size = drawn if span.text[0].isalpha() else max(drawn, self._font(page, last)[0])
            bold = self._bold(page, first)
            lines.append(
                Line(span.text, box, size, bold, first, max(last, first) + 1, quarters != turn.quarters)
            )
        return lines, turn

    def _line_font(self, page: object, span: _Span, index: Callable[[int], int]) -> tuple[float, int]:
        """The size of a line's font, and in how many quarters it is turned: upright glyphs that stand below
        each other, as in Japanese books, read like a line that runs down."""
        first = index(span.at)
        size, quarters = self._font(page, first)
        words = span.text.rstrip()
        if len(words) > 2 and words[0] >= _FIRST_UPRIGHT and quarters == 0:
            last = index(span.at + len(words) - 1)
            box = Box.around([self._box(page, Turn(0), first), self._box(page, Turn(0), last)])
            quarters = _DOWN if box.height > 2 * box.width else 0
        return size, quarters

    def _at_joints(self, page: object, span: _Span, index: Callable[[int], int]) -> Iterator[_Span]:
        """Parts a line where pdfium took a hyphen away and went on with the next one. The mark stays."""
        at = span.text.find(JOINT)
        while 0 < at < len(span.text) - 1:
            if self._turns(page, index(span.at + at - 1), index(span.at + at + 1)):
                yield _Span(span.text[: at + 1], span.at)
                span = _Span(span.text[at + 1 :], span.at + at + 1)
                at = -1
            at = span.text.find(JOINT, at + 1)
        yield span

    def _turns(self, page: object, before: int, after: int) -> bool:
        """Whether two characters stand on different lines."""
        turn = Turn(self._font(page, before)[1])
        first, second = self._box(page, turn, before), self._box(page, turn, after)
        return abs(first.y0 - second.y0) > 0.5 * min(first.height, second.height) or second.x0 < first.x0

    def _font(self, page: object, index: int) -> tuple[float, int]:
        """The size of a character's font as drawn, and in how many quarters it is turned."""
        nominal: float = pdfium.FPDFText_GetFontSize(page, index)
        matrix = self._matrix
        if not pdfium.FPDFText_GetMatrix(page, index, matrix):
            return nominal, 0
        a, b = matrix.a, matrix.b
        quarters = round(math.atan2(b, a) / (math.pi / 2)) % _QUARTERS if b else 2 * (a < 0)
        return nominal * math.hypot(matrix.c, matrix.d), quarters

    def _box(self, page: object, turn: Turn, index: int) -> Box:
        rect = self._rect
        if not pdfium.FPDFText_GetLooseCharBox(page, index, rect):
            return Box(0, 0, 0, 0)
        return turn.box(rect.left, rect.bottom, rect.right, rect.top)

    def _span_box(self, page: object, turn: Turn, first: int, last: int) -> Box:
        """The box around two characters and what is between them."""
        a, b = self._rect, self._last_rect
        if turn.quarters or not (
            pdfium.FPDFText_GetLooseCharBox(page, first, a) and pdfium.FPDFText_GetLooseCharBox(page, last, b)
        ):
            return Box.around([self._box(page, turn, first), self._box(page, turn, last)])
        return Box(min(a.left, b.left), min(a.bottom, b.bottom), max(a.right, b.right), max(a.top, b.top))

    def _bold(self, page: object, index: int) -> bool:
        size = pdfium.FPDFText_GetFontInfo(page, index, self._name, _NAME_BYTES, self._flags)
        name = self._name.value.lower() if size else b""
        known = self._weights.get(name)
        if known is None:
            known = self._weights[name] = any(mark in name for mark in _BOLD)
        return known


def _indices(text_page: pypdfium2.PdfTextPage, text: str) -> Callable[[int], int]:
    """From places in the text to the page's characters. Characters beyond the basic plane are one in Python
    and two in pdfium's text, and some of its characters are not in its text at all."""
    if len(text) == text_page.count_chars():
        return lambda at: at
    units = list(accumulate((2 if character > "\uffff" else 1 for character in text), initial=0))
    return lambda at: max(pdfium.FPDFText_GetCharIndexFromTextIndex(text_page, units[at]), 0)


def _spans(text: str) -> Iterator[_Span]:
    """Every line with words, without the blanks in front and behind; one blank at the end is left, for it
    tells that the line did not end inside a word."""
    at = 0
    for raw in text.split("\r\n"):
        words = raw.strip()
        if words:
            yield _Span(words + " " * raw.endswith(" "), at + len(raw) - len(raw.lstrip()))
        at += len(raw) + 2
