"""Rows of cells as Markdown: pipe tables, and the titles that stand above them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shared.domain.errors import TextTooLargeError
from shared.ingest.extract.limits import MAX_TEXT_BYTES

Row = Sequence[str]

_CELL_BYTES = 3  # an empty one takes, with its border


def pipe_table(rows: Sequence[Row]) -> str:
    """A table with its first row as the header; short rows are filled up. No trailing newline."""
    width = max(map(len, rows))
    if width * len(rows) * _CELL_BYTES > MAX_TEXT_BYTES:
        raise TextTooLargeError(
            f"A table of {len(rows):,} rows and {width:,} columns is too large to write down"
        )
    lines = [_line([*row, *[""] * (width - len(row))]) for row in rows]
    lines.insert(1, "|" + " --- |" * width)
    return "\n".join(lines)


def cell(text: str) -> str:
    """A cell's text on one line, its pipes escaped."""
    return " ".join(text.split()).replace("|", "\\|")


def sheet(rows: Sequence[Row]) -> str:
    """Rows of a spreadsheet as Markdown.

    Empty rows and columns are left out; rows with a single cell above a table are its titles and become
    paragraphs; what one empty row parts stays one table while its rows have the same width.
    """
    return "\n\n".join(_sheet(_without_empty_columns(rows)))


def _sheet(rows: Sequence[Row]) -> Iterator[str]:
    for part in _parts(rows):
        body = list(part)
        while len(body) > 1 and _filled(body[0]) == 1 < max(map(_filled, body)):
            yield paragraph(next(filter(None, body.pop(0))))
        if max(map(_filled, body)) == 1 and max(map(len, body)) > 1:
            yield from (paragraph(next(filter(None, row))) for row in body)
        else:
            yield pipe_table(_without_empty_columns(body))


def _parts(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Runs of rows between empty ones, joined again when they go on with the same columns."""
    part: list[Row] = []
    gap = False
    for row in rows:
        if not _filled(row):
            gap = True
            continue
        if part and gap and _columns(part[-1]) != _columns(row):
            yield part
            part = []
        part.append(row)
        gap = False
    if part:
        yield part


def _columns(row: Row) -> tuple[int, int]:
    filled = [index for index, text in enumerate(row) if text.strip()]
    return filled[0], filled[-1]


def _filled(row: Row) -> int:
    return sum(1 for text in row if text.strip())


def _without_empty_columns(rows: Sequence[Row]) -> list[Row]:
    kept = sorted({index for row in rows for index, text in enumerate(row) if text.strip()})
    return [[row[index] if index < len(row) else "" for index in kept] for row in rows]


def paragraph(text: str) -> str:
    """Plain words as a paragraph that Markdown does not take for something else."""
    line = " ".join(text.split())
    return "\\" + line if line[:1] in "#>-+*=|~`" else line


def _line(row: Row) -> str:
    return "| " + " | ".join(cell(text) for text in row) + " |"
