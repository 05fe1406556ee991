"""CSV: delimiter, quoting and encoding are detected over the whole file."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from shared.domain.knowledge import Coverage
from shared.domain.text import Extraction
from shared.ingest.extract.decode import decode
from shared.ingest.extract.detect import Format
from shared.ingest.extract.grid import pipe_table, sheet
from shared.ingest.extract.hints import Hints

DELIMITERS = ",;\t|"
_SAMPLE = 256 * 1024
_LEAST_REGULAR = 0.6  # of the records have the same width
_PREFERENCE = {",": 3, ";": 2, "\t": 2, "|": 1}


def read(data: bytes, _format: Format, hints: Hints) -> Extraction:
    """One table, with the lines above it as paragraphs; a file of one column is a table of one."""
    csv.field_size_limit(len(data) + 1)
    text = decode(data, hints.charset).replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    dialect = best_dialect(text)
    if dialect is None:
        lines = [[line.strip().strip('"')] for line in text.split("\n") if line.strip()]
        return Extraction(pipe_table(lines) if lines else "", Coverage("section", 1, 1))
    filled = ({i: cell for i, cell in enumerate(row) if cell} for row in records(text, dialect))
    return Extraction(sheet(filled), Coverage("section", 1, 1))


@dataclass(frozen=True, slots=True)
class Dialect:
    """`escaped`: quotes inside quotes have a backslash in front instead of being doubled."""

    delimiter: str
    escaped: bool = False


def records(text: str, dialect: Dialect) -> list[list[str]]:
    """The records of a text with Unix line ends, blanks around their cells removed."""
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=dialect.delimiter,
        doublequote=not dialect.escaped,
        escapechar="\\" if dialect.escaped else None,
    )
    return [[cell.strip() for cell in row] for row in reader]


def best_dialect(text: str) -> Dialect | None:
    """The dialect under which most records have the same number of cells; `None` for a file of one column."""
    sample = text[:_SAMPLE]
    if len(text) > _SAMPLE:
        sample = sample[: sample.rfind("\n") + 1] or sample
    escapes = (False, True) if '\\"' in sample else (False,)
    dialects = [Dialect(delimiter, escaped) for delimiter in DELIMITERS for escaped in escapes]
    scores = {dialect: _score(records(sample, dialect), dialect) for dialect in dialects}
    best = max(dialects, key=lambda dialect: scores[dialect])
    return best if scores[best][0] >= _LEAST_REGULAR and not _is_prose(sample, best) else None


def _score(rows: Sequence[Sequence[str]], dialect: Dialect) -> tuple[float, int, int]:
    """How much of the file is a regular table under this dialect; one column is no table."""
    widths = Counter(len(row) for row in rows if any(row))
    if not widths:
        return (0.0, 0, 0)
    width, count = max(widths.items(), key=lambda item: (item[1] * (item[0] > 1), item[0]))
    regular = count / sum(widths.values()) if width > 1 else 0.0
    return (round(regular, 2), _PREFERENCE[dialect.delimiter], -dialect.escaped)


def _is_prose(sample: str, dialect: Dialect) -> bool:
    """Two columns by a comma that is always followed by a blank: sentences and lists of names."""
    if dialect.delimiter != "," or '"' in sample:
        return False
    rows = [row for row in csv.reader(io.StringIO(sample, newline="")) if row]
    loose = sum(1 for row in rows if len(row) == 2 and row[1].startswith(" "))
    return loose > _LEAST_REGULAR * len(rows)
