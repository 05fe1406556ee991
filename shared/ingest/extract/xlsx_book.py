"""What a workbook says about itself: its sheets, shared strings, number formats, date system."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shared.domain.errors import TextTooLargeError
from shared.ingest.extract.limits import MAX_TEXT_BYTES
from shared.ingest.extract.ooxml import RELATIONS, Package
from shared.ingest.extract.xlsx_format import BUILTIN_FORMATS

if TYPE_CHECKING:
    from lxml.etree import _Element

S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
_MOST_STRINGS = 8 * MAX_TEXT_BYTES  # characters; a table of strings may hold some that no cell uses


@dataclass(frozen=True, slots=True)
class Sheet:
    name: str
    part: str
    hidden: bool
    is_chart: bool


class Book:
    """Read from the container once; a part that is missing leaves its defaults."""

    def __init__(self, package: Package) -> None:
        workbook = package.xml(package.main)
        relations = package.relations(package.main)
        properties = workbook.find(f"{S}workbookPr")
        self.epoch_1904 = properties is not None and properties.get("date1904") in {"1", "true", "on"}
        self.sheets = tuple(
            Sheet(
                node.get("name", ""),
                relation.part,
                node.get("state", "visible") != "visible",
                relation.kind == "chartsheet",
            )
            for node in workbook.iter(f"{S}sheet")
            if (relation := relations.get(node.get(f"{RELATIONS}id", ""))) and relation.part in package.names
        )
        parts = {relation.kind: relation.part for relation in relations.values()}
        self.strings = _part(package, parts.get("sharedStrings"), _strings)
        self.formats = _part(package, parts.get("styles"), _formats)


def _part(package: Package, name: str | None, read: object) -> list[str]:
    if name is None or name not in package.names or not callable(read):
        return []
    return list(read(package, name))


def _strings(package: Package, name: str) -> Iterator[str]:
    total = 0
    for item in package.stream(name, f"{S}si"):
        text = rich_text(item)
        total += len(text)
        if total > _MOST_STRINGS:
            raise TextTooLargeError(f"The workbook's strings have more than {_MOST_STRINGS:,} characters")
        yield text


def rich_text(item: _Element) -> str:
    """The words of a string, its runs joined; what tells how they are pronounced is not part of it."""
    words = []
    for node in item:
        if node.tag == f"{S}t":
            words.append(node.text or "")
        elif node.tag == f"{S}r":
            words.append(node.findtext(f"{S}t") or "")
    return unescaped("".join(words))


def unescaped(text: str) -> str:
    """Control characters are written as `_x000D_`."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text) if "_x" in text else text


def _formats(package: Package, name: str) -> Iterator[str]:
    """The number format of every cell style, by the style's index."""
    tree = package.xml(name)
    codes = dict(BUILTIN_FORMATS)
    for node in tree.iter(f"{S}numFmt"):
        number = node.get("numFmtId", "")
        if number.isdecimal():
            codes[int(number)] = node.get("formatCode", "")
    styles = tree.find(f"{S}cellXfs")
    for style in styles if styles is not None else ():
        number = style.get("numFmtId", "0")
        yield codes.get(int(number) if number.isdecimal() else 0, "General")
