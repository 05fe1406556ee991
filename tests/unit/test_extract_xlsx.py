from __future__ import annotations

from datetime import date, datetime, time, timedelta

import pytest
from openpyxl.workbook import Workbook
from openpyxl.worksheet.worksheet import Worksheet

from shared.domain.errors import NoTextError, TextTooLargeError
from shared.domain.text import Extraction
from shared.ingest.extract.hints import Hints
from shared.ingest.extract.readers import read
from shared.ingest.extract.xlsx_format import shown_date, shown_number
from tests.office_samples import changed, workbook


def extract(data: bytes) -> Extraction:
    return read(data, Hints("file.xlsx"))


def first(made: Workbook) -> Worksheet:
    sheet = made.active
    assert isinstance(sheet, Worksheet)
    return sheet


def test_each_visible_sheet_under_its_heading_with_its_title_line() -> None:
    def build(made: Workbook) -> None:
        sheet = first(made)
        sheet.title = "Progress"
        sheet["B1"] = "PROGRESS | 2024"
        for row, cells in enumerate([("Task", "Owner"), ("Design", "Ana\nLopez"), ("Build", None)], 3):
            for column, value in enumerate(cells, 2):
                sheet.cell(row, column, value)
        made.create_sheet("Empty")
        made.create_sheet("Secret").append(["hidden"])
        made["Secret"].sheet_state = "hidden"
        made.create_sheet("Numbers").append([1, 2.5, 1234567890123456, 0.1 + 0.2])

    found = extract(workbook(build))
    assert found.markdown == (
        "## Progress\n\nPROGRESS | 2024\n\n| Task | Owner |\n| --- | --- |\n| Design | Ana Lopez |\n"
        "| Build |  |\n\n## Numbers\n\n| 1 | 2.5 | 1234567890123456 | 0.3 |\n| --- | --- | --- | --- |\n"
    )
    assert (found.coverage.unit, found.coverage.total, found.coverage.with_text) == ("sheet", 4, 2)
    assert found.coverage.left_out == ("Secret",)
    assert found.coverage.missing == ()


def test_values_are_shown_as_formatted() -> None:
    def build(made: Workbook) -> None:
        sheet = first(made)
        for value, code in (
            (0.9876, "0.00%"),
            (1234.5, "#,##0.00"),
            (-5, '"€" #,##0;("€" #,##0)'),
            (date(2020, 7, 23), "dd/mm/yyyy"),
            (datetime(2020, 7, 23, 9, 30), "yyyy-mm-dd hh:mm"),  # noqa: DTZ001
            (time(10, 5), "h:mm"),
            (timedelta(hours=30, minutes=5), "[h]:mm:ss"),
            (True, "General"),
        ):
            sheet.append([value])
            sheet.cell(sheet.max_row, 1).number_format = code

    lines = extract(workbook(build)).markdown.split("\n\n")[1:]
    assert [line.strip() for line in lines] == [
        "98.76%",
        "1,234.50",
        "(€ 5)",
        "2020-07-23",
        "2020-07-23 09:30",
        "10:05",
        "30:05:00",
        "TRUE",
    ]


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        ("13", "General", "13"),
        ("0.30000000000000004", "General", "0.3"),
        ("1E-7", "General", "0.0000001"),
        ("1.5E300", "General", "1.5E+300"),
        ("123456789012345", "General", "123456789012345"),
        ("7890", "#,##0", "7,890"),
        ("7890000", '#,##0,"k"', "7,890k"),
        ("5", "00000", "00005"),
        ("0.5", "0.0##", "0.5"),
        ("1234.5", "[$€-407] #,##0.00", "€ 1,234.50"),
        ("1234.5", "$#,##0.00_);[Red]($#,##0.00)", "$1,234.50"),
        ("-1234.5", "$#,##0.00_);[Red]($#,##0.00)", "($1,234.50)"),
        ("-0.001", "0.00", "0.00"),
        ("12345", "0.00E+00", "1.23E+04"),
        ("0.25", "# ?/?", "0.25"),
        ("0", '0;-0;"none"', "none"),
        ("2", '"Phase "0', "Phase 2"),
        ("1", '"yes";"yes";"no"', "yes"),
        ("44035", "m/d/yyyy", "2020-07-23"),
        ("44035.5", "d. mmmm yyyy h:mm AM/PM", "2020-07-23 12:00"),
        ("44035", "mmm yyyy", "2020-07"),
        ("1", "yyyy-mm-dd", "1900-01-01"),
        ("61", "yyyy-mm-dd", "1900-03-01"),
        ("0.75", "mm:ss", "18:00:00"),
        ("-1", "yyyy-mm-dd", "-1"),
        ("1e9", "yyyy-mm-dd", "1000000000"),
        ("text", "0.00", "text"),
        ("nan", "0.00", "nan"),
        ("5", "", "5"),
        ("5", "@", "5"),
    ],
)
def test_number_formats(value: str, code: str, shown: str) -> None:
    assert shown_number(value, code, epoch_1904=False) == shown


