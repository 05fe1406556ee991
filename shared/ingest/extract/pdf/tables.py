"""Ruled tables: the grid that ruling lines make, filled with the characters that stand in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import pypdfium2
import pypdfium2.raw as pdfium

from shared.ingest.extract.grid import pipe_table
from shared.ingest.extract.pdf.line import Box, Line
from shared.ingest.extract.pdf.reading import Turn
from shared.ingest.extract.pdf.rulings import Ruling, Rulings
from shared.ingest.extract.pdf.words import Hyphens

_NEAR = 3.0  # points: lines that end this near to another meet it
_MOST_CELLS = 5_000
_LONGEST_CELL = 1_500  # characters; a box with more is a frame around text
_WRAPPED = re.compile(r"(?<=[\u3000-\u30ff\u3400-\u9fff])[\r\n]+(?=[\u3000-\u30ff\u3400-\u9fff])")
_FEWEST_FILLED = 0.2  # of the cells; a grid with fewer is a chart


@dataclass(frozen=True, slots=True)
class Grid:
    """`xs` and `ys` are the borders, ascending; `cell_of` maps (row from the top, column) to the cell that
    covers it, itself named by its first row and column; `box` is the whole."""

    box: Box
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    cell_of: dict[tuple[int, int], tuple[int, int]]

    @property
    def rows(self) -> int:
        return len(self.ys) - 1

    @property
    def columns(self) -> int:
        return len(self.xs) - 1

    def at(self, x: float, y: float) -> tuple[int, int]:
        """The cell around a point of the grid."""
        column = min(bisect_right(self.xs, x), self.columns) - 1
        row = self.rows - min(bisect_right(self.ys, y), self.rows)
        return self.cell_of[max(row, 0), max(column, 0)]


def grids(found: Rulings) -> list[Grid]:
    """The grids of at least two rows and two columns that the rulings make."""
    made = (_grid(across, upright) for across, upright in _groups(found))
    return [grid for grid in made if grid is not None]


def with_tables(
    lines: Sequence[Line],
    text_page: pypdfium2.PdfTextPage,
    turn: Turn,
    found: Sequence[Grid],
    hyphens: Hyphens,
) -> list[Line]:
    """The page's lines, each table in place of the first line that stands in it."""
    if not found:
        return list(lines)
    cells, inside = _fill(lines, text_page, turn, found)
    tables = {i: table for i, grid in enumerate(found) if (table := _table(grid, cells[i], hyphens))}
    inside = {index: number for index, number in inside.items() if number in tables}
    result: list[Line] = []
    placed: set[int] = set()
    for line in lines:
        numbers = [inside[index] for index in range(line.start, line.end) if index in inside]
        for number in dict.fromkeys(numbers):
            if number not in placed:
                placed.add(number)
                box = found[number].box
                result.append(Line(tables[number], box, line.size, False, line.start, line.end, table=True))
        if not numbers:
            result.append(line)
            continue
        left = _outside(line, text_page, inside)
        if left:
            result.append(Line(left, line.box, line.size, line.bold, line.start, line.end))
    return result


def _groups(found: Rulings) -> Iterator[tuple[list[Ruling], list[Ruling]]]:
    """Rulings that touch each other, directly or through others."""
    across, upright = found.across, found.upright
    parent = list(range(len(across) + len(upright)))

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    for i, flat in enumerate(across):
        for j, tall in enumerate(upright, len(across)):
            if _near(flat, tall.at) and _near(tall, flat.at):
                parent[root(i)] = root(j)
    groups: dict[int, tuple[list[Ruling], list[Ruling]]] = defaultdict(lambda: ([], []))
    for i, flat in enumerate(across):
        groups[root(i)][0].append(flat)
    for j, tall in enumerate(upright, len(across)):
        groups[root(j)][1].append(tall)
    yield from groups.values()


def _near(ruling: Ruling, place: float) -> bool:
    return ruling.start - _NEAR <= place <= ruling.end + _NEAR


def _grid(across: Sequence[Ruling], upright: Sequence[Ruling]) -> Grid | None:
    if len(across) < 2 or not upright:
        return None
    # A table that is open at its sides ends where its rulings do.
    xs = _borders(upright, [r.start for r in across], [r.end for r in across])
    ys = _borders(across, [r.start for r in upright], [r.end for r in upright])
    rows, columns = len(ys) - 1, len(xs) - 1
    if rows < 2 or columns < 2 or rows * columns > _MOST_CELLS:
        return None
    return Grid(Box(xs[0], ys[0], xs[-1], ys[-1]), xs, ys, _cells(xs, ys, across, upright))


