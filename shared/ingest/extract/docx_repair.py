"""Makes visible to mammoth what it would skip: simple fields, text boxes, formulas, ruby, embedded chunks."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from shared.domain.errors import AlmanacError
from shared.ingest.extract.decode import decode, decode_html
from shared.ingest.extract.docx_package import W
from shared.ingest.extract.docx_styles import CODE, OUTLINE
from shared.ingest.extract.ooxml import RELATIONS, Package

if TYPE_CHECKING:
    from lxml.etree import _Element

_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_NOTES = ("word/footnotes.xml", "word/endnotes.xml")
_MONOSPACED = re.compile(r"courier|consolas|menlo|monaco|mono\b|monospace|lucida console", re.IGNORECASE)
_CODE_SIGNS = re.compile(r"[{}();=<>$\\]|^\s{2,}\S|^\s*(?:#|//|--)")
_OFF = {"0", "false", "off"}


def repaired(package: Package) -> tuple[bytes, dict[str, str]]:
    """The container again with its text parts repaired, and the Markdown of embedded chunks by the mark that
    stands for each in the text."""
    from lxml import etree

    embedded: dict[str, str] = {}
    parts: dict[str, bytes] = {}
    for name in (package.main, *_NOTES):
        if name in package.names:
            tree = package.xml(name)
            _repair(tree)
            if name == package.main:
                _embed(tree, package, embedded)
            parts[name] = etree.tostring(tree, encoding="utf-8", xml_declaration=True)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as copy:
        for name in sorted(package.names):
            if name.endswith((".xml", ".rels")):
                copy.writestr(name, parts.get(name) or package.bytes(name))
    return target.getvalue(), embedded


def _repair(tree: _Element) -> None:
    for field in list(tree.iter(f"{W}fldSimple", f"{W}dir", f"{W}bdo")):
        _unwrap(field)
    for choice in list(tree.iter(f"{_MC}AlternateContent")):
        _choose(choice)
    for box in list(tree.iter(f"{W}txbxContent")):
        if next(box.iterancestors(f"{W}drawing"), None) is not None:
            _lift(box)
    for formula in list(tree.iter(f"{_M}oMath")):
        _replace(formula, _run("".join(node.text or "" for node in formula.iter(f"{_M}t"))))
    for ruby in list(tree.iter(f"{W}ruby")):
        _replace(ruby, _bare("".join(node.text or "" for node in ruby.iterfind(f"{W}rubyBase//{W}t"))))
    for hidden in list(tree.iter(f"{W}vanish")):
        _hide(hidden)
    for level in list(tree.iter(f"{W}outlineLvl")):
        _name_level(level)
    _mark_code(tree)


def _unwrap(node: _Element) -> None:
    parent = node.getparent()
    if parent is None:
        return
    at = parent.index(node)
    parent[at : at + 1] = list(node)


def _replace(node: _Element, other: _Element) -> None:
    parent = node.getparent()
    if parent is not None:
        parent.replace(node, other)


def _bare(text: str) -> _Element:
    from lxml import etree

    node = etree.Element(f"{W}t")
    node.text = text
    return node


def _run(text: str) -> _Element:
    from lxml import etree

    run = etree.Element(f"{W}r")
    run.append(_bare(text))
    return run


def _choose(alternate: _Element) -> None:
    """mammoth reads the fallback; where only the choice has the words, they go there."""
    choice, fallback = alternate.find(f"{_MC}Choice"), alternate.find(f"{_MC}Fallback")
    if choice is None or next(choice.iter(f"{W}t"), None) is None:
        return
    if fallback is not None and next(fallback.iter(f"{W}t"), None) is not None:
        alternate.remove(choice)
        return
    if fallback is not None:
        alternate.remove(fallback)
    choice.tag = f"{_MC}Fallback"


def _lift(box: _Element) -> None:
    """A text box of a drawing takes the drawing's place: mammoth looks for nothing but pictures in those."""
    drawing = next(box.iterancestors(f"{W}drawing"))
    parent = drawing.getparent()
    if parent is not None:
        parent.insert(parent.index(drawing) + 1, box)


