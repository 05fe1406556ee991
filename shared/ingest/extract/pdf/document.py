"""A PDF from its first page to its last."""

from __future__ import annotations

import contextlib
import ctypes
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pypdfium2
import pypdfium2.raw as pdfium

from shared.domain.errors import CorruptFileError, EncryptedFileError, TextTooLargeError, UnsupportedTypeError
from shared.domain.text import Extraction
from shared.ingest.extract.detect import Format
from shared.ingest.extract.hints import Hints
from shared.ingest.extract.limits import MAX_TEXT_BYTES
from shared.ingest.extract.pdf.forms import field_values
from shared.ingest.extract.pdf.headings import Bookmark
from shared.ingest.extract.pdf.line import Box, Line
from shared.ingest.extract.pdf.reading import PageReader, Turn
from shared.ingest.extract.pdf.rtl import SecondReader, is_rtl
from shared.ingest.extract.pdf.rulings import rulings
from shared.ingest.extract.pdf.tables import grids, with_tables
from shared.ingest.extract.pdf.words import Hyphens
from shared.ingest.extract.pdf.write import Page, write

_MOST_BOOKMARKS = 2_000
_MOST_TABLE_PAGES = 300
_MOST_OBJECTS = 20_000  # of one page; with more it is a drawing, and looking at each takes long
_LEAST_SCAN = 0.6  # of the page covered by pictures
_FEWEST_LETTERS = 15  # on a page that is a picture: fewer are a stamp, not its text
_MANY_LETTERS = 200  # no need to look whether such a page is a scan
_JUNK_TITLE = re.compile(
    r"^(?:untitled.*|document\d*|slide \d+|powerpoint presentation|microsoft \w+ - .*"
    r"|.*\.(?:docx?|pdf|indd|tex|dvi|qxd|xlsx?))$",
    re.I,
)


def read(data: bytes, _format: Format, _hints: Hints) -> Extraction:
    """Every page's text as Markdown. A page that cannot be read costs only itself."""
    with contextlib.closing(_open(data)) as document:
        form = _form(document)
        reader = _Pages(document, form, data)
        pages = [reader.page(index) for index in range(len(document))]
        return write(pages, list(_bookmarks(document)), title=_title(document), language=_language(document))


def _open(data: bytes) -> pypdfium2.PdfDocument:
    try:
        document = pypdfium2.PdfDocument(data)
        pages = len(document)
    except pypdfium2.PdfiumError:
        reason = pdfium.FPDF_GetLastError()
        if reason in {pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY}:
            raise EncryptedFileError("The PDF is protected with a password") from None
        raise CorruptFileError("The PDF cannot be opened: its structure is damaged") from None
    if not pages:
        raise CorruptFileError("The PDF has no pages that can be found")
    return document


def _form(document: pypdfium2.PdfDocument) -> pypdfium2.PdfFormEnv | None:
    kind = document.get_formtype()
    if kind == pdfium.FORMTYPE_XFA_FULL:
        raise UnsupportedTypeError(
            "The PDF is a dynamic XFA form, which holds no pages",
            hint="Open it in Adobe Reader, print it to a new PDF and upload that.",
        )
    if kind == pdfium.FORMTYPE_NONE:
        return None
    document.init_forms()
    return document.formenv


