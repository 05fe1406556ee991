"""Markdown and plain text: kept as they are, but for what would turn plain words into markup."""

from __future__ import annotations

import re

from shared.domain.knowledge import Coverage
from shared.domain.text import Extraction
from shared.ingest.extract.decode import decode
from shared.ingest.extract.detect import Format
from shared.ingest.extract.hints import Hints

_HASHES = re.compile(r"^( {0,3})(#{1,6})(?=[ \t]|$)", re.MULTILINE)


def read(data: bytes, format_: Format, hints: Hints) -> Extraction:
    """The text itself. In plain text a line that starts with `#` is no heading, and is escaped."""
    text = decode(data, hints.charset)
    if format_ is Format.TEXT:
        text = _HASHES.sub(r"\1\\\2", text.replace("\r\n", "\n").replace("\r", "\n"))
    return Extraction(text, Coverage("section", 1, 1))