def _hide(mark: _Element) -> None:
    """Drops a run that Word does not show."""
    if mark.get(f"{W}val", "1").lower() in _OFF:
        return
    properties = mark.getparent()
    run = properties.getparent() if properties is not None else None
    if run is not None and run.tag == f"{W}r":
        parent = run.getparent()
        if parent is not None:
            parent.remove(run)


def _name_level(level: _Element) -> None:
    """A level set on a paragraph itself becomes a style that the rules know."""
    properties = level.getparent()
    value = level.get(f"{W}val", "")
    if properties is not None and properties.tag == f"{W}pPr" and value.isdecimal() and int(value) < 6:
        paragraph = properties.getparent()
        if paragraph is not None and properties.find(f"{W}pStyle") is None:
            _set_style(paragraph, f"{OUTLINE}{int(value) + 1}")


def _mark_code(tree: _Element) -> None:
    """Neighbouring paragraphs in a typewriter face are code when one of them looks like it."""
    run: list[_Element] = []
    for paragraph in [*tree.iter(f"{W}p"), None]:
        if paragraph is not None and _is_monospaced(paragraph):
            if run and run[-1].getnext() is not paragraph:
                _set_code(run)
                run = []
            run.append(paragraph)
        elif run:
            _set_code(run)
            run = []


def _is_monospaced(paragraph: _Element) -> bool:
    if paragraph.find(f"{W}pPr/{W}pStyle") is not None or paragraph.find(f"{W}pPr/{W}numPr") is not None:
        return False
    runs = [run for run in paragraph.iter(f"{W}r") if run.find(f"{W}t") is not None]
    fonts = [run.find(f"{W}rPr/{W}rFonts") for run in runs]
    return bool(fonts) and all(
        font is not None and _MONOSPACED.search(font.get(f"{W}ascii", "")) is not None for font in fonts
    )


def _set_code(paragraphs: Sequence[_Element]) -> None:
    texts = ["".join(node.text or "" for node in paragraph.iter(f"{W}t")) for paragraph in paragraphs]
    if any(_CODE_SIGNS.search(text) for text in texts):
        for paragraph in paragraphs:
            _set_style(paragraph, CODE)


def _set_style(paragraph: _Element, name: str) -> None:
    from lxml import etree

    properties = paragraph.find(f"{W}pPr")
    if properties is None:
        properties = etree.Element(f"{W}pPr")
        paragraph.insert(0, properties)
    style = etree.Element(f"{W}pStyle")
    style.set(f"{W}val", name)
    properties.insert(0, style)


def _embed(tree: _Element, package: Package, embedded: dict[str, str]) -> None:
    from lxml import etree

    for number, chunk in enumerate(list(tree.iter(f"{W}altChunk"))):
        relation = package.relations(package.main).get(chunk.get(f"{RELATIONS}id", ""))
        known = relation is not None and relation.kind == "aFChunk" and relation.part in package.names
        text = _chunk_text(package, relation.part) if relation is not None and known else ""
        if text:
            mark = f"almanac-embedded-chunk-{number}"
            embedded[mark] = text
            paragraph = etree.Element(f"{W}p")
            paragraph.append(_run(mark))
            _replace(chunk, paragraph)


def _chunk_text(package: Package, name: str) -> str:
    """The Markdown of an embedded part; nothing for kinds that have no reader here."""
    readers: dict[str, Callable[[bytes], str]] = {
        ".html": _html,
        ".htm": _html,
        ".xhtml": _html,
        ".txt": decode,
        ".docx": _docx,
    }
    reader = readers.get(name[name.rfind(".") :].lower())
    return reader(package.bytes(name)) if reader else ""


def _html(data: bytes) -> str:
    from shared.ingest.extract.html import parse
    from shared.ingest.extract.markup import to_markdown

    return to_markdown(parse(decode_html(data, None)))


def _docx(data: bytes) -> str:
    """One level deep: a document in a document in a document is a bomb, not a report."""
    import mammoth

    from shared.ingest.extract.html import parse
    from shared.ingest.extract.markup import to_markdown

    try:
        Package(data)
    except AlmanacError:
        return ""
    html = mammoth.convert_to_html(
        io.BytesIO(data), convert_image=lambda _image: [], external_file_access=False
    )
    return to_markdown(parse(f"<body>{html.value}</body>"))
