"""Lines into paragraphs."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise

from shared.ingest.extract.pdf.line import Box, Line
from shared.ingest.extract.pdf.order import LineBlock
from shared.ingest.extract.pdf.words import JOINT, Hyphens

_BULLETS = "•●▪◦‣∙·○■□➢➤✓\uf0b7\uf0a7\uf076\uf0d8–—*-"
_BULLET = re.compile(rf"^[{re.escape(_BULLETS)}]\s+(?=\S)")
_NUMBER = re.compile(
    r"^(?:\d{1,3}[.)]|\(?[a-z][.)]|\(?[ivx]{1,5}[.)]|\(\d{1,3}\))\s+(?=\S)|^\d+(?:\.\d+)+\s+(?=[A-Z])"
)
_RULE = re.compile(r"^[\s\-–—_=*.·]{4,}$")
_RULE_MARKS = "-–—_=*.·"
_LEADERS = re.compile(r"(?:\.\s?){4,}")
_END = re.compile(r"[.!?:;。！？；：…][\"'”’»)\]]*$")
_NO_SPACES = re.compile(r"[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uff60]")
_HANGUL = re.compile(r"[\uac00-\ud7a3]")
_FIRST_WIDE = "\u2e80"  # scripts from here on break lines inside words
_HYPHENS = {"-", "\u2010", JOINT}
_INDENT = (0.9, 6.0)  # in font heights
_LOOSE = 1.3  # times the usual distance between lines: a new paragraph
_WIDEST = 1.8  # times the size: lines further apart than that are no running text
_SAME_SIZE = 0.1


class Kind(StrEnum):
    TEXT = "text"
    ITEM = "item"
    HEADING = "heading"
    TABLE = "table"
    RULE = "rule"


@dataclass(slots=True)
class Paragraph:
    """`text` may hold line ends that are the author's own. `open` says that its last line is full and ends no
    sentence, so that it may go on elsewhere."""

    kind: Kind
    text: str
    box: Box
    size: float
    bold: bool
    lines: int = 1
    open: bool = False
    level: int = 0


@dataclass(frozen=True, slots=True)
class Typography:
    """What is usual in a document: the height of its text, the distance of lines by their height (rounded),
    and whether Korean lines end with a blank where a word ends."""

    body: float
    leading: dict[int, float] = field(default_factory=dict)
    hangul_blanks: bool = False

    def distance(self, size: float) -> float:
        return min(self.leading.get(round(size), 1.2 * size), _WIDEST * size)


def typography(blocks: Iterable[LineBlock]) -> Typography:
    sizes: Counter[float] = Counter()
    distances: dict[int, list[float]] = defaultdict(list)
    hangul = blanks = 0
    for block in blocks:
        for line in block.lines:
            if not line.table:
                sizes[round(line.size * 2) / 2] += len(line.text)
                if line.text.rstrip()[-1:] >= _FIRST_WIDE and _HANGUL.match(line.text.rstrip()[-1:]):
                    hangul, blanks = hangul + 1, blanks + line.text.endswith(" ")
        for above, below in pairwise(block.lines):
            if abs(above.size - below.size) < 1:
                distances[round(below.size)].append(_distance(above, below))
    leading = {size: _median(found) for size, found in distances.items()}
    body = sizes.most_common(1)[0][0] if sizes else 10.0
    return Typography(body, leading, hangul_blanks=blanks > 0.1 * hangul)


def paragraphs(blocks: Sequence[LineBlock], style: Typography, hyphens: Hyphens) -> list[Paragraph]:
    """The paragraphs of one page."""
    found: list[Paragraph] = []
    for block in blocks:
        for tight in _tight(block.lines, style):
            right = _right(tight, block.lines)
            found.extend(_paragraph(run, right, style, hyphens) for run in _runs(tight, right))
    return list(_continued(found, hyphens))


def _tight(lines: Sequence[Line], style: Typography) -> Iterator[list[Line]]:
    """Runs of lines of one size at the usual distance."""
    run = [lines[0]]
    for above, line in pairwise(lines):
        apart = _distance(above, line) > _LOOSE * style.distance(line.size)
        if apart or not _same_size(above, line):
            yield run
            run = []
        run.append(line)
    yield run


def _median(values: Iterable[float]) -> float:
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


def _distance(above: Line, line: Line) -> float:
    """From line to line. Not from foot to foot: pdfium sometimes takes two lines for one."""
    return above.box.y0 - line.box.y1 + min(above.box.height, line.box.height)


def _same_size(line: Line | Paragraph, other: Line | Paragraph) -> bool:
    return abs(line.size - other.size) <= _SAME_SIZE * max(line.size, other.size)


def _right(tight: Sequence[Line], block: Sequence[Line]) -> float:
    """Where the column ends: one or two lines alone do not show it."""
    lines = tight if len(tight) > 2 else [line for line in block if _same_size(line, tight[0])]
    return max(line.box.x1 for line in lines)


def _runs(lines: Sequence[Line], right: float) -> Iterator[list[Line]]:
    run = [lines[0]]
    for above, line in pairwise(lines):
        if _breaks(above, line, right, run[0]):
            yield run
            run = []
        run.append(line)
    yield run


def _breaks(above: Line, line: Line, right: float, first: Line) -> bool:
    """Whether `line` begins a new paragraph."""
    if _is_rule(above.text) or _is_rule(line.text) or _item(line.text):
        return True
    full = _is_full(above, line.text, right)
    if above.bold != line.bold and not full:
        return True
    ended = _ended(above.text)
    if ended and not full:
        return True
    low, high = (factor * line.size for factor in _INDENT)
    return ended and not _item(first.text) and low < line.box.x0 - above.box.x0 < high


def _is_full(line: Line, following: str, right: float) -> bool:
    """Whether the next line's first word would not have fitted behind `line`."""
    if line.text.endswith(JOINT):
        return True
    if line.box.x1 > right:
        return True
    size = 1 if following[0] >= _FIRST_WIDE else len(following.partition(" ")[0]) + 1
    return line.box.x1 + size * line.letter > right


