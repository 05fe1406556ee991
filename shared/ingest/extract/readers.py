"""From bytes to clean text: tell the type, read with that format's reader, clean, check the size."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Protocol, cast

from shared.domain.errors import NoTextError, TextTooLargeError
from shared.domain.text import Extraction, PageSpan
from shared.ingest.extract.clean import Cleaner
from shared.ingest.extract.detect import Format, detect
from shared.ingest.extract.hints import Hints
from shared.ingest.extract.language import detect_language
from shared.ingest.extract.limits import MAX_TEXT_BYTES

_READERS = {
    Format.PDF: "pdf",
    Format.DOCX: "docx",
    Format.XLSX: "xlsx",
    Format.CSV: "delimited",
    Format.HTML: "html",
    Format.MARKDOWN: "plain",
    Format.TEXT: "plain",
}


_NO_WORDS = "Upload a file with text; pictures of text have to go through text recognition (OCR) first."


class Reader(Protocol):
    """A module with one function; it is imported only when its format comes."""

    def read(self, data: bytes, format_: Format, hints: Hints) -> Extraction: ...


def read(data: bytes, hints: Hints) -> Extraction:
    """Raises a `RefusedFileError`; other exceptions come from libraries that met a broken file."""
    format_ = detect(data, hints)
    reader = cast("Reader", importlib.import_module(f"shared.ingest.extract.{_READERS[format_]}"))
    return _finish(reader.read(data, format_, hints))


def _finish(raw: Extraction) -> Extraction:
    cleaner = Cleaner()
    markdown, pages = _clean(raw, cleaner)
    if not any(character.isalnum() for character in markdown):
        raise NoTextError("The file holds no words", hint=_NO_WORDS)
    size = len(markdown.encode())
    if size > MAX_TEXT_BYTES:
        raise TextTooLargeError(f"The file holds {size:,} bytes of text; the limit is {MAX_TEXT_BYTES:,}")
    title = " ".join(cleaner.clean(raw.title or "").split())[:300] or None
    return replace(
        raw,
        markdown=markdown,
        pages=pages,
        title=title,
        language=detect_language(markdown, declared=raw.language),
        notes=tuple(sorted({*raw.notes, *cleaner.notes})),
    )


def _clean(raw: Extraction, cleaner: Cleaner) -> tuple[str, tuple[PageSpan, ...]]:
    """Page by page, where there are pages, so that their offsets stay exact."""
    if not raw.pages:
        return cleaner.clean(raw.markdown).strip("\n") + "\n", ()
    parts: list[str] = []
    pages: list[PageSpan] = []
    at = 0
    for page in raw.pages:
        part = cleaner.clean(raw.markdown[page.start : page.end])
        pages.append(PageSpan(page.number, at, at + len(part)))
        parts.append(part)
        at += len(part)
    return "".join(parts), tuple(pages)
