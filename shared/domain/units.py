"""What a stretch of Markdown says, piece by piece: sentences, list items and table rows that each make sense
alone. Summaries and quoting answers choose among these."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from shared.domain.sentences import split_sentences


class UnitKind(StrEnum):
    HEADING = "heading"
    SENTENCE = "sentence"
    ITEM = "item"
    ROW = "row"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Unit:
    """`text` reads alone: a table row names its columns, links keep their words only, emphasis is gone.
    `heading` is the nearest heading above it inside the same text, or empty."""

    kind: UnitKind
    text: str
    heading: str = ""


_QUOTE = re.compile(r"^\s{0,3}>[ >]*")
_FENCE = re.compile(r"\s{0,3}(```+|~~~+)")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(?P<title>.*?)\s*#*\s*$")
_ITEM = re.compile(r"\s*(?:[-*+•]|\(?\d{1,3}[.)])\s+(?P<text>.*)$")
_ROW = re.compile(r"\s*\|.*\|\s*$")
_RULE = re.compile(r"\s*\|?\s*:?-{3,}:?\s*(?:\|\s*:?-{3,}:?\s*)*\|?\s*$")
_CELLS = re.compile(r"(?<!\\)\|")

# Bounded on purpose: text comes from strangers, and an unbounded `.+?` over "[[[[…" takes quadratic time.
_IMAGE = re.compile(r"!\[[^\[\]]{0,500}\]\([^()]{0,2000}\)")
_LINK = re.compile(r"\[([^\[\]]{1,500})\]\((?:[^()]|\([^()]{0,500}\)){0,2000}\)")
_EMPHASIS = re.compile(r"(\*\*|__)(?=\S)(.{1,500}?)(?<=\S)\1")
_TAG = re.compile(r"<!--.{0,1000}?-->|</?[A-Za-z][^<>]{0,200}>", re.DOTALL)
_WRAPPED_CJK = re.compile(
    r"(?<=[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef])[ \t]*\n[ \t]*(?=[\u2e80-\u9fff\uf900-\ufaff])"
)


def units(markdown: str) -> tuple[Unit, ...]:
    """The pieces of `markdown` in reading order."""
    found: list[Unit] = []
    heading = ""
    for kind, lines in _runs(markdown):
        for unit in _read(kind, lines, heading):
            found.append(unit)
            if unit.kind is UnitKind.HEADING:
                heading = unit.text
    return tuple(found)


def plain(markdown: str) -> str:
    """One line of reading text: images and tags dropped, links reduced to their words, emphasis removed."""
    text = _LINK.sub(r"\1", _IMAGE.sub("", markdown))
    text = _WRAPPED_CJK.sub("", _TAG.sub("", _EMPHASIS.sub(r"\2", text)))
    return " ".join(text.replace(r"\|", "|").split())


def _runs(markdown: str) -> Iterator[tuple[UnitKind | None, list[str]]]:
    """Neighbouring lines of one kind; None for blank ones. Rows and code keep together, headings do not."""
    for kind, group in groupby(_labelled(markdown), key=lambda pair: pair[0]):
        yield kind, [line for _, line in group]


def _labelled(markdown: str) -> Iterator[tuple[UnitKind | None, str]]:
    fence: str | None = None
    kind: UnitKind | None = None
    for raw in markdown.splitlines():
        line = raw if fence is not None else _QUOTE.sub("", raw)
        mark = _FENCE.match(line)
        if fence is not None:
            yield UnitKind.CODE, line
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = None
            continue
        if mark:
            fence, kind = mark[1], UnitKind.CODE
        else:
            kind = _kind(line, kind)
        yield kind, line


def _kind(line: str, before: UnitKind | None) -> UnitKind | None:
    if not line.strip():
        return None
    if _HEADING.match(line):
        return UnitKind.HEADING
    if _ROW.match(line) or (before is UnitKind.ROW and "|" in line):
        return UnitKind.ROW
    if _ITEM.match(line) or (before is UnitKind.ITEM and line[0].isspace()):
        return UnitKind.ITEM
    return UnitKind.SENTENCE


def _read(kind: UnitKind | None, lines: list[str], heading: str) -> Iterator[Unit]:
    if kind is UnitKind.HEADING:
        for line in lines:
            match = _HEADING.match(line)
            yield Unit(kind, plain(match["title"] if match else line), heading)
    elif kind is UnitKind.ROW:
        yield from (Unit(kind, text, heading) for text in _rows(lines))
    elif kind is UnitKind.ITEM:
        yield from (Unit(kind, text, heading) for text in map(plain, _items(lines)) if text)
    elif kind is UnitKind.CODE:
        yield Unit(kind, "\n".join(lines), heading)
    elif kind is UnitKind.SENTENCE:
        text = plain("\n".join(lines))
        yield from (Unit(kind, sentence.text, heading) for sentence in split_sentences(text))


def _items(lines: list[str]) -> Iterator[str]:
    """Each item with the indented lines that continue it."""
    item: list[str] = []
    for line in lines:
        match = _ITEM.match(line)
        if match:
            if item:
                yield " ".join(item)
            item = [match["text"]]
        else:
            item.append(line.strip())
    if item:
        yield " ".join(item)


def _rows(lines: list[str]) -> Iterator[str]:
    """Rows as `Column: value; Column: value`. Without a header row the cells stand alone."""
    cells = [_cells(line) for line in lines]
    ruled = len(lines) > 1 and bool(_RULE.match(lines[1]))
    header = cells[0] if ruled else []
    for line, row in zip(lines[2:] if ruled else lines, cells[2:] if ruled else cells, strict=True):
        if _RULE.match(line):
            continue
        named = [_named(header[at] if at < len(header) else "", value) for at, value in enumerate(row)]
        text = "; ".join(filter(None, named))
        if text:
            yield text


def _cells(line: str) -> list[str]:
    return [plain(cell) for cell in _CELLS.split(line.strip().removeprefix("|").removesuffix("|"))]


def _named(column: str, value: str) -> str:
    if not value:
        return ""
    return f"{column}: {value}" if column and column != value else value