def _ended(text: str) -> bool:
    """Whether a sentence ends where `text` does."""
    return bool(_END.search(text.rstrip()[-6:]))


def _is_rule(text: str) -> bool:
    return text[0] in _RULE_MARKS and bool(_RULE.match(text))


def _item(text: str) -> bool:
    if not text:
        return False
    if text[0] in _BULLETS:
        return bool(_BULLET.match(text))
    return ("." in text[:9] or ")" in text[:9]) and bool(_NUMBER.match(text))


def _paragraph(run: Sequence[Line], right: float, style: Typography, hyphens: Hyphens) -> Paragraph:
    first, last = run[0], run[-1]
    box = Box.around(line.box for line in run)
    if first.table:
        return Paragraph(Kind.TABLE, first.text, box, first.size, bold=False)
    if _is_rule(first.text):
        return Paragraph(Kind.RULE, first.text, box, first.size, bold=False)
    text = first.text
    for above, line in pairwise(run):
        full = _is_full(above, line.text, right)
        text = join(text, line.text, hyphens, full=full, hangul_blanks=style.hangul_blanks)
    text = hyphens.mend(text).strip()
    if ".." in text or ". ." in text:
        text = _LEADERS.sub(" … ", text)
    kind = Kind.ITEM if _item(text) else Kind.TEXT
    if _BULLET.match(text):
        text = "- " + _BULLET.sub("", text)
    ended = _ended(text)
    is_open = not ended and last.box.x1 > right - 0.1 * max(box.width, 1) and len(text) > 20
    return Paragraph(
        kind, text, box, _median(x.size for x in run), all(x.bold for x in run), len(run), is_open
    )


def join(text: str, line: str, hyphens: Hyphens, *, full: bool, hangul_blanks: bool = False) -> str:
    """`text` with a further line: closed up where a word or a script without blanks goes on."""
    before, after = text.rstrip(), line.lstrip()
    cut = before[-1:] in _HYPHENS and re.search(r"([^\W\d_]+).$", before[-80:])
    rest = re.match(r"[^\W\d_]+", after)
    if cut and rest and after[0].islower():
        return before[: -len(cut[0])] + hyphens.join(cut[1], rest[0]) + after[rest.end() :]
    if not full:
        return f"{before}\n{after}"
    if after[0] < _FIRST_WIDE:
        return f"{before} {after}"
    if _NO_SPACES.match(before[-1:]) and _NO_SPACES.match(after[:1]):
        return before + after
    inside_word = hangul_blanks and not text.endswith(" ")
    if inside_word and _HANGUL.match(before[-1:]) and _HANGUL.match(after[:1]):
        return before + after
    return f"{before} {after}"


def goes_on(above: Paragraph, below: Paragraph) -> bool:
    """Whether `below`, in the next column or on the next page, continues the sentence of `above`."""
    if not above.open or above.kind not in {Kind.TEXT, Kind.ITEM} or below.kind is not Kind.TEXT:
        return False
    if not _same_size(above, below) or above.bold != below.bold:
        return False
    first = below.text[:1]
    return first.islower() or bool(_NO_SPACES.match(first) and _NO_SPACES.match(above.text[-1:]))


def _continued(found: Sequence[Paragraph], hyphens: Hyphens) -> Iterator[Paragraph]:
    """Joins what a column's end has parted."""
    held: Paragraph | None = None
    for paragraph in found:
        if held is not None and _next_column(held, paragraph) and goes_on(held, paragraph):
            held.text = join(held.text, paragraph.text, hyphens, full=True)
            held.open = paragraph.open
            held.lines += paragraph.lines
            continue
        if held is not None:
            yield held
        held = paragraph
    if held is not None:
        yield held


def _next_column(above: Paragraph, below: Paragraph) -> bool:
    return below.box.y1 > above.box.y1 - above.size and below.box.shared_width(above.box) < 0.3
