"""HTML tables: told from tables that only arrange a page, and laid out with their spans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from shared.domain.errors import UnsafeFileError

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_LONGEST_CELL = 1_500  # characters; a cell with more arranges, it does not tabulate
_LONGEST_NESTED = 500  # of a table inside a cell, to be flattened into it
_MOST_SPAN = 200
_MOST_CELLS = 200_000
_ARRANGED = ("h1", "h2", "h3", "form", "article", "section", "main")


def table_rows(table: HtmlElement, text_of: Callable[[HtmlElement], str]) -> list[list[str]] | None:
    """The cells row by row, the header first; `None` for a table that only arranges its content.

    A cell that spans columns or rows stands at its first place, the others are empty. Several header rows
    become one.
    """
    if _arranges(table):
        return None
    rows = [row for row in table.iter("tr") if next(row.iterancestors("table"), None) is table]
    grid = _grid(rows, text_of)
    header = sum(1 for row in rows if _is_header(row))
    if 1 < header < len(grid) and header <= 3:
        grid = [_joined(grid[:header]), *grid[header:]]
    grid = [row for row in grid if any(row)]
    width = max(map(len, grid), default=0)
    kept = [column for column in range(width) if any(column < len(row) and row[column] for row in grid)]
    if len(kept) == 1 and len(grid) == 1:
        return None
    return [[row[column] if column < len(row) else "" for column in kept] for row in grid]


def _arranges(table: HtmlElement) -> bool:
    if table.get("role") in {"presentation", "none"}:
        return True
    cells = [cell for cell in table.iter("td", "th") if next(cell.iterancestors("table"), None) is table]
    if len(cells) < 2:
        return True
    if any(len(_text(inner)) > _LONGEST_NESTED for inner in table.iterdescendants("table")):
        return True
    if next(table.iterdescendants(*_ARRANGED), None) is not None:
        return True
    return any(len(_text(cell)) > _LONGEST_CELL for cell in cells)


def _text(element: HtmlElement) -> str:
    return " ".join("".join(element.itertext()).split())


def _is_header(row: HtmlElement) -> bool:
    parent = row.getparent()
    return parent is not None and parent.tag == "thead"


def _grid(rows: Sequence[HtmlElement], text_of: Callable[[HtmlElement], str]) -> list[list[str]]:
    grid: list[list[str]] = []
    below: dict[int, int] = {}  # column -> rows that a cell above still covers
    total = 0
    for row in rows:
        line: list[str] = []
        for cell in row:
            if cell.tag not in {"td", "th"}:
                continue
            _skip(line, below)
            across, down = _span(cell, "colspan"), _span(cell, "rowspan")
            for offset in range(across):
                if down > 1:
                    below[len(line)] = down
                line.append("" if offset else " ".join(text_of(cell).split()))
        _skip(line, below)
        below = {column: left - 1 for column, left in below.items() if left > 1}
        grid.append(line)
        total += len(line)
        if total > _MOST_CELLS:
            raise UnsafeFileError(f"A table has more than {_MOST_CELLS:,} cells")
    return grid


def _skip(line: list[str], below: dict[int, int]) -> None:
    """Fills the places that cells above cover."""
    while below.get(len(line), 0) > 0:
        line.append("")


def _span(cell: HtmlElement, name: str) -> int:
    value = cell.get(name, "1").strip()
    return max(1, min(int(value), _MOST_SPAN)) if value.isdecimal() and len(value) < 6 else 1


def _joined(rows: Sequence[Sequence[str]]) -> list[str]:
    """Header rows as one; a group's name stays with its first column."""
    width = max(map(len, rows))
    columns = ([row[i] for row in rows if i < len(row) and row[i]] for i in range(width))
    return [" ".join(dict.fromkeys(column)) for column in columns]
