"""Rows of cells as Markdown: pipe tables, and the titles that stand above them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from shared.domain.errors import TextTooLargeError
from shared.ingest.extract.escape import escape_line
from shared.ingest.extract.limits import MAX_TEXT_BYTES

Row = Sequence[str]
SparseRow = dict[int, str]
"""The filled cells of a row by column."""

_CELL_BYTES = 3  # an empty one takes, with its border


def pipe_table(rows: Sequence[Row]) -> str:
    """A table with its first row as the header; short rows are filled up. No trailing newline.

    Raises `TextTooLargeError` when its borders alone would be more text than a document may have.
    """
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


def sheet(rows: Iterable[SparseRow]) -> str:
    """Rows of a spreadsheet as Markdown; an empty one stands for any number of empty rows.

    Rows with a single cell above a table are its titles and become paragraphs; what empty rows part stays one
    table while it goes on in the same columns; empty columns are left out.
    """
    return "\n\n".join(block for part in _parts(rows) for block in _blocks(part))


def _blocks(part: list[SparseRow]) -> Iterator[str]:
    widest = max(map(len, part))
    first = next(index for index, row in enumerate(part) if len(row) > 1) if widest > 1 else len(part)
    for row in part[:first]:
        yield from map(paragraph, row.values())
    if first < len(part):
        body = part[first:]
        columns = sorted({column for row in body for column in row})
        yield pipe_table([[row.get(column, "") for column in columns] for row in body])


def _parts(rows: Iterable[SparseRow]) -> Iterator[list[SparseRow]]:
    """Runs of rows between empty ones, joined again when they go on in the same columns."""
    part: list[SparseRow] = []
    gap = False
    for row in rows:
        if not row:
            gap = True
            continue
        if part and gap and not _same_columns(part[-1], row):
            yield part
            part = []
        part.append(row)
        gap = False
    if part:
        yield part


def _same_columns(row: SparseRow, other: SparseRow) -> bool:
    return min(row) == min(other) and max(row) == max(other) and len(row) > 1


def paragraph(text: str) -> str:
    """Plain words as one paragraph that Markdown does not take for something else."""
    return escape_line(" ".join(text.split()), lists=True)


def _line(row: Row) -> str:
    return "| " + " | ".join(cell(text) for text in row) + " |"
