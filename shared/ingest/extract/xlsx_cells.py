"""The cells of a sheet as they are shown, row by row, whatever dimensions the sheet claims."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from shared.domain.errors import TextTooLargeError
from shared.ingest.extract.grid import SparseRow
from shared.ingest.extract.limits import MAX_TEXT_BYTES
from shared.ingest.extract.ooxml import Package
from shared.ingest.extract.xlsx_book import Book, S, rich_text, unescaped
from shared.ingest.extract.xlsx_format import shown_date, shown_number

if TYPE_CHECKING:
    from lxml.etree import _Element

_LETTERS = 26
_MOST_COLUMNS = 16_384


class Cells:
    """Reads sheets of one book; the text of all of them together is bounded."""

    def __init__(self, package: Package, book: Book) -> None:
        self._package = package
        self._book = book
        self._characters = 0

    def rows(self, part: str) -> Iterator[SparseRow]:
        """The filled cells of every row; an empty row stands for the empty ones between two."""
        last = 0
        for row in self._package.stream(part, f"{S}row"):
            number = int(row.get("r", last + 1))
            cells = self._cells(row)
            if not cells:
                continue
            if last and number > last + 1:
                yield {}
            last = number
            yield cells

    def _cells(self, row: _Element) -> SparseRow:
        cells: SparseRow = {}
        column = 0
        for cell in row.iterchildren(f"{S}c"):
            column = _column(cell.get("r", "")) or column + 1
            text = self._text(cell)
            if text and text.strip() and column <= _MOST_COLUMNS:
                cells[column] = text
                self._characters += len(text)
        if self._characters > MAX_TEXT_BYTES:
            raise TextTooLargeError(f"The workbook's cells hold more than {MAX_TEXT_BYTES:,} characters")
        return cells

    def _text(self, cell: _Element) -> str:
        """What the cell shows: its stored result, formatted; the formula where no result is stored."""
        kind = cell.get("t", "n")
        value: str | None = cell.findtext(f"{S}v")
        if kind == "inlineStr":
            inline = cell.find(f"{S}is")
            return rich_text(inline) if inline is not None else ""
        if not value:
            return _formula(cell)
        return self._shown(kind, value, self._format(cell) if kind == "n" else "")

    def _shown(self, kind: str, value: str, style: str) -> str:
        match kind:
            case "s":
                index = int(value)
                return self._book.strings[index] if 0 <= index < len(self._book.strings) else ""
            case "b":
                return "TRUE" if value.strip() in {"1", "true"} else "FALSE"
            case "d":
                return shown_date(value)
            case "n":
                return shown_number(value, style, epoch_1904=self._book.epoch_1904)
            case _:
                return unescaped(value)

    def _format(self, cell: _Element) -> str:
        style = cell.get("s", "0")
        index = int(style) if style.isdecimal() else 0
        return self._book.formats[index] if index < len(self._book.formats) else "General"


def _formula(cell: _Element) -> str:
    """A formula whose result was never stored; one that continues its neighbour's has no text of its own."""
    formula = cell.find(f"{S}f")
    if formula is None:
        return ""
    return f"={formula.text}" if formula.text else "(formula)"


def _column(reference: str) -> int:
    """`BC12` is in column 55; 0 where a reference is missing."""
    column = 0
    for character in reference.upper():
        if not "A" <= character <= "Z":
            break
        column = column * _LETTERS + ord(character) - ord("A") + 1
    return column
