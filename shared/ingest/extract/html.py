"""HTML: the main content, without scripts, navigation and hidden text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shared.domain.errors import NoTextError, UnsafeFileError
from shared.domain.knowledge import Coverage
from shared.domain.text import Extraction
from shared.ingest.extract.decode import decode_html
from shared.ingest.extract.detect import Format
from shared.ingest.extract.hints import Hints
from shared.ingest.extract.html_hidden import drop_hidden, empty
from shared.ingest.extract.html_main import main_content
from shared.ingest.extract.markup import DROPPED, to_markdown

if TYPE_CHECKING:
    from lxml.html import HtmlElement

HIDDEN_NOTE = "hidden_text_removed"
_XML_HEAD = re.compile(r"^\s*<\?xml[^>]*\?>", re.IGNORECASE)


def read(data: bytes, _format: Format, hints: Hints) -> Extraction:
    """The page's own text. `hidden_text_removed` notes text that was made invisible on purpose."""
    text = decode_html(data, hints.charset)
    tree, disguised = _visible(text)
    title, language = _title(tree), tree.get("lang") or tree.get("xml:lang")
    root = main_content(tree)
    if root is None:
        root, _ = _visible(text)
    notes = (HIDDEN_NOTE,) if disguised else ()
    coverage = Coverage("section", 1, 1)
    return Extraction(to_markdown(root), coverage, title=title, language=language, notes=notes)


def _visible(text: str) -> tuple[HtmlElement, bool]:
    """A page's tree without what it does not show, and whether some of that was disguised."""
    tree = parse(text)
    disguised = drop_hidden(tree)
    for element in list(tree.iter(*(DROPPED - {"head", "img", "title"}))):
        empty(element)
    return tree, disguised


def parse(text: str) -> HtmlElement:
    """The tree of a page, comments and processing instructions left out."""
    from lxml import etree, html

    # Without `huge_tree` the parser drops, without a word, what is nested more than 256 deep. HTML has no
    # entities to expand, and this process has a limit of memory.
    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True)
    source = _XML_HEAD.sub("", text).replace("\0", "").encode("utf-8", "surrogatepass")
    try:
        tree = html.document_fromstring(source, parser=parser)
    except etree.ParserError:
        raise NoTextError("The page is empty") from None
    except etree.XMLSyntaxError as error:
        # It forgives any markup; what is left are its own limits and those of memory.
        raise UnsafeFileError(f"The page takes more memory than a file may ({error.msg})") from None
    for entry in parser.error_log:
        if entry.level == etree.ErrorLevels.FATAL:
            raise UnsafeFileError(f"The page was not read to its end: {entry.message}")
    return tree


def _title(tree: HtmlElement) -> str | None:
    for path in ("head/title", ".//title", ".//h1"):
        element = tree.find(path)
        if element is not None:
            title = " ".join("".join(element.itertext()).split())
            if title:
                return title
    return None
