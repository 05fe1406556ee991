"""The parts of a DOCX container."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import TYPE_CHECKING

from shared.domain.errors import CorruptFileError
from shared.ingest.extract.zipguard import open_container, read_part

if TYPE_CHECKING:
    from lxml.etree import _Element

DOCUMENT = "word/document.xml"
# Strict OOXML differs in nothing that matters here but the names of its namespaces.
_STRICT = (
    (
        b"http://purl.oclc.org/ooxml/wordprocessingml/main",
        b"http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    ),
    (
        b"http://purl.oclc.org/ooxml/officeDocument/relationships",
        b"http://schemas.openxmlformats.org/officeDocument/2006/relationships",
    ),
    (
        b"http://purl.oclc.org/ooxml/officeDocument/math",
        b"http://schemas.openxmlformats.org/officeDocument/2006/math",
    ),
    (b"http://purl.oclc.org/ooxml/drawingml/", b"http://schemas.openxmlformats.org/drawingml/2006/"),
)
W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_RELATION = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_MARGINS = ("header", "footer")
_FIELDS = {"PAGE", "NUMPAGES", "SECTIONPAGES", "DATE", "TIME", "FILENAME"}


class Package:
    """A checked container whose XML parts are parsed on demand, without entities and outside access."""

    def __init__(self, data: bytes) -> None:
        self.container = open_container(data)
        self.names = set(self.container.namelist())
        self._relations: dict[str, tuple[str, str]] | None = None

    def bytes(self, name: str) -> bytes:
        return read_part(self.container, name)

    def xml(self, name: str) -> _Element:
        """Raises `CorruptFileError` when the part is no well-formed XML."""
        from lxml import etree

        source = self.bytes(name)
        for strict, usual in _STRICT:
            source = source.replace(strict, usual)
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
        try:
            return etree.fromstring(source, parser)
        except etree.XMLSyntaxError as error:
            raise CorruptFileError(f"The part {name!r} is damaged: {error.msg}") from None

    def relations(self) -> dict[str, tuple[str, str]]:
        """The document's relationships: id to (last word of the type, part name)."""
        if self._relations is None:
            name = "word/_rels/document.xml.rels"
            tree = self.xml(name) if name in self.names else []
            self._relations = {
                node.get("Id", ""): (
                    node.get("Type", "").rpartition("/")[2],
                    posixpath.normpath(posixpath.join("word", node.get("Target", ""))).lstrip("/"),
                )
                for node in tree
                if node.tag == _RELATION and node.get("TargetMode") != "External"
            }
        return self._relations

    def title(self) -> str | None:
        """The title in the document's properties."""
        if "docProps/core.xml" not in self.names:
            return None
        for node in self.xml("docProps/core.xml").iter("{http://purl.org/dc/elements/1.1/}title"):
            return (node.text or "").strip() or None
        return None

    def margins(self) -> list[str]:
        """The lines of all headers and footers, each once, without page numbers and dates."""
        parts = sorted(
            name for kind, name in self.relations().values() if kind in _MARGINS and name in self.names
        )
        lines = (line for part in parts for line in _lines(self.xml(part)))
        return list(dict.fromkeys(line for line in lines if any(character.isalpha() for character in line)))


def _lines(part: _Element) -> Iterator[str]:
    for paragraph in part.iter(f"{W}p"):
        if (
            next(
                paragraph.iterancestors(
                    "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
                ),
                None,
            )
            is None
        ):
            yield " ".join("".join(_words(paragraph)).split())


def _words(paragraph: _Element) -> Iterator[str]:
    """The words of a paragraph but for computed ones."""
    code, depth = "", 0
    for node in paragraph.iter(f"{W}t", f"{W}tab", f"{W}br", f"{W}instrText", f"{W}fldChar", f"{W}fldSimple"):
        if node.tag == f"{W}fldChar":
            kind = node.get(f"{W}fldCharType")
            depth += (kind == "begin") - (kind == "end")
            code = "" if kind == "begin" else code
        elif node.tag == f"{W}instrText":
            code += node.text or ""
        elif node.tag == f"{W}t":
            field = next(node.iterancestors(f"{W}fldSimple"), None)
            simple = field.get(f"{W}instr", "") if field is not None else ""
            if not (depth and _is_computed(code)) and not _is_computed(simple):
                yield node.text or ""
        else:
            yield " "


def _is_computed(instruction: str) -> bool:
    return instruction.split(maxsplit=1)[0].upper() in _FIELDS if instruction.split() else False
