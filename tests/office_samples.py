"""Office containers for tests: made by libraries, or written part by part."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable

import docx
import openpyxl
from docx.document import Document
from openpyxl.workbook import Workbook

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"

PACKAGE = "http://schemas.openxmlformats.org/package/2006"
TYPE = "application/vnd.openxmlformats"


def document(build: Callable[[Document], None]) -> bytes:
    made = docx.Document()
    build(made)
    target = io.BytesIO()
    made.save(target)
    return target.getvalue()


def workbook(build: Callable[[Workbook], None]) -> bytes:
    made = openpyxl.Workbook()
    build(made)
    target = io.BytesIO()
    made.save(target)
    return target.getvalue()


def container(parts: dict[str, str | bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return target.getvalue()


def changed(data: bytes, name: str, change: Callable[[bytes], bytes]) -> bytes:
    """A container with one part changed."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts: dict[str, str | bytes] = {entry: archive.read(entry) for entry in archive.namelist()}
    parts[name] = change(archive_part(parts, name))
    return container(parts)


def archive_part(parts: dict[str, str | bytes], name: str) -> bytes:
    part = parts[name]
    return part if isinstance(part, bytes) else part.encode()


def body(xml: str) -> bytes:
    """A DOCX with nothing but this body."""
    return container(
        {
            "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
            f'<Default Extension="rels" ContentType="{TYPE}-package.relationships+xml"/>'
            f'<Override PartName="/word/document.xml" ContentType="{TYPE}-officedocument'
            '.wordprocessingml.document.main+xml"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
            f'<Relationship Id="r1" Type="{R}/officeDocument" Target="word/document.xml"/></Relationships>',
            "word/document.xml": f'<w:document xmlns:w="{W}" xmlns:r="{R}"'
            ' xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
            ' xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
            ' xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape">'
            f"<w:body>{xml}</w:body></w:document>",
        }
    )


def run(text: str, properties: str = "") -> str:
    return f'<w:r>{properties}<w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(inner: str) -> str:
    return f"<w:p>{inner}</w:p>"
