"""Reading order: the order of the page's content, corrected where it goes against the page."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

from shared.ingest.extract.pdf.line import Box, Line

_MOST_BLOCKS = 150  # a page with more is a drawing or a table; every pair of blocks is compared
_FAR = 2.5  # line heights between two lines of a block
_SHARED = 0.3


@dataclass(slots=True)
class LineBlock:
    """Lines that follow each other downwards in one column."""

    lines: list[Line] = field(default_factory=list)

    @property
    def box(self) -> Box:
        return Box.around(line.box for line in self.lines)


def ordered(lines: Sequence[Line]) -> list[LineBlock]:
    """Blocks in reading order. A block that stands above another in the same column comes before it, whatever
    the order in which the page draws them; nothing else is moved. Text in another direction comes last."""
    blocks = _blocks([line for line in lines if not line.aside])
    asides = _blocks([line for line in lines if line.aside])
    return [*_sorted(blocks), *asides]


def _blocks(lines: Sequence[Line]) -> list[LineBlock]:
    blocks: list[LineBlock] = []
    for line in lines:
        if blocks and _follows(blocks[-1].lines[-1], line):
            blocks[-1].lines.append(line)
        else:
            blocks.append(LineBlock([line]))
    return blocks


def _follows(above: Line, line: Line) -> bool:
    if above.table or line.table:
        return False
    gap = above.box.y0 - line.box.y1
    height = max(above.box.height, line.box.height)
    return -0.6 * height < gap < _FAR * height and above.box.shared_width(line.box) > _SHARED


def _sorted(blocks: list[LineBlock]) -> list[LineBlock]:
    if len(blocks) > _MOST_BLOCKS:
        return blocks
    boxes = [block.box for block in blocks]
    later: list[list[int]] = [[] for _ in blocks]
    waits = [0] * len(blocks)
    conflict = False
    for i, upper in enumerate(boxes):
        for j, lower in enumerate(boxes):
            if i != j and _above(upper, lower):
                later[i].append(j)
                waits[j] += 1
                conflict = conflict or i > j
    if not conflict:
        return blocks
    return _by_constraints(blocks, later, waits)


def _above(upper: Box, lower: Box) -> bool:
    tolerance = 0.2 * min(upper.height, lower.height)
    return upper.y0 >= lower.y1 - tolerance and upper.shared_width(lower) > _SHARED and upper.y1 > lower.y1


def _by_constraints(blocks: list[LineBlock], later: list[list[int]], waits: list[int]) -> list[LineBlock]:
    """Topological order that keeps to the content's order wherever it is free."""
    ready = [index for index, count in enumerate(waits) if not count]
    heapq.heapify(ready)
    order: list[LineBlock] = []
    while ready:
        index = heapq.heappop(ready)
        order.append(blocks[index])
        for follower in later[index]:
            waits[follower] -= 1
            if not waits[follower]:
                heapq.heappush(ready, follower)
    return order if len(order) == len(blocks) else blocks
