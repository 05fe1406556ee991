"""Whole files of every format, each with what its reader has branches for."""

from __future__ import annotations

from collections.abc import Iterator

from docx.document import Document
from openpyxl.workbook import Workbook
from openpyxl.worksheet.worksheet import Worksheet

from tests.office_samples import document, workbook
from tests.pdf_samples import both, drawn, glyphs, lines, picture, ruled_table

_PAGE = """<!doctype html><html lang="en"><head><title>T</title><style>.a{color:#fff}</style></head><body>
<nav><a href="/">x</a></nav><main><h1>Title</h1><p class="a">white</p>
<p>Words <b>bold</b> <a href="https://e.org">l</a></p><ul><li>a<ol><li>b</li></ol></li></ul>
<table><thead><tr><th colspan="2">h</th></tr></thead><tr><td rowspan="2">1</td><td>2</td></tr>
<tr><td><p>3</p></td></tr></table><pre>code</pre><blockquote>q</blockquote></main></body></html>"""
_NOTES = """---
title: Notes
---
# Notes

Words *and* more.

| a | b |
|---|---|
| 1 | 2 |

```py
# no heading
```

- one
  - two

> quoted
"""


def seeds() -> Iterator[tuple[str, bytes]]:
    """Names and contents."""
    table = ruled_table([["a", "b", "c"], ["1", "2", "3"], ["4", "5", "6"]])
    yield (
        "page.pdf",
        drawn(
            both(
                lines("Title", size=20), lines("Some words that run to the end of", "the line.", y=700), table
            ),
            picture,
            lines("\u2022 point", "1. item"),
            title="Report",
        ),
    )
    yield "right-to-left.pdf", glyphs(["السلام عليكم ورحمة الله", "الإسلام والأدب"], pairs=("لا", "لأ", "لإ"))
    yield "report.docx", document(_report)
    yield "book.xlsx", workbook(_book)
    yield "page.html", _PAGE.encode()
    yield "rows.csv", b'Title\n\na;b;c\n1,5;"x ""y""";z\n2;"multi\nline";\n'
    yield "notes.md", _NOTES.encode()
    yield "gbk.txt", "去年，该市人口增长了百分之三。".encode("gb18030") * 20
    yield (
        "latin.txt",
        "Die Bürgermeisterin eröffnete das neue Schwimmbad für die Gäste.\n".encode("cp1252") * 9,
    )


def _report(made: Document) -> None:
    made.add_heading("Report", 1)
    made.add_paragraph("Words ").add_run("bold").bold = True
    made.add_paragraph("item", style="List Bullet")
    made.add_table(rows=2, cols=2).cell(0, 0).text = "cell"
    made.sections[0].header.paragraphs[0].text = "Head"


def _book(made: Workbook) -> None:
    sheet = made.active
    assert isinstance(sheet, Worksheet)
    for row in (["Title"], [], ["a", "b"], [1, 2.5], ["=A4*2", True]):
        sheet.append(row)
    sheet["B4"].number_format = "0.00%"
    made.create_sheet("More").append(["x"])
