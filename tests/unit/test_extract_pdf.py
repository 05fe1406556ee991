from __future__ import annotations

from collections.abc import Callable

import pytest
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas

from shared.domain.errors import (
    CorruptFileError,
    EncryptedFileError,
    NoTextError,
    TextTooLargeError,
    UnsupportedTypeError,
)
from shared.domain.text import Extraction
from shared.ingest.extract.hints import Hints
from shared.ingest.extract.readers import read
from tests.pdf_samples import (
    HELVETICA,
    blank,
    both,
    drawn,
    glyphs,
    lines,
    picture,
    ruled_table,
    written,
)

WRAPPED = (
    "The council decided on Monday that the water supply of the north",
    "valley will be measured twice a year and that every station sends",
    "its figures to the planning committee before the end of the month.",
)


def extract(data: bytes) -> Extraction:
    return read(data, Hints("file.pdf"))


def test_lines_of_a_paragraph_are_joined_and_paragraphs_are_not() -> None:
    text = extract(drawn(both(lines(*WRAPPED), lines(*WRAPPED, y=690)))).markdown
    assert text == f"{' '.join(WRAPPED)}\n\n{' '.join(WRAPPED)}\n"


def test_short_lines_stay_lines() -> None:
    address = ("Jane Doe, planning", "12 Mill Lane", "North Valley, AB1 2CD and some more words here")
    assert extract(drawn(lines(*address))).markdown == "\n".join(address) + "\n"


def test_hyphens_at_line_ends_are_joined_but_those_of_compounds_stay() -> None:
    text = extract(
        drawn(
            lines(
                "A well-known report on the long-term development of infor-",
                "mation systems says that the committee should have a well-",
                "known member with experience in long-term plans of this kind.",
            )
        )
    ).markdown
    assert "information systems" in text
    assert "a well-known member" in text


def test_pages_can_be_cited_and_sentences_run_over_their_ends() -> None:
    document = drawn(lines(*WRAPPED[:2]), lines(WRAPPED[2], "And a last one."), lines("Page three."))
    found = extract(document)
    assert " ".join(WRAPPED) in found.markdown
    assert [page.number for page in found.pages] == [1, 2, 3]
    second = found.pages[1]
    assert found.markdown[second.start : second.end].startswith("its figures")
    assert [page.start for page in found.pages[1:]] == [page.end for page in found.pages[:-1]]
    assert found.pages[-1].end == len(found.markdown)


def test_headings_by_size_and_weight() -> None:
    page = both(
        lines("Annual report", size=20, y=780),
        lines("Water", size=15, y=740),
        lines(*WRAPPED, y=715),
        lines("Energy", size=15, y=650),
        lines("Prices", font="Helvetica-Bold", y=630),
        lines(*WRAPPED, y=610),
    )
    found = extract(drawn(page))
    headings = [line for line in found.markdown.split("\n") if line.startswith("#")]
    assert headings == ["# Annual report", "## Water", "## Energy", "### Prices"]
    assert found.title == "Annual report"


def test_headings_from_the_outline() -> None:
    def outlined(canvas: Canvas) -> None:
        for key, title, level, y in (("a", "1. Scope", 0, 780), ("b", "1.1 Terms", 1, 700)):
            canvas.bookmarkHorizontal(key, 0, y)
            canvas.addOutlineEntry(title, key, level)
        lines("1. Scope", *WRAPPED, y=770)(canvas)
        lines("1.1 Terms", *WRAPPED, y=690)(canvas)

    text = extract(drawn(outlined)).markdown
    assert "# 1. Scope\n\n" in text
    assert "## 1.1 Terms\n\n" in text


def test_a_ruled_table_becomes_a_pipe_table_in_its_place() -> None:
    rows = [["Site", "Crop", "Tonnes"], ["Hilltop", "Barley", "12.5"], ["River|side", "Oats", "7.25"]]
    page = both(lines("Before the table.", y=700), ruled_table(rows), lines("After the table.", y=400))
    text = extract(drawn(page)).markdown
    assert text == (
        "Before the table.\n\n"
        "| Site | Crop | Tonnes |\n| --- | --- | --- |\n| Hilltop | Barley | 12.5 |\n"
        "| River\\|side | Oats | 7.25 |\n\nAfter the table.\n"
    )


def test_a_merged_cell_comes_once() -> None:
    rows = [["Results of the year", "", ""], ["North", "11", "12"], ["South", "21", "22"]]
    text = extract(drawn(ruled_table(rows, spans=[("SPAN", (0, 0), (2, 0))]))).markdown
    assert text.count("Results of the year") == 1
    assert "| North | 11 | 12 |" in text


def test_a_frame_around_text_is_no_table() -> None:
    def framed(canvas: Canvas) -> None:
        canvas.rect(50, 500, 500, 300)
        lines(*WRAPPED)(canvas)

    assert "|" not in extract(drawn(framed)).markdown


def test_a_scan_has_no_text() -> None:
    with pytest.raises(NoTextError) as caught:
        extract(drawn(picture, picture))
    assert "OCR" in caught.value.hint


def test_a_stamp_on_every_scanned_page_is_not_its_text() -> None:
    with pytest.raises(NoTextError):
        extract(drawn(*[both(picture, lines("Scanned with App"))] * 6))


def test_a_partly_scanned_file_names_its_pages_and_counts_blank_ones() -> None:
    found = extract(drawn(picture, lines("Only this page has words."), blank, picture))
    assert found.coverage.unit == "page"
    assert (found.coverage.total, found.coverage.with_text) == (4, 1)
    assert found.coverage.missing == ("1", "4")


def test_a_page_of_drawings_shows_something() -> None:
    def chart(canvas: Canvas) -> None:
        canvas.rect(100, 100, 200, 200, fill=1)

    found = extract(drawn(lines("Words."), chart))
    assert found.coverage.missing == ("2",)


