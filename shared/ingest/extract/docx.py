"""DOCX by mammoth, through HTML: body order, headings, lists, tables, footnotes, text boxes, tracked changes
as if accepted. Headers and footers come once, at the end. Comments and pictures are left out."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from shared.domain.knowledge import Coverage
from shared.domain.text import Extraction
from shared.ingest.extract.detect import Format
from shared.ingest.extract.docx_package import diagrams, margins
from shared.ingest.extract.docx_repair import repaired
from shared.ingest.extract.docx_styles import style_map
from shared.ingest.extract.escape import escape_line
from shared.ingest.extract.hints import Hints
from shared.ingest.extract.html import parse
from shared.ingest.extract.html_hidden import empty
from shared.ingest.extract.markup import to_markdown
from shared.ingest.extract.ooxml import Package

if TYPE_CHECKING:
    from lxml.html import HtmlElement


def read(data: bytes, _format: Format, _hints: Hints) -> Extraction:
    """The document as Word shows it with all changes accepted."""
    package = Package(data)
    source, embedded = repaired(package)
    tree = parse(f"<html><body>{_html(source, package)}</body></html>")
    _mark_notes(tree)
    markdown = to_markdown(tree)
    for mark, text in embedded.items():
        markdown = markdown.replace(mark, text)
    lines = [escape_line(line, lists=True) for line in [*diagrams(package), *margins(package)]]
    parts = [part for part in (markdown, *lines) if part]
    return Extraction("\n\n".join(parts), Coverage("section", 1, 1), title=package.title())


def _html(source: bytes, package: Package) -> str:
    import mammoth

    result = mammoth.convert_to_html(
        io.BytesIO(source),
        style_map=style_map(package),
        convert_image=lambda _image: [],
        external_file_access=False,
    )
    return str(result.value)


def _mark_notes(tree: HtmlElement) -> None:
    """Footnotes as Markdown's own: `[^1]` in the text, `[^1]: …` below."""
    for link in list(tree.iter("a")):
        name, target = link.get("id", ""), link.get("href", "")
        if name.startswith(("footnote-ref-", "endnote-ref-")):
            link.text = (
                f"[^{name.rpartition('-')[2]}]" if name.startswith("f") else f"[^e{name.rpartition('-')[2]}]"
            )
            del link.attrib["href"]
        elif target.startswith(("#footnote-ref-", "#endnote-ref-")):
            empty(link)
    for item in list(tree.iter("li")):
        name = item.get("id", "")
        if name.startswith(("footnote-", "endnote-")):
            number = name.rpartition("-")[2]
            label = f"[^{number}]: " if name.startswith("f") else f"[^e{number}]: "
            first = next(item.iter("p"), item)
            first.text = label + (first.text or "").lstrip()
            item.tag = "div"
    for notes in list(tree.iter("ol")):
        if len(notes) and all(child.tag == "div" for child in notes):
            notes.tag = "div"