def test_the_epoch_of_1904() -> None:
    assert shown_number("111", "yyyy-mm-dd", epoch_1904=True) == "1904-04-21"


def test_dates_stored_as_text() -> None:
    assert shown_date("2021-01-01T00:00:00Z") == "2021-01-01"
    assert shown_date("2021-01-01T10:10:10.000") == "2021-01-01 10:10:10"
    assert shown_date("10:10:10") == "10:10:10"


def test_stored_results_of_formulas_and_the_formula_where_there_is_none() -> None:
    def build(made: Workbook) -> None:
        first(made).append([3, 2.5, "=A1*B1", "=A1+B1"])

    def stored(xml: bytes) -> bytes:
        return xml.replace(b"<f>A1*B1</f><v></v>", b"<f>A1*B1</f><v>7.5</v>").replace(
            b"<f>A1*B1</f><v/>", b"<f>A1*B1</f><v>7.5</v>"
        )

    text = extract(changed(workbook(build), "xl/worksheets/sheet1.xml", stored)).markdown
    assert "| 3 | 2.5 | 7.5 | =A1+B1 |" in text


def test_merged_cells_come_once_and_phonetic_text_not_at_all() -> None:
    def build(made: Workbook) -> None:
        sheet = first(made)
        sheet["A1"] = "Quarter results"
        sheet.merge_cells("A1:C1")
        sheet.append(["Place", "x_x000D_y", "漢字"])
        sheet.append(["North", 11, 12])

    text = extract(workbook(build)).markdown
    assert text.count("Quarter results") == 1
    assert "| Place | x y | 漢字 |" in text


def test_a_cell_in_the_last_corner_costs_nothing() -> None:
    def build(made: Workbook) -> None:
        sheet = first(made)
        sheet["A1"], sheet["XFD1"], sheet["XFD1048576"] = "near", "right", "far"

    assert extract(workbook(build)).markdown == "## Sheet\n\n| near | right |\n| --- | --- |\n\nfar\n"


def test_parts_with_other_columns_become_tables_of_their_own() -> None:
    def build(made: Workbook) -> None:
        sheet = first(made)
        for row in (["a", "b"], [1, 2], [], [3, 4], [], [None, None, "x", "y", "z"], [None, None, 5, 6, 7]):
            sheet.append(row)

    text = extract(workbook(build)).markdown
    assert "| 1 | 2 |\n| 3 | 4 |\n\n| x | y | z |\n| --- | --- | --- |\n| 5 | 6 | 7 |" in text


def test_strict_ooxml_and_macros_are_accepted() -> None:
    data = workbook(lambda made: first(made).append(["Widget", 10]))
    for part in ("xl/workbook.xml", "xl/worksheets/sheet1.xml"):
        data = changed(
            data,
            part,
            lambda xml: xml.replace(
                b"http://schemas.openxmlformats.org/spreadsheetml/2006/main",
                b"http://purl.oclc.org/ooxml/spreadsheetml/main",
            ),
        )
    assert "| Widget | 10 |" in extract(data).markdown
    assert "| Widget | 10 |" in read(data, Hints("book.xlsm")).markdown


def test_workbooks_without_words_are_refused() -> None:
    with pytest.raises(NoTextError):
        extract(workbook(lambda made: None))

    def only_hidden(made: Workbook) -> None:
        made.create_sheet("Secret").append(["hidden"])
        made["Secret"].sheet_state = "veryHidden"

    with pytest.raises(NoTextError, match="1 hidden"):
        extract(workbook(only_hidden))


def test_more_text_than_a_document_may_have_is_refused() -> None:
    def build(made: Workbook) -> None:
        for row in range(600):
            first(made).append([f"{row} " + "word " * 400])

    with pytest.raises(TextTooLargeError):
        extract(workbook(build))


def test_a_sparse_sheet_is_not_blown_up() -> None:
    def build(made: Workbook) -> None:
        for n in range(1, 900):
            first(made).cell(n, n, "x")
            first(made).cell(n, n + 900, "y")

    with pytest.raises(TextTooLargeError, match="rows"):
        extract(workbook(build))
