"""The type of a file, from its bytes. Names and content types only decide between kinds of text."""

from __future__ import annotations

import re
from enum import StrEnum

from shared.domain.errors import EncryptedFileError, NoTextError, UnsupportedTypeError
from shared.ingest.extract.hints import Hints

_PDF_WITHIN = 1024  # bytes; readers accept junk in front of the signature
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_HTML = re.compile(
    r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.I | re.S
)
_TAGS = re.compile(r"</?(?:p|div|table|tr|td|ul|li|h[1-6]|span|a|br|title|meta|script|form|section)\b", re.I)
_MARKDOWN = (
    re.compile(r"^#{1,6} \S", re.M),
    re.compile(r"^(?:```|~~~)", re.M),
    re.compile(r"\[[^\]\n]+\]\([^)\s]+\)"),
    re.compile(r"^\|.*\|\s*\n\|(?:\s*:?-+:?\s*\|)+", re.M),
    re.compile(r"\*\*\S[^*\n]*\*\*"),
)
_OTHER_CONTAINERS = {
    "ppt": "a PowerPoint file",
    "xl": "a binary workbook (.xlsb)",
    "mimetype": "an OpenDocument or EPUB file",
}
_SIGNATURES = (
    (b"{\\rtf", "Rich Text (RTF)"),
    (b"MZ", "a Windows program"),
    (b"\x7fELF", "a Linux program"),
)


class Format(StrEnum):
    PDF = "pdf"
    DOCX = "docx"
    XLSX = "xlsx"
    CSV = "csv"
    HTML = "html"
    MARKDOWN = "markdown"
    TEXT = "text"


def detect(data: bytes, hints: Hints) -> Format:
    """Raises `UnsupportedTypeError`, or what is wrong with a file of a known type."""
    if b"%PDF-" in data[:_PDF_WITHIN]:
        return Format.PDF
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _office_format(data)
    if data.startswith(_OLE):
        if _ENCRYPTED in data:
            raise EncryptedFileError("The Office file is protected with a password")
        raise UnsupportedTypeError("The file is in the binary format of Office 97 (.doc, .xls, .ppt)")
    _refuse_known(data)
    return _text_format(data, hints)


def _office_format(data: bytes) -> Format:
    from shared.ingest.extract.ooxml import Package

    package = Package(data)
    if package.kind == "word":
        return Format.DOCX
    if package.kind == "xl" and package.main.endswith(".xml"):
        return Format.XLSX
    for name, what in _OTHER_CONTAINERS.items():
        if name in package.names or name == package.kind:
            raise UnsupportedTypeError(f"The file is {what}")
    raise UnsupportedTypeError("The file is a ZIP archive, not an Office file")


def _refuse_known(data: bytes) -> None:
    for signature, name in _SIGNATURES:
        if data.startswith(signature):
            raise UnsupportedTypeError(f"The file is {name}")
    import filetype

    kind = filetype.guess(data[:8192])
    if kind is not None:
        raise UnsupportedTypeError(f"The file is {kind.mime}")


def _text_format(data: bytes, hints: Hints) -> Format:
    # What it takes to tell code pages is loaded for text only.
    from shared.ingest.extract.decode import decode, refuse_binary

    text = decode(data, hints.charset)
    refuse_binary(text)
    if not text.strip("\ufeff\0 \t\r\n\f\v"):
        raise NoTextError("The file holds only blanks", hint="Upload a file with text.")
    head = text[:20_000].lstrip("\ufeff")
    if _HTML.match(head) or _is_html(head, hints):
        return Format.HTML
    if hints.suffix in {".csv", ".tsv", ".tab"} or hints.media_type in {
        "text/csv",
        "text/tab-separated-values",
    }:
        return Format.CSV
    if hints.suffix in {".md", ".markdown", ".mdown", ".mkd"} or hints.media_type == "text/markdown":
        return Format.MARKDOWN
    if sum(1 for pattern in _MARKDOWN if pattern.search(text)) >= 2:
        return Format.MARKDOWN
    return Format.TEXT


def _is_html(head: str, hints: Hints) -> bool:
    tags = len(_TAGS.findall(head))
    if hints.suffix in {".html", ".htm", ".xhtml"} or hints.media_type in {
        "text/html",
        "application/xhtml+xml",
    }:
        return tags > 0
    return head.lstrip().startswith("<") and tags * 60 > len(head) and tags > 3
