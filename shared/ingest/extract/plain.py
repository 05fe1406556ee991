"""Markdown and plain text: kept as they are, but for what would turn plain words into markup."""

from __future__ import annotations

import re

from shared.domain.knowledge import Coverage
from shared.domain.text import Extraction
from shared.ingest.extract.decode import decode
from shared.ingest.extract.detect import Format
from shared.ingest.extract.hints import Hints

_HASHES = re.compile(r"^( {0,3})(#{1,6})(?=[ \t]|$)", re.MULTILINE)

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n---[ \t]*\n", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title[ \t]*:[ \t]*(\S.*)$", re.MULTILINE | re.IGNORECASE)
_UNDERLINE = re.compile(r"=+[ \t]*\Z")


def read(data: bytes, format_: Format, hints: Hints) -> Extraction:
    """The text itself. In plain text a line that starts with `#` is no heading, and is escaped."""
    text = decode(data, hints.charset).replace("\r\n", "\n").replace("\r", "\n")
    if format_ is Format.TEXT:
        text = _HASHES.sub(r"\1\\\2", text)
    title = _title(text) if format_ is Format.MARKDOWN else None
    return Extraction(text, Coverage("section", 1, 1), title=title)


def _title(text: str) -> str | None:
    """The title in the front matter, or a heading with which the text begins."""
    front = _FRONT_MATTER.match(text)
    if front:
        named = _FRONT_TITLE.search(front[1])
        if named:
            return named[1].strip(" \"'")
        text = text[front.end() :]
    lines = text.lstrip().split("\n", 2)
    if lines[0].startswith("# "):
        return lines[0].strip("# \t")
    return lines[0].strip() if len(lines) > 1 and _UNDERLINE.match(lines[1]) else None
