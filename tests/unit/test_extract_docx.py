from __future__ import annotations

import pytest
from docx.document import Document
from docx.enum.style import WD_STYLE_TYPE
from docx.shared import Pt

from shared.domain.errors import (
    CorruptFileError,
    EncryptedFileError,
    NoTextError,
    UnsafeFileError,
    UnsupportedTypeError,
)
from shared.domain.text import Extraction
from shared.ingest.extract.hints import Hints
from shared.ingest.extract.readers import read
from tests.office_samples import body, changed, container, document, paragraph, run


def extract(data: bytes) -> Extraction:
    return read(data, Hints("file.docx"))


def test_body_order_headings_lists_and_tables() -> None:
    def build(made: Document) -> None:
        made.core_properties.title = "Delivery terms 2024"
        made.add_heading("Delivery terms", 1)
        made.add_paragraph("Before the table.")
        table = made.add_table(rows=2, cols=2)
        for cell, text in zip(table._cells, ["City", "Days", "Por|to", "4"], strict=True):
            cell.text = text
        made.add_heading("Steps", 2)
        made.add_paragraph("first", style="List Bullet")
        made.add_paragraph("second", style="List Bullet")
        made.add_paragraph("one", style="List Number")
        made.add_paragraph("After.").add_run(" Really.").bold = True

    found = extract(document(build))
    assert found.title == "Delivery terms 2024"
    assert found.markdown == (
        "# Delivery terms\n\nBefore the table.\n\n| City | Days |\n| --- | --- |\n| Por\\|to | 4 |\n\n"
        "## Steps\n\n- first\n- second\n\n1. one\n\nAfter. **Really.**\n"
    )


def test_styles_based_on_headings_are_headings() -> None:
    def build(made: Document) -> None:
        style = made.styles.add_style("Kapitel", WD_STYLE_TYPE.PARAGRAPH)
        style.base_style = made.styles["Heading 2"]
        made.add_paragraph("Based", style="Kapitel")
        made.add_paragraph("Text.")

    assert "## Based" in extract(document(build)).markdown


def test_code_by_font() -> None:
    def build(made: Document) -> None:
        for line in ("def f(x):", "    # half", "    return x / 2"):
            made.add_paragraph().add_run(line).font.name = "Courier New"
        made.add_paragraph("Text.")
        memo = made.add_paragraph().add_run("A memo set in a typewriter face")
        memo.font.name, memo.font.size = "Courier New", Pt(12)

    text = extract(document(build)).markdown
    assert "```\ndef f(x):\n    # half\n    return x / 2\n```" in text
    assert text.endswith("A memo set in a typewriter face\n")


def test_tracked_changes_are_taken_as_accepted() -> None:
    text = extract(
        body(
            paragraph(
                run("The notice period is ")
                + '<w:del w:id="1"><w:r><w:delText>two weeks</w:delText></w:r></w:del>'
                + f'<w:ins w:id="2">{run("three months")}</w:ins>'
                + run(".")
            )
        )
    ).markdown
    assert text == "The notice period is three months.\n"


def test_fields_controls_text_boxes_and_formulas_are_read_once() -> None:
    box = f"<w:txbxContent>{paragraph(run('In the box'))}</w:txbxContent>"
    text = extract(
        body(
            paragraph(f'<w:fldSimple w:instr=" AUTHOR ">{run("Ana")}</w:fldSimple>')
            + f"<w:sdt><w:sdtContent>{paragraph(run('In the control'))}</w:sdtContent></w:sdt>"
            + paragraph(
                f"<w:r><mc:AlternateContent><mc:Choice Requires='wps'><w:drawing><wps:txbx>{box}</wps:txbx>"
                "</w:drawing></mc:Choice><mc:Fallback><w:pict/></mc:Fallback></mc:AlternateContent></w:r>"
            )
            + paragraph("<m:oMath><m:r><m:t>E=mc</m:t></m:r><m:r><m:t>2</m:t></m:r></m:oMath>")
            + paragraph(
                f"<w:r><w:ruby><w:rt>{run('かんじ')}</w:rt><w:rubyBase>{run('漢字')}</w:rubyBase></w:ruby></w:r>"
            )
        )
    ).markdown
    assert text == "Ana\n\nIn the control\n\nIn the box\n\nE=mc2\n\n漢字\n"


