"""CSV: delimiter, quoting and encoding are detected over the whole file."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence

from shared.domain.knowledge import Coverage
from shared.domain.text import Extraction
from shared.ingest.extract.decode import decode
from shared.ingest.extract.detect import Format
from shared.ingest.extract.grid import sheet
from shared.ingest.extract.hints import Hints

DELIMITERS = ",;\t|"
_SAMPLE = 256 * 1024
_PREFERENCE = {",": 3, ";": 2, "\t": 2, "|": 1}


def read(data: bytes, _format: Format, hints: Hints) -> Extraction:
    """One table, with the lines above it as paragraphs."""
    csv.field_size_limit(len(data) + 1)
    text = decode(data, hints.charset)
    rows = records(text, best_delimiter(text))
    return Extraction(sheet(rows), Coverage("section", 1, 1))


def records(text: str, delimiter: str) -> list[list[str]]:
    """The records of the whole text. Quotes may be doubled or, where it is plain that they are, escaped by a
    backslash."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    escaped = '\\"' in text and '\\""' not in text
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        doublequote=not escaped,
        escapechar="\\" if escaped else None,
        strict=False,
    )
    return [[cell.strip() for cell in row] for row in reader]


def best_delimiter(text: str) -> str:
    """The delimiter under which most records have the same number of cells."""
    sample = text[:_SAMPLE]
    if len(text) > _SAMPLE:
        sample = sample[: max(sample.rfind("\n"), sample.rfind("\r")) + 1] or sample
    return max(DELIMITERS, key=lambda delimiter: _score(records(sample, delimiter), delimiter))


def _score(rows: Sequence[Sequence[str]], delimiter: str) -> tuple[float, int]:
    """How much of the file is a regular table under this delimiter; one column is no table."""
    widths = Counter(len(row) for row in rows if any(row))
    if not widths:
        return (0.0, 0)
    width, count = max(widths.items(), key=lambda item: (item[1] * (item[0] > 1), item[0]))
    regular = count / sum(widths.values()) if width > 1 else 0.0
    return (round(regular, 2), _PREFERENCE[delimiter])