@dataclass(slots=True)
class _Pages:
    """Reads page after page, within what a document may cost."""

    document: pypdfium2.PdfDocument
    form: pypdfium2.PdfFormEnv | None
    data: bytes
    _reader: PageReader = field(default_factory=PageReader)
    _texts: list[str] = field(default_factory=list)
    _characters: int = 0
    _table_pages: int = 0
    _second: SecondReader = field(init=False)

    def __post_init__(self) -> None:
        self._second = SecondReader(self.data)

    def page(self, index: int) -> Page:
        """The page, or an empty one that is marked as unreadable."""
        try:
            page = self.document[index]
        except pypdfium2.PdfiumError:
            return Page(index + 1, [], shows=True)
        with contextlib.closing(page):
            try:
                return self._read(page, index)
            except pypdfium2.PdfiumError:
                return Page(index + 1, [], shows=True)

    def _read(self, page: pypdfium2.PdfPage, index: int) -> Page:
        crowded = pdfium.FPDFPage_CountObjects(page.raw) > _MOST_OBJECTS
        with contextlib.closing(page.get_textpage()) as text_page:
            self._count(text_page.count_chars())
            lines, turn = self._reader.lines(text_page)
            texts = [line.text for line in lines]
            self._texts.extend(texts)
            whole = "\n".join(texts)
            other = self._second.better(whole, index)
            if other is not None:
                lines = _reread(lines, other)
            elif not crowded and self._table_pages < _MOST_TABLE_PAGES:
                lines = self._tables(page, text_page, lines, turn)
            if is_rtl(whole):
                lines = [replace(line, box=line.box.mirrored()) for line in lines]
        values = field_values(page, self.form) if self.form else []
        letters = _letters(texts)
        scan = letters < _MANY_LETTERS and not crowded and _pictured(page) >= _LEAST_SCAN
        shows = bool(letters) or scan or crowded or _shows(page)
        stamp = scan and letters < _FEWEST_LETTERS
        return Page(index + 1, lines, values, scan=stamp, picture=scan, shows=shows)

    def _count(self, characters: int) -> None:
        self._characters += characters
        # Layout takes some away: running heads, blanks, hyphens.
        if self._characters > 2 * MAX_TEXT_BYTES:
            raise TextTooLargeError(f"The PDF holds more than {MAX_TEXT_BYTES:,} bytes of text")

    def _tables(
        self, page: pypdfium2.PdfPage, text_page: pypdfium2.PdfTextPage, lines: list[Line], turn: Turn
    ) -> list[Line]:
        found = grids(rulings(page.raw, turn)) if lines else []
        self._table_pages += bool(found)
        return with_tables(lines, text_page, turn, found, Hyphens(self._texts))


def _letters(texts: list[str]) -> int:
    """How many letters and digits there are, exactly only where there are few."""
    length = sum(map(len, texts))
    if length > 2 * _MANY_LETTERS:
        return length
    return sum(character.isalnum() for text in texts for character in text)


def _reread(lines: list[Line], text: str) -> list[Line]:
    """The lines with the words of another reading, in their own places where there are as many."""
    words = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    if len(words) == len(lines):
        return [replace(line, text=found) for line, found in zip(lines, words, strict=True)]
    return [
        Line(found, Box(0, -12.0 * number, 500, -12.0 * number + 10), 10, False, 0, 1)
        for number, found in enumerate(words)
    ]


def _pictured(page: pypdfium2.PdfPage) -> float:
    """The largest share of the page that one picture covers."""
    width, height = page.get_size()
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    largest = 0.0
    for item in page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=3):
        if pdfium.FPDFPageObj_GetBounds(item, left, bottom, right, top):
            area: float = (right.value - left.value) * (top.value - bottom.value)
            largest = max(largest, area)
    return largest / float(max(width * height, 1.0))


def _shows(page: pypdfium2.PdfPage) -> bool:
    """Whether a page without text is more than blank paper."""
    kinds = {item.type for item in page.get_objects(max_depth=3)}
    if kinds & {pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_SHADING}:
        return True
    if pdfium.FPDF_PAGEOBJ_PATH not in kinds:
        return False
    scale = 100 / max(*page.get_size(), 1.0)
    with contextlib.closing(page.render(scale=scale, grayscale=True)) as bitmap:
        return len(set(bytes(bitmap.buffer))) > 1


def _bookmarks(document: pypdfium2.PdfDocument) -> Iterator[Bookmark]:
    """The outline as far as it can be read; it may be damaged or endless."""
    with contextlib.suppress(pypdfium2.PdfiumError):
        for number, item in enumerate(document.get_toc(max_depth=6)):
            if number >= _MOST_BOOKMARKS:
                return
            target = item.get_dest()
            page = target.get_index() if target else None
            if target is None or page is None:
                continue
            mode, view = target.get_view()
            top = view[1] if mode == pdfium.PDFDEST_VIEW_XYZ and len(view) > 1 else None
            yield Bookmark(" ".join(item.get_title().split()), item.level, page, top)


def _title(document: pypdfium2.PdfDocument) -> str | None:
    with contextlib.suppress(pypdfium2.PdfiumError):
        title = " ".join(document.get_metadata_value("Title").split())
        if title and not _JUNK_TITLE.match(title):
            return title
    return None


def _language(document: pypdfium2.PdfDocument) -> str | None:
    size = pdfium.FPDFCatalog_GetLanguage(document, None, 0)
    if size <= 2:
        return None
    buffer = (ctypes.c_ushort * (size // 2))()
    pdfium.FPDFCatalog_GetLanguage(document, buffer, size)
    return bytes(buffer)[:-2].decode("utf-16-le", "replace")