def test_hidden_text_is_left_out() -> None:
    hidden = run("not shown", "<w:rPr><w:vanish/></w:rPr>")
    shown = run(" shown", '<w:rPr><w:vanish w:val="0"/></w:rPr>')
    assert extract(body(paragraph(run("Plain") + hidden + shown))).markdown == "Plain shown\n"


def test_headers_and_footers_come_once_at_the_end() -> None:
    def build(made: Document) -> None:
        made.add_paragraph("Body.")
        made.sections[0].header.paragraphs[0].text = "Council paper"
        made.sections[0].footer.paragraphs[0].text = "12"
        other = made.add_section()
        other.header.is_linked_to_previous = False
        other.header.paragraphs[0].text = "Council paper"

    assert extract(document(build)).markdown == "Body.\n\nCouncil paper\n"


def test_nested_tables_and_spans() -> None:
    def build(made: Document) -> None:
        table = made.add_table(rows=2, cols=3)
        table.cell(0, 0).merge(table.cell(0, 2)).text = "Wide"
        table.cell(1, 0).text = "a"
        table.cell(1, 1).add_table(rows=1, cols=2).cell(0, 0).text = "inner"
        table.cell(1, 2).text = "c"

    text = extract(document(build)).markdown
    assert text == "| Wide |  |  |\n| --- | --- | --- |\n| a | inner | c |\n"


def test_strict_ooxml_is_accepted() -> None:
    data = changed(
        document(lambda made: made.add_paragraph("Some text") and None),
        "word/document.xml",
        lambda xml: xml.replace(
            b"http://schemas.openxmlformats.org/wordprocessingml/2006/main",
            b"http://purl.oclc.org/ooxml/wordprocessingml/main",
        ),
    )
    assert extract(data).markdown == "Some text\n"


def test_a_document_without_words_is_refused() -> None:
    with pytest.raises(NoTextError):
        extract(document(lambda made: made.add_paragraph("") and None))


def test_containers_of_other_kinds_are_refused() -> None:
    with pytest.raises(UnsupportedTypeError, match="OpenDocument"):
        extract(container({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": "<a/>"}))
    with pytest.raises(UnsupportedTypeError, match="PowerPoint"):
        extract(container({"ppt/presentation.xml": "<a/>"}))
    with pytest.raises(UnsupportedTypeError, match="ZIP"):
        extract(container({"readme.txt": "hello"}))


def test_encrypted_and_old_office_files_are_told_apart() -> None:
    ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
    with pytest.raises(EncryptedFileError):
        extract(ole + "EncryptedPackage".encode("utf-16-le"))
    with pytest.raises(UnsupportedTypeError, match="Office 97"):
        extract(ole + "WordDocument".encode("utf-16-le"))


def test_damaged_containers_are_refused() -> None:
    data = document(lambda made: made.add_paragraph("Some text") and None)
    for damage in (data[:700], data[:-40], b"PK\x03\x04" + bytes(200)):
        with pytest.raises(CorruptFileError):
            extract(damage)
    with pytest.raises(CorruptFileError, match="is damaged"):
        extract(changed(data, "word/document.xml", lambda xml: xml[: len(xml) // 2]))


def test_bombs_are_refused_before_they_open() -> None:
    data = document(lambda made: made.add_paragraph("Some text") and None)
    with pytest.raises(UnsafeFileError, match="expands"):
        extract(changed(data, "word/document.xml", lambda xml: xml + b" " * 80_000_000))
    laughs = b'<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>'
    with pytest.raises(UnsafeFileError, match="document type"):
        extract(changed(data, "word/styles.xml", lambda xml: laughs + xml))
    with pytest.raises(UnsafeFileError, match="outside"):
        extract(container({"word/document.xml": "<a/>", "../../etc/passwd": "x"}))
    with pytest.raises(UnsafeFileError, match="parts"):
        extract(container({f"word/media/{n}.txt": "" for n in range(5_001)}))
