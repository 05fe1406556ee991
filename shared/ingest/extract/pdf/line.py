"""A line of text on a page, with the little geometry that layout needs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple


class Box(NamedTuple):
    """In points, `y` upwards, turned so that the page's text runs to the right. A tuple, for speed."""

    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def width(self) -> float:
        return self.x1 - self.x0

    @property
    def height(self) -> float:
        return self.y1 - self.y0

    def shared_width(self, other: Box) -> float:
        """How much of the narrower one lies below or above the other, 0 to 1."""
        shared = min(self.x1, other.x1) - max(self.x0, other.x0)
        return shared / max(min(self.width, other.width), 1.0)

    @staticmethod
    def around(boxes: Iterable[Box]) -> Box:
        """The box around one or more."""
        x0, y0, x1, y1 = zip(*boxes, strict=True)
        return Box(min(x0), min(y0), max(x1), max(y1))

    def mirrored(self) -> Box:
        """As if text that runs to the left ran to the right."""
        return Box(-self.x1, self.y0, -self.x0, self.y1)

    def holds(self, x: float, y: float) -> bool:
        return self.x0 <= x <= self.x1 and self.y0 <= y <= self.y1


@dataclass(frozen=True, slots=True)
class Line:
    """`start` and `end` are indices of the page's characters; `aside` marks text that runs in another
    direction than the page's; `table` marks Markdown of a table that stands here instead of lines. `size` is
    the font's, as drawn: nominal sizes are scaled by matrices."""

    text: str
    box: Box
    size: float
    bold: bool
    start: int
    end: int
    aside: bool = False
    table: bool = False

    @property
    def letter(self) -> float:
        """The mean width of a character."""
        return self.box.width / max(len(self.text), 1)
