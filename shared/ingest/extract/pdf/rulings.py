"""Ruling lines of a page: what its paths draw straight along or across."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pypdfium2.raw as pdfium

from shared.ingest.extract.pdf.reading import Turn

_SHORTEST = 4.0  # points
_SNAP = 2.0
_MOST_SEGMENTS = 400  # of one path; more is a drawing
_MOST_RULINGS = 1_500  # of one page; more is a drawing or a map
_DEPTH = 3  # of forms in forms

Point = tuple[float, float]
Matrix = tuple[float, float, float, float, float, float]
_IDENTITY: Matrix = (1, 0, 0, 1, 0, 0)


@dataclass(frozen=True, slots=True)
class Ruling:
    """Along one axis at `at`, from `start` to `end` on the other."""

    at: float
    start: float
    end: float

    def covers(self, place: float) -> bool:
        return self.start - _SNAP <= place <= self.end + _SNAP


@dataclass(frozen=True, slots=True)
class Rulings:
    across: tuple[Ruling, ...]
    upright: tuple[Ruling, ...]


# Most pages have no paths and many text objects. Called with plain integers instead of typed pointers, the
# two functions that tell so cost half as much.
_get_object = ctypes.cast(
    pdfium.FPDFPage_GetObject, ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
)
_type_of = ctypes.cast(pdfium.FPDFPageObj_GetType, ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p))


def has_paths(page: Any) -> bool:
    """Whether a page draws anything, itself or in a form, that could be a ruling line."""
    address = ctypes.cast(page, ctypes.c_void_p).value
    drawn = (pdfium.FPDF_PAGEOBJ_PATH, pdfium.FPDF_PAGEOBJ_FORM)
    return any(
        _type_of(_get_object(address, index)) in drawn for index in range(pdfium.FPDFPage_CountObjects(page))
    )


def rulings(page: Any, turn: Turn) -> Rulings:
    """The merged rulings of a page; none when it has so many that they must be a drawing."""
    across: list[Ruling] = []
    upright: list[Ruling] = []
    if not has_paths(page):
        return Rulings((), ())
    for (x0, y0), (x1, y1) in _strokes(page):
        box = turn.box(x0, y0, x1, y1)
        if box.width >= _SHORTEST and box.height < 1:
            across.append(Ruling(box.y0, box.x0, box.x1))
        elif box.height >= _SHORTEST and box.width < 1:
            upright.append(Ruling(box.x0, box.y0, box.y1))
        if len(across) + len(upright) > _MOST_RULINGS:
            return Rulings((), ())
    return Rulings(tuple(_merged(across)), tuple(_merged(upright)))


def _strokes(page: object) -> Iterator[tuple[Point, Point]]:
    count, get = pdfium.FPDFPage_CountObjects, pdfium.FPDFPage_GetObject
    yield from _of_objects(page, count, get, _IDENTITY, _DEPTH)


def _of_objects(
    holder: object, count: Callable[..., Any], get: Callable[..., Any], matrix: Matrix, depth: int
) -> Iterator[tuple[Point, Point]]:
    kind_of = pdfium.FPDFPageObj_GetType
    for index in range(count(holder)):
        item = get(holder, index)
        kind = kind_of(item)
        if kind == pdfium.FPDF_PAGEOBJ_PATH:
            yield from _of_path(item, matrix)
        elif kind == pdfium.FPDF_PAGEOBJ_FORM and depth:
            inner = _times(_matrix(item), matrix)
            count_in, get_in = pdfium.FPDFFormObj_CountObjects, pdfium.FPDFFormObj_GetObject
            yield from _of_objects(item, count_in, get_in, inner, depth - 1)


def _of_path(path: object, outer: Matrix) -> Iterator[tuple[Point, Point]]:
    total = pdfium.FPDFPath_CountSegments(path)
    if not 2 <= total <= _MOST_SEGMENTS:
        return
    matrix = _times(_matrix(path), outer)
    x, y = ctypes.c_float(), ctypes.c_float()
    start = last = (0.0, 0.0)
    for index in range(total):
        segment = pdfium.FPDFPath_GetPathSegment(path, index)
        pdfium.FPDFPathSegment_GetPoint(segment, x, y)
        point = _moved((x.value, y.value), matrix)
        kind = pdfium.FPDFPathSegment_GetType(segment)
        if kind == pdfium.FPDF_SEGMENT_MOVETO:
            start = point
        elif kind == pdfium.FPDF_SEGMENT_LINETO:
            yield last, point
        last = point
        if pdfium.FPDFPathSegment_GetClose(segment):
            yield last, start
            last = start


def _matrix(item: object) -> Matrix:
    found = pdfium.FS_MATRIX()
    if not pdfium.FPDFPageObj_GetMatrix(item, found):
        return _IDENTITY
    return (found.a, found.b, found.c, found.d, found.e, found.f)


def _times(m: Matrix, n: Matrix) -> Matrix:
    return (
        m[0] * n[0] + m[1] * n[2],
        m[0] * n[1] + m[1] * n[3],
        m[2] * n[0] + m[3] * n[2],
        m[2] * n[1] + m[3] * n[3],
        m[4] * n[0] + m[5] * n[2] + n[4],
        m[4] * n[1] + m[5] * n[3] + n[5],
    )


def _moved(point: Point, m: Matrix) -> Point:
    x, y = point
    return (x * m[0] + y * m[2] + m[4], x * m[1] + y * m[3] + m[5])


def _merged(found: list[Ruling]) -> list[Ruling]:
    """Pieces of one line as one: at nearly the same place, overlapping or touching."""
    lines: list[list[Ruling]] = []
    for ruling in sorted(found, key=lambda ruling: ruling.at):
        if lines and ruling.at - lines[-1][-1].at <= _SNAP:
            lines[-1].append(ruling)
        else:
            lines.append([ruling])
    merged = []
    for line in lines:
        at = sum(ruling.at for ruling in line) / len(line)
        pieces = sorted(line, key=lambda ruling: ruling.start)
        start, end = pieces[0].start, pieces[0].end
        for piece in pieces[1:]:
            if piece.start > end + _SNAP:
                merged.append(Ruling(at, start, end))
                start, end = piece.start, piece.end
            end = max(end, piece.end)
        merged.append(Ruling(at, start, end))
    return merged
