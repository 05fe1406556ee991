"""XLSX: each visible sheet under its own heading, values as shown."""

from __future__ import annotations

import io

from shared.domain.knowledge import Coverage
from shared.domain.text import Extraction
from shared.ingest.extract.detect import Format
from shared.ingest.extract.grid import sheet
from shared.ingest.extract.hints import Hints
from shared.ingest.extract.zipguard import open_container


def read(data: bytes, _format: Format, _hints: Hints) -> Extraction:
    import openpyxl

    open_container(data)
    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    parts = []
    for page in book.worksheets:
        page.reset_dimensions()
        rows = [
            ["" if value is None else str(value) for value in row] for row in page.iter_rows(values_only=True)
        ]
        body = sheet(rows)
        if body:
            parts.append(f"## {page.title}\n\n{body}")
    return Extraction("\n\n".join(parts), Coverage("sheet", len(book.sheetnames), len(parts)))
