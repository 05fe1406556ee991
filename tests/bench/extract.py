"""How fast files are read: `python -m tests.bench.extract [--pages 300]`.

Every figure through the front door, with its child process, beside the bare library in this process:

- PDF in pages per second, against pypdfium2 and pypdf, on a made-up report that is kerned and justified as
  word processors and TeX do it;
- the other formats in megabytes of Markdown per second, against their base libraries.

The median of several rounds; prints one JSON object last.
"""

from __future__ import annotations

import argparse
import csv
import io
import itertools
import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import docx
import lxml.html
import mammoth
import openpyxl
import pypdf
import pypdfium2
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

from shared.ingest.extract import extract
from tests.markdown_samples import paragraph

ROUNDS = 3
MEGABYTE = 1_000_000
FONT = "Vera"
_LINES = 34
_WIDTH = 460


@dataclass(frozen=True)
class Sample:
    """A whole file, and what its base library does with it."""

    name: str
    data: bytes
    base: Callable[[bytes], object]


def report(pages: int) -> bytes:
    """A PDF of running text with headings, its lines justified by moving every word a little."""
    pdfmetrics.registerFont(TTFont(FONT, "Vera.ttf"))
    rng = random.Random(1)
    target = io.BytesIO()
    canvas = Canvas(target, pagesize=(595, 842), invariant=1, pageCompression=1)
    for number in range(pages):
        canvas.setFont(FONT, 16)
        canvas.drawString(72, 780, f"Section {number + 1}")
        words = itertools.cycle(paragraph(rng, sentences=200).split())
        text = canvas.beginText(72, 750)
        text.setLeading(16)
        text._code.append(f"{pdfmetrics.getFont(FONT).getSubsetInternalName(0, canvas._doc)} 10 Tf")
        for _ in range(_LINES):
            line = ""
            while pdfmetrics.stringWidth(line, FONT, 10) < _WIDTH:
                line += next(words) + " "
            text._code.append(f"{_kerned(line, canvas, rng)} T*")
        canvas.drawText(text)
        canvas.showPage()
    canvas.save()
    return target.getvalue()


def _kerned(line: str, canvas: Canvas, rng: random.Random) -> str:
    """A line as TeX and word processors write it: one array of short strings and the moves between them."""
    font = pdfmetrics.getFont(FONT)
    pieces = []
    for at in range(0, len(line), 3):
        for _, encoded in font.splitString(line[at : at + 3], canvas._doc):
            pieces.append(f"<{encoded.hex()}> {rng.randint(-20, 20)}")
    return f"[{' '.join(pieces)}] TJ"


def samples() -> list[Sample]:
    """Files whose text is a little below what a document may have."""
    rng = random.Random(2)
    texts = [paragraph(rng, sentences=8) for _ in range(2_200)]
    word = docx.Document()
    book = openpyxl.Workbook()
    rows = [[str(n), text[:60], f"{n * 1.5}"] for n, text in enumerate(texts * 4)]
    page = "".join(f"<h2>Part {n}</h2><p>{text} <b>bold</b></p>" for n, text in enumerate(texts))
    for number, text in enumerate(texts):
        if number % 10 == 0:
            word.add_heading(f"Part {number}", 2)
        word.add_paragraph(text)
    for row in rows:
        book.worksheets[0].append(row)
    document, workbook, table = io.BytesIO(), io.BytesIO(), io.StringIO()
    word.save(document)
    book.save(workbook)
    csv.writer(table).writerows(rows)
    markdown = "".join(f"## Part {n}\n\n{text}\n\n" for n, text in enumerate(texts))
    return [
        Sample("a.docx", document.getvalue(), lambda data: mammoth.convert_to_html(io.BytesIO(data))),
        Sample("a.xlsx", workbook.getvalue(), _openpyxl),
        Sample("a.html", f"<html><body>{page}</body></html>".encode(), _lxml),
        Sample("a.csv", table.getvalue().encode(), lambda data: list(csv.reader(io.StringIO(data.decode())))),
        Sample("a.md", markdown.encode(), bytes.decode),
    ]


def _openpyxl(data: bytes) -> object:
    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    return [list(sheet.iter_rows(values_only=True)) for sheet in book.worksheets]


def _lxml(data: bytes) -> object:
    return lxml.html.document_fromstring(data).text_content()


def _pdfium(data: bytes) -> object:
    document = pypdfium2.PdfDocument(data)
    texts = []
    for index in range(len(document)):
        page = document[index]
        text_page = page.get_textpage()
        texts.append(text_page.get_text_range())
        text_page.close()
        page.close()
    return texts


def _pypdf(data: bytes) -> object:
    return [page.extract_text() for page in pypdf.PdfReader(io.BytesIO(data)).pages]


def seconds(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def pdf_figures(pages: int) -> dict[str, float]:
    data = report(pages)
    ours = seconds(lambda: extract(data, name_hint="a.pdf"))
    pdfium = seconds(lambda: _pdfium(data))
    pure = seconds(lambda: _pypdf(data), rounds=1)
    return {
        "pages": pages,
        "characters": len(extract(data).markdown),
        "pages_per_second": round(pages / ours),
        "pypdfium2_pages_per_second": round(pages / pdfium),
        "pypdf_pages_per_second": round(pages / pure),
        "times_pypdf": round(pure / ours, 1),
        "times_pypdfium2_seconds": round(ours / pdfium, 2),
    }


def text_figures(sample: Sample) -> dict[str, float]:
    megabytes = len(extract(sample.data, name_hint=sample.name).markdown.encode()) / MEGABYTE
    ours = seconds(lambda: extract(sample.data, name_hint=sample.name))
    base = seconds(lambda: sample.base(sample.data))
    return {
        "megabytes": round(megabytes, 2),
        "megabytes_per_second": round(megabytes / ours, 2),
        "base_megabytes_per_second": round(megabytes / base, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=300)
    options = parser.parse_args()
    smallest = seconds(lambda: extract(b"words"))
    result = {
        "child_process_seconds": round(smallest, 3),
        "pdf": pdf_figures(options.pages),
        **{sample.name.partition(".")[2]: text_figures(sample) for sample in samples()},
    }
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
