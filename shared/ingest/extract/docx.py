"""DOCX by mammoth, through HTML."""

from __future__ import annotations

import io

from shared.domain.knowledge import Coverage
from shared.domain.text import Extraction
from shared.ingest.extract.detect import Format
from shared.ingest.extract.hints import Hints
from shared.ingest.extract.markup import to_markdown
from shared.ingest.extract.zipguard import open_container


def read(data: bytes, _format: Format, _hints: Hints) -> Extraction:
    import mammoth
    from bs4 import BeautifulSoup

    open_container(data)
    html = mammoth.convert_to_html(
        io.BytesIO(data), convert_image=lambda _image: [], external_file_access=False
    )
    return Extraction(to_markdown(BeautifulSoup(html.value, "lxml")), Coverage("section", 1, 1))
