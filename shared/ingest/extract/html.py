"""HTML: the main content, without scripts, navigation and hidden text."""

from __future__ import annotations

from shared.domain.knowledge import Coverage
from shared.domain.text import Extraction
from shared.ingest.extract.decode import decode
from shared.ingest.extract.detect import Format
from shared.ingest.extract.hints import Hints
from shared.ingest.extract.markup import to_markdown


def read(data: bytes, _format: Format, hints: Hints) -> Extraction:
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(decode(data, hints.charset), "lxml")
    title = soup.title.get_text() if soup.title else None
    for tag in soup(["script", "style", "noscript", "template", "svg", "nav", "header", "footer", "title"]):
        tag.decompose()
    root = soup.find("main") or soup.body or soup
    return Extraction(to_markdown(root), Coverage("section", 1, 1), title=title)
