"""Small PDF files, drawn or written by hand, for tests of the reader."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence

from reportlab.lib import colors
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Table, TableStyle

WIDTH, HEIGHT = 595, 842


def drawn(*pages: Callable[[Canvas], None], password: str | None = None, title: str = "") -> bytes:
    """A PDF whose pages are drawn by functions."""
    target = io.BytesIO()
    encrypt = StandardEncryption(password, ownerPassword="owner") if password is not None else None
    canvas = Canvas(target, pagesize=(WIDTH, HEIGHT), invariant=1, encrypt=encrypt)
    if title:
        canvas.setTitle(title)
    for page in pages:
        page(canvas)
        canvas.showPage()
    canvas.save()
    return target.getvalue()


def lines(
    *texts: str, x: float = 72, y: float = 760, font: str = "Helvetica", size: float = 11
) -> Callable[[Canvas], None]:
    """Lines of text, one below the other."""

    def draw(canvas: Canvas) -> None:
        canvas.setFont(font, size)
        for number, text in enumerate(texts):
            canvas.drawString(x, y - 1.3 * size * number, text)

    return draw


def both(*parts: Callable[[Canvas], None]) -> Callable[[Canvas], None]:
    def draw(canvas: Canvas) -> None:
        for part in parts:
            part(canvas)

    return draw


def ruled_table(
    rows: Sequence[Sequence[str]],
    y: float = 500,
    spans: Sequence[tuple[str, tuple[int, int], tuple[int, int]]] = (),
) -> Callable[[Canvas], None]:
    def draw(canvas: Canvas) -> None:
        table = Table(rows, colWidths=110)
        table.setStyle(TableStyle([("GRID", (0, 0), (-1, -1), 0.5, colors.black), *spans]))
        table.wrapOn(canvas, WIDTH, HEIGHT)
        table.drawOn(canvas, 72, y)

    return draw


def picture(canvas: Canvas) -> None:
    """A grey picture over the whole page, as a scanner makes it."""
    from PIL import Image

    canvas.drawImage(ImageReader(Image.new("L", (60, 80), 200)), 0, 0, WIDTH, HEIGHT)


def blank(_canvas: Canvas) -> None:
    """Nothing at all."""


def glyphs(texts: Sequence[str], pairs: Sequence[str] = ()) -> bytes:
    """Right-to-left lines as programs write them: glyph by glyph from left to right, `pairs` as one glyph."""
    codes: dict[str, int] = {}
    content = "BT /F1 14 Tf\n"
    for number, text in enumerate(texts):
        units: list[str] = []
        while (at := sum(map(len, units))) < len(text):
            units.append(text[at : at + 2] if text[at : at + 2] in pairs else text[at])
        shown = "".join(f"{codes.setdefault(unit, len(codes) + 1):04x}" for unit in reversed(units))
        content += f"1 0 0 1 72 {700 - 20 * number} Tm <{shown}> Tj\n"
    content += "ET"
    mapped = "".join(f"<{code:04x}> <{unit.encode('utf-16-be').hex()}>\n" for unit, code in codes.items())
    to_unicode = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def "
        f"1 begincodespacerange <0000> <ffff> endcodespacerange\n{len(codes)} beginbfchar\n{mapped}"
        "endbfchar endcmap end end"
    )
    return written(
        content,
        "<</Type/Font/Subtype/Type0/BaseFont/Foo/Encoding/Identity-H/DescendantFonts[6 0 R]"
        "/ToUnicode 7 0 R>>",
        "<</Type/Font/Subtype/CIDFontType2/BaseFont/Foo/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)"
        "/Supplement 0>>/DW 600/FontDescriptor 8 0 R>>",
        f"<</Length {len(to_unicode)}>>stream\n{to_unicode}\nendstream",
        "<</Type/FontDescriptor/FontName/Foo/Flags 4/FontBBox[0 -200 1000 900]/ItalicAngle 0/Ascent 900"
        "/Descent -200/CapHeight 700/StemV 80>>",
    )


def written(content: str, *objects: str, catalog: str = "") -> bytes:
    """A one-page PDF from its content stream and its objects from number 5 on, the first one its font."""
    parts = [
        f"<</Type/Catalog/Pages 2 0 R{catalog}>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        f"<</Length {len(content)}>>stream\n{content}\nendstream",
        *objects,
    ]
    data = b"%PDF-1.5\n"
    offsets = []
    for number, part in enumerate(parts, 1):
        offsets.append(len(data))
        data += f"{number} 0 obj\n{part}\nendobj\n".encode("latin-1")
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    trailer = f"trailer<</Size {len(parts) + 1}/Root 1 0 R>>\nstartxref\n{len(data)}\n%%EOF"
    return data + f"xref\n0 {len(parts) + 1}\n0000000000 65535 f \n{table}{trailer}".encode()


HELVETICA = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
