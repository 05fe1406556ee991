"""What a DOCX container holds besides its text: headers, footers, diagrams."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from shared.ingest.extract.ooxml import Package, drawn_lines

if TYPE_CHECKING:
    from lxml.etree import _Element

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_FIELDS = {"PAGE", "NUMPAGES", "SECTIONPAGES", "DATE", "TIME", "FILENAME"}


def margins(package: Package) -> list[str]:
    """The lines of all headers and footers, each once, without page numbers and dates."""
    lines = (line for part in _parts(package, "header", "footer") for line in _lines(package.xml(part)))
    return list(dict.fromkeys(line for line in lines if any(character.isalpha() for character in line)))


def diagrams(package: Package) -> list[str]:
    """The words of diagrams (SmartArt), which the text only points to."""
    return [line for part in _parts(package, "diagramData") for line in drawn_lines(package.xml(part))]


def _parts(package: Package, *kinds: str) -> list[str]:
    related = package.relations(package.main).values()
    return sorted({relation.part for relation in related if relation.kind in kinds} & package.names)


def _lines(part: _Element) -> Iterator[str]:
    for paragraph in part.iter(f"{W}p"):
        if next(paragraph.iterancestors(_FALLBACK), None) is None:
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