def test_running_heads_and_page_numbers_come_once() -> None:
    def page(number: int) -> Callable[[Canvas], None]:
        return both(
            lines("Annual report of the council", y=810, size=9),
            lines(f"Chapter {number}: {WRAPPED[0]}"),
            lines(f"Page {number} of 8", y=30, size=9),
            lines(f"Water and energy {number}", y=45, size=9),
        )

    text = extract(drawn(*[page(n) for n in range(1, 9)])).markdown
    assert text.count("Annual report of the council") == 1
    assert "Page 5" not in text
    assert "energy 5" not in text
    assert all(f"Chapter {n}" in text for n in range(1, 9))


def test_form_values_are_listed() -> None:
    def form(canvas: Canvas) -> None:
        lines("Application", size=14)(canvas)
        canvas.acroForm.textfield(name="name", tooltip="Full name", value="Ana Lopez", x=72, y=600)
        canvas.acroForm.textfield(name="empty", tooltip="Nothing", value="", x=72, y=560)
        canvas.acroForm.checkbox(name="agree", tooltip="Agrees", checked=True, x=72, y=520)

    text = extract(drawn(form)).markdown
    assert "- Full name: Ana Lopez" in text
    assert "- Agrees: Yes" in text
    assert "Nothing" not in text


def test_content_drawn_out_of_order_is_read_from_the_top() -> None:
    page = both(lines(*WRAPPED, y=400), lines("The title", size=18, y=780), lines("Above the body.", y=600))
    text = extract(drawn(page)).markdown
    assert text.index("The title") < text.index("Above the body") < text.index("The council decided")


def test_columns_are_read_one_after_the_other() -> None:
    left = ("Left one two three", "left four five six", "left seven eight.")
    right = ("Right one two three", "right four five six", "right seven eight.")
    text = extract(drawn(both(lines(*left), lines(*right, x=320)))).markdown
    assert " ".join(text.split()).startswith(
        "Left one two three left four five six left seven eight. Right one"
    )


def test_columns_of_upright_glyphs_are_read_from_the_right() -> None:
    name = "HeiseiMin-W3"
    pdfmetrics.registerFont(UnicodeCIDFont(name, isVertical=True))
    columns = ("昨年、市の人口は三パーセント増加しました。", "多くの人が外国から来ています。")

    def page(canvas: Canvas) -> None:
        canvas.setFont(name, 14)
        for number, column in enumerate(columns):
            canvas.drawString(500 - 30 * number, 750, column)

    text = extract(drawn(page)).markdown
    assert text == "\n\n".join(columns) + "\n"


def test_arabic_ligatures_are_read_the_right_way_round() -> None:
    texts = ["السلام عليكم ورحمة الله وبركاته", "هذا الكتاب يتحدث عن الإسلام والأدب خلال القرن الأول"]
    text = extract(glyphs(texts, pairs=("لا", "لأ", "لإ"))).markdown
    assert "السلام" in text
    assert "الإسلام والأدب خلال" in text


def test_hebrew_is_in_logical_order() -> None:
    assert "שלום עולם זה מסמך" in extract(glyphs(["שלום עולם זה מסמך בעברית"])).markdown


def test_words_that_look_like_markup_stay_words() -> None:
    text = extract(
        drawn(both(lines("# not a heading"), lines("> not a quote", y=700), lines("-----", y=600)))
    ).markdown
    assert "\\# not a heading" in text
    assert "\\> not a quote" in text
    assert "---" in text


def test_bullets_become_a_list() -> None:
    text = extract(drawn(lines("\u2022 first point", "\u2022 second point", "1. numbered"))).markdown
    assert text == "- first point\n- second point\n1. numbered\n"


def test_an_empty_user_password_opens_without_asking() -> None:
    assert "Words." in extract(drawn(lines("Words."), password="")).markdown


def test_a_real_password_is_refused() -> None:
    with pytest.raises(EncryptedFileError):
        extract(drawn(lines("Words."), password="secret"))


def test_a_dynamic_xfa_form_is_refused() -> None:
    data = written(
        "BT /F1 12 Tf 72 700 Td (Please wait...) Tj ET",
        HELVETICA,
        "<</Length 10>>stream\n<xdp></xdp\nendstream",
        catalog="/NeedsRendering true/AcroForm<</Fields[]/XFA 6 0 R>>",
    )
    with pytest.raises(UnsupportedTypeError, match="XFA"):
        extract(data)


@pytest.mark.parametrize(
    "damage", [b"%PDF-1.7\nnothing more", b"%PDF-1.4\n1 0 obj\n<</Type/Catalog>>\nendobj"]
)
def test_damaged_files_are_refused(damage: bytes) -> None:
    with pytest.raises(CorruptFileError):
        extract(damage)


def test_a_damaged_page_costs_only_itself() -> None:
    data = drawn(lines("First page."), lines("Second page."), lines("Third page."))
    at = [i for i in range(len(data)) if data.startswith(b"/Type /Page\n", i)]
    assert len(at) == 3
    broken = data[: at[1]] + b"/Type /Pagx\n" + data[at[1] + 12 :]
    text = extract(broken).markdown
    assert "First page." in text
    assert "Third page." in text


def test_more_text_than_a_document_may_have_is_refused_early() -> None:
    page = lines(*["word " * 120] * 55, size=6)
    with pytest.raises(TextTooLargeError):
        extract(drawn(*[page] * 80))


def test_titles_that_programs_write_are_not_titles() -> None:
    assert extract(drawn(lines("Words."), title="Microsoft Word - draft.doc")).title is None
    assert extract(drawn(lines("Words."), title="Water supply 2024")).title == "Water supply 2024"
