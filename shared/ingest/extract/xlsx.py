"""XLSX: each visible sheet under its own heading, values as shown. Macros are never looked at; hidden sheets
are left out and counted; hidden rows and columns stay, for filters hide rows that are the sheet's data."""

from __future__ import annotations

from shared.domain.errors import AlmanacError, NoTextError
from shared.domain.knowledge import Coverage
from shared.domain.text import Extraction
from shared.ingest.extract.detect import Format
from shared.ingest.extract.grid import paragraph, sheet
from shared.ingest.extract.hints import Hints
from shared.ingest.extract.ooxml import Package, drawn_lines
from shared.ingest.extract.xlsx_book import Book, Sheet
from shared.ingest.extract.xlsx_cells import Cells

_PICTURES = {"image", "drawing", "chart", "chartsheet"}


def read(data: bytes, _format: Format, _hints: Hints) -> Extraction:
    """Raises `NoTextError` when only hidden sheets hold text, or none."""
    package = Package(data)
    book = Book(package)
    cells = Cells(package, book)
    parts: list[str] = []
    missing: list[str] = []
    left_out = [page.name for page in book.sheets if page.hidden]
    for page in book.sheets:
        if page.hidden:
            continue
        text, shows = _sheet(package, cells, page)
        if text:
            parts.append(f"## {' '.join(page.name.split())}\n\n{text}")
        elif shows:
            missing.append(page.name)
    if not parts:
        hidden = f" ({len(left_out)} hidden)" if left_out else ""
        raise NoTextError(
            f"None of the workbook's {len(book.sheets)} sheet(s){hidden} holds text", hint=_HINT
        )
    coverage = Coverage("sheet", len(book.sheets), len(parts), tuple(missing), tuple(left_out))
    return Extraction("\n\n".join(parts), coverage, title=package.title())


_HINT = "Upload a workbook whose visible sheets have cells with values."


def _sheet(package: Package, cells: Cells, page: Sheet) -> tuple[str, bool]:
    """A sheet's text, and whether it shows anything at all."""
    body = "" if page.is_chart else sheet(cells.rows(page.part))
    drawings = [r.part for r in package.relations(page.part).values() if r.kind == "drawing"]
    lines = [paragraph(line) for part in drawings for line in _drawn(package, part)]
    text = "\n\n".join([body, *lines] if body else lines)
    return text, bool(drawings)


def _drawn(package: Package, part: str) -> list[str]:
    """The words of a sheet's shapes and charts. A damaged drawing costs only itself."""
    charts = [r.part for r in package.relations(part).values() if r.kind == "chart"]
    lines: list[str] = []
    for name in (part, *charts):
        try:
            lines.extend(drawn_lines(package.xml(name)))
        except AlmanacError:
            continue
    return lines
