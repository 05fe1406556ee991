"""PDF by pdfium, page by page."""

from __future__ import annotations

from shared.domain.errors import CorruptFileError, EncryptedFileError, NoTextError
from shared.domain.knowledge import Coverage
from shared.domain.text import Extraction, PageSpan
from shared.ingest.extract.detect import Format
from shared.ingest.extract.hints import Hints


def read(data: bytes, _format: Format, _hints: Hints) -> Extraction:
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise EncryptedFileError("The PDF is protected with a password") from None
        raise CorruptFileError("The PDF cannot be opened") from None
    pages: list[PageSpan] = []
    parts: list[str] = []
    missing = []
    at = 0
    for number in range(1, len(document) + 1):
        try:
            text = document[number - 1].get_textpage().get_text_range().strip()
        except pypdfium2.PdfiumError:
            text = ""
        if not text:
            missing.append(str(number))
        part = text + "\n\n"
        pages.append(PageSpan(number, at, at + len(part)))
        parts.append(part)
        at += len(part)
    if len(missing) == len(pages):
        raise NoTextError(f"None of {len(pages)} pages holds text")
    coverage = Coverage("page", len(pages), len(pages) - len(missing), tuple(missing))
    return Extraction("".join(parts), coverage, pages=tuple(pages))