def _borders(rulings: Sequence[Ruling], starts: Sequence[float], ends: Sequence[float]) -> tuple[float, ...]:
    places = sorted({ruling.at for ruling in rulings} | {min(starts), max(ends)})
    kept = places[:1]
    for place in places[1:]:
        if place - kept[-1] > _NEAR:
            kept.append(place)
    return tuple(kept)


def _cells(
    xs: Sequence[float], ys: Sequence[float], across: Sequence[Ruling], upright: Sequence[Ruling]
) -> dict[tuple[int, int], tuple[int, int]]:
    """Joins what no ruling parts; a cell is named by its place nearest to the top left."""
    rows, columns = len(ys) - 1, len(xs) - 1
    middle_x = [(a + b) / 2 for a, b in pairwise(xs)]
    middle_y = [(a + b) / 2 for a, b in pairwise(ys)][::-1]
    cell_of: dict[tuple[int, int], tuple[int, int]] = {}
    for row in range(rows):
        for column in range(columns):
            name = (row, column)
            if column and not _parted(upright, xs[column], middle_y[row]):
                name = cell_of[row, column - 1]
            if row and not _parted(across, ys[rows - row], middle_x[column]):
                name = min(name, cell_of[row - 1, column])
            cell_of[row, column] = name
    return cell_of


def _parted(rulings: Sequence[Ruling], at: float, place: float) -> bool:
    return any(abs(ruling.at - at) <= _NEAR and ruling.covers(place) for ruling in rulings)


def _fill(
    lines: Sequence[Line], text_page: pypdfium2.PdfTextPage, turn: Turn, found: Sequence[Grid]
) -> tuple[list[dict[tuple[int, int], str]], dict[int, int]]:
    """The text of every cell of every grid, and which grid a character (by index) stands in."""
    page = text_page.raw
    cells: list[dict[tuple[int, int], str]] = [defaultdict(str) for _ in found]
    inside: dict[int, int] = {}
    rect = pdfium.FS_RECTF()
    for line in lines:
        near = [(number, grid) for number, grid in enumerate(found) if _meets(grid.box, line.box)]
        current: tuple[int, tuple[int, int]] | None = None
        for index in range(line.start, line.end) if near else ():
            character = chr(pdfium.FPDFText_GetUnicode(page, index))
            if character.isspace():
                if current is not None:
                    cells[current[0]][current[1]] += "\n" if character in "\r\n" else " "
                continue
            pdfium.FPDFText_GetLooseCharBox(page, index, rect)
            box = turn.box(rect.left, rect.bottom, rect.right, rect.top)
            x, y = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
            current = None
            for number, grid in near:
                if grid.box.holds(x, y):
                    current = (number, grid.at(x, y))
                    cells[number][current[1]] += character
                    inside[index] = number
                    break
        if current is not None:
            cells[current[0]][current[1]] += "\n"
    return cells, inside


def _meets(grid: Box, line: Box) -> bool:
    return grid.x0 <= line.x1 and line.x0 <= grid.x1 and grid.y0 <= line.y1 and line.y0 <= grid.y1


def _table(grid: Grid, cells: dict[tuple[int, int], str], hyphens: Hyphens) -> str | None:
    texts = {name: _words(text, hyphens) for name, text in cells.items()}
    filled = {name for name, text in texts.items() if text}
    names = set(grid.cell_of.values())
    if len({column for _, column in filled}) < 2 or len({row for row, _ in filled}) < 2:
        return None
    if len(filled) < _FEWEST_FILLED * len(names) or max(map(len, texts.values())) > _LONGEST_CELL:
        return None
    rows = [[texts.get((row, column), "") for column in range(grid.columns)] for row in range(grid.rows)]
    kept = [column for column in range(grid.columns) if any(row[column] for row in rows)]
    return pipe_table([[row[column] for column in kept] for row in rows if any(row)])


def _words(text: str, hyphens: Hyphens) -> str:
    return " ".join(_WRAPPED.sub("", hyphens.mend(text)).split())


def _outside(line: Line, text_page: pypdfium2.PdfTextPage, inside: dict[int, int]) -> str:
    characters = (
        chr(pdfium.FPDFText_GetUnicode(text_page, index))
        for index in range(line.start, line.end)
        if index not in inside
    )
    return " ".join("".join(characters).split())
