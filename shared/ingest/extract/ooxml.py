"""The parts of an Office container (ZIP of XML), parsed safely; strict OOXML reads like the usual one."""

from __future__ import annotations

import contextlib
import io
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shared.domain.errors import CorruptFileError
from shared.ingest.extract.zipguard import open_container, read_part

if TYPE_CHECKING:
    from lxml.etree import _Element

# Strict OOXML differs in nothing that matters here but the names of its namespaces.
_STRICT = (
    (b"http://purl.oclc.org/ooxml/wordprocessingml/main", b"wordprocessingml/2006/main"),
    (b"http://purl.oclc.org/ooxml/spreadsheetml/main", b"spreadsheetml/2006/main"),
    (b"http://purl.oclc.org/ooxml/officeDocument/", b"officeDocument/2006/"),
    (b"http://purl.oclc.org/ooxml/drawingml/", b"drawingml/2006/"),
)
_USUAL = b"http://schemas.openxmlformats.org/"
RELATIONS = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
TEXT = "{http://schemas.openxmlformats.org/drawingml/2006/main}t"
TEXT_PARAGRAPH = "{http://schemas.openxmlformats.org/drawingml/2006/main}p"
_RELATION = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_TITLE = "{http://purl.org/dc/elements/1.1/}title"
_MAIN_PARTS = ("word/document.xml", "xl/workbook.xml", "ppt/presentation.xml")
_PROPERTIES = "docProps/core.xml"
_OPTIONS = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False}


@dataclass(frozen=True, slots=True)
class Relation:
    """`kind` is the last word of its type, `part` the name of what it points to."""

    kind: str
    part: str


class Package:
    """A checked container. `main` is the part that everything hangs from, in the folder of its kind."""

    def __init__(self, data: bytes) -> None:
        self.container = open_container(data)
        self.names = frozenset(self.container.namelist())
        self.main = self._main_part()

    def _main_part(self) -> str:
        named: list[str] = []
        # Without its table of contents a container is read by the usual names.
        with contextlib.suppress(CorruptFileError):
            named = [found.part for found in self.relations("").values() if found.kind == "officeDocument"]
        return next((part for part in (*named, *_MAIN_PARTS) if part in self.names), "")

    @property
    def kind(self) -> str:
        """`word`, `xl`, `ppt`, or nothing."""
        return self.main.partition("/")[0].lower()

    def bytes(self, name: str) -> bytes:
        """A part, its strict namespaces renamed. Raises `CorruptFileError` when it is not there."""
        try:
            source = read_part(self.container, name)
        except KeyError:
            raise CorruptFileError(f"The container lacks the part {name!r}") from None
        if b"purl.oclc.org/ooxml" in source:
            for strict, usual in _STRICT:
                source = source.replace(strict, _USUAL + usual)
        return source

    def xml(self, name: str) -> _Element:
        """Raises `CorruptFileError` when the part is no well-formed XML."""
        from lxml import etree

        try:
            return etree.fromstring(self.bytes(name), etree.XMLParser(**_OPTIONS))
        except etree.XMLSyntaxError as error:
            raise CorruptFileError(f"The part {name!r} is damaged: {error.msg}") from None

    def stream(self, name: str, *tags: str) -> Iterator[_Element]:
        """The elements of these tags as they end, each emptied when the next is asked for."""
        from lxml import etree

        source = io.BytesIO(self.bytes(name))
        try:
            for _, element in etree.iterparse(source, events=("end",), tag=tags, **_OPTIONS):
                yield element
                element.clear()
                parent = element.getparent()
                while parent is not None and element.getprevious() is not None:
                    del parent[0]
        except etree.XMLSyntaxError as error:
            raise CorruptFileError(f"The part {name!r} is damaged: {error.msg}") from None

    def relations(self, part: str) -> dict[str, Relation]:
        """What a part is related to inside the container, by id."""
        folder, _, name = part.rpartition("/")
        source = f"{folder}/_rels/{name}.rels".lstrip("/")
        if source not in self.names:
            return {}
        return {
            node.get("Id", ""): Relation(
                node.get("Type", "").rpartition("/")[2],
                posixpath.normpath(posixpath.join(f"/{folder}", node.get("Target", ""))).lstrip("/"),
            )
            for node in self.xml(source).iter(_RELATION)
            if node.get("TargetMode") != "External"
        }

    def title(self) -> str | None:
        """The title in the document's properties."""
        if _PROPERTIES not in self.names:
            return None
        node = next(self.xml(_PROPERTIES).iter(_TITLE), None)
        return (node.text or "").strip() or None if node is not None else None


def drawn_lines(tree: _Element) -> list[str]:
    """The words of shapes, diagrams and charts, a line for each of their paragraphs."""
    lines = (
        " ".join("".join(node.text or "" for node in paragraph.iter(TEXT)).split())
        for paragraph in tree.iter(TEXT_PARAGRAPH)
    )
    return [line for line in lines if line]
