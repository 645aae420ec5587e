"""Workbooks: values as they are shown, merged cells, names of columns, what is left out."""

import datetime as dt
import io
from collections.abc import Callable
from typing import Any

import pytest

from gsum_assets.corpus.conversion.number_formats import shown
from gsum_assets.corpus.conversion.worker import convert
from tests.corpus.office_files import archive

ACCOUNTING = '_("$"* #,##0.00_);_("$"* \\(#,##0.00\\);_("$"* "-"??_);_(@_)'
DAY = dt.date(2025, 3, 4)


@pytest.mark.parametrize(
    ("value", "code", "text"),
    [
        (0.075, "0.0%", "7.5%"),
        (1234.5, '"$"#,##0.00', "$1,234.50"),
        (0.5, "[$€-407] #,##0.00", "€ 0.50"),
        (1234.5, "#,##0.00\\ [$EUR]", "1,234.50 EUR"),
        (1234.0, "00000", "01234"),
        (-1200, "#,##0;(#,##0)", "(1,200)"),
        (-3, "0", "-3"),
        (12, "[Red]0;[Blue]-0", "12"),
        (12, '0.0" kg"', "12.0 kg"),
        (1234567, '#,##0,"k"', "1,235k"),
        (1.005, "0.00", "1.01"),  # as decimal digits, halves away from zero
        (5.25, "0.###", "5.25"),
        (0.25, "#.##", ".25"),
        (1234.5, ACCOUNTING, "$1,234.50"),
        (-1234.5, ACCOUNTING, "$(1,234.50)"),
        (0, ACCOUNTING, "$-"),
        # other kinds of formats: the plain value
        (0.5, "# ?/?", "0.5"),
        (12345, "0.00E+00", "12345"),
        (1500, '[>=1000]0,"k";0', "1500"),
        (5551234, "000-0000", "5551234"),
        (7, "@", "7"),
        (7, "", "7"),
        (0.1 + 0.2, "General", "0.3"),
        (1e300, "0.00", "1e+300"),
        (True, "0", "TRUE"),
        ("01234", "0", "01234"),
        (dt.timedelta(hours=30), "[h]:mm", "30:00"),
        (dt.timedelta(hours=-1, seconds=5), "[h]:mm:ss", "-0:59:55"),
        (DAY, "dd/mm/yyyy", "2025-03-04"),
        (dt.datetime(2025, 3, 4), "d mmm yy", "2025-03-04"),
        (dt.datetime(2025, 3, 4, 9, 5), "dd/mm/yyyy hh:mm", "2025-03-04 09:05"),
        (dt.datetime(1900, 1, 1, 12), "h:mm", "12:00"),  # 36 hours, as a time of the day
        (dt.time(14, 30), "h:mm:ss", "14:30:00"),
        (dt.time(14, 30), "", "14:30:00"),
    ],
)
def test_values_are_read_as_shown(value: object, code: str, text: str) -> None:
    assert shown(value, code) == text


def workbook(write: Callable[[Any, Callable[[str], Any]], object]) -> bytes:
    """An .xlsx with one sheet, by a function of the sheet and of one that makes a format."""
    import xlsxwriter

    buffer = io.BytesIO()
    book = xlsxwriter.Workbook(buffer, {"in_memory": True})
    write(book.add_worksheet("Loan"), lambda code: book.add_format({"num_format": code}))
    book.close()
    return buffer.getvalue()


def excel(sheet: Any, form: Callable[[str], Any]) -> None:
    sheet.merge_range("B1:F1", "Report")
    sheet.merge_range("B3:B4", "Area")
    sheet.merge_range("C3:D3", 2023)
    sheet.merge_range("E3:F3", 2024)
    sheet.write_row("C4", ["Plan", "Real"] * 2)
    sheet.merge_range("B5:B6", "North")
    sheet.write_row("C5", [1, 2, 3, 4], form("0.00"))
    sheet.write_row("C6", [0.5, 0.25], form("0%"))
    sheet.write_formula("C7", "=SUM(C5:C6)", None, "")
    sheet.write_formula("D7", "=D5", form("$#,##0"), 2)
    sheet.write_formula("E7", "=1/0", None, "#DIV/0!")


NAMES = "urn:oasis:names:tc:opendocument:xmlns"
CELL = "<table:table-cell{}><text:p>{}</text:p></table:table-cell>".format
COVERED = "<table:covered-table-cell><text:p>old</text:p></table:covered-table-cell>"
BLANK = '<table:table-cell table:number-columns-repeated="{}"/>'.format
WIDE, HIGH = ' table:number-columns-spanned="2"', ' table:number-rows-spanned="2"'
ROW = "<table:table-row{}>{}</table:table-row>".format
EMPTY_ROWS = ROW(' table:number-rows-repeated="3"', BLANK(1024))


def open_document(*rows: str) -> bytes:
    names = " ".join(f'xmlns:{n}="{NAMES}:{n}:1.0"' for n in ("office", "text", "table", "style"))
    return archive(
        {
            "content.xml": f"<office:document-content {names}><office:body><office:spreadsheet>"
            f'<table:table table:name="Loan">{"".join(rows)}</table:table></office:spreadsheet>'
            "</office:body></office:document-content>"
        }
    )


OPEN_DOCUMENT = open_document(
    ROW("", BLANK(1) + CELL(' table:number-columns-spanned="5"', "Report") + BLANK(1019)),
    ROW("", BLANK(1024)),
    ROW("", BLANK(1) + CELL(HIGH, "Area") + CELL(WIDE, "2023") + COVERED + CELL(WIDE, "2024")),
    ROW("", BLANK(1) + COVERED + (CELL("", "Plan") + CELL("", "Real")) * 2),
    ROW("", BLANK(1) + CELL(HIGH, "North") + "".join(CELL("", f"{n}.00") for n in range(1, 5))),
    ROW("", BLANK(1) + COVERED + CELL("", "50%") + CELL("", "25%") + BLANK(1000)),
    ROW("", BLANK(2) + CELL(' table:formula="of:=SUM([.C5:.C6])"', "") + CELL("", "$2")
        + CELL("", "#DIV/0!")),
    ROW(' table:number-rows-repeated="1048000"', BLANK(16384)),
)  # fmt: skip


@pytest.mark.parametrize(
    ("suffix", "content"), [(".xlsx", workbook(excel)), (".ods", OPEN_DOCUMENT)]
)
def test_merged_names_and_values_keep_their_columns(suffix: str, content: bytes) -> None:
    found = convert(suffix, content)
    assert found.text.split("\n") == [
        "## Loan",
        "| Report |",
        "| Area | 2023 Plan | 2023 Real | 2024 Plan | 2024 Real |",
        "| --- | --- | --- | --- | --- |",
        "| North | 1.00 | 2.00 | 3.00 | 4.00 |",
        "| North | 50% | 25% |",
        "|  | =SUM(C5:C6) | $2 | #DIV/0! |",
    ]
    assert found.left_out == '1 formula without a value ("=SUM(C5:C6)")'
    assert [label.rpartition(" ")[2] for label in found.labels] == list("13567")


def test_cells_of_an_open_document_sheet_are_read_as_shown() -> None:
    date = ' office:value-type="date" office:date-value="2025-03-04T{}"'.format
    twice = ' table:number-columns-repeated="2"'
    hidden = ' table:visibility="collapse"'
    content = open_document(
        f"<table:table-column/><table:table-column{hidden}/><table:table-column/>",
        ROW("", CELL(date("00:00:00"), "04/03/25") + CELL("", "old")
            + CELL(date("09:00:00"), "4.3.")),
        ROW(hidden, CELL("", "secret words")),
        ROW(' table:number-rows-repeated="2"', CELL(twice, "a<text:s/>b") + CELL("", "7")),
        ROW("", CELL(' office:value-type="float" office:value="3"', "") + CELL("", "x")),
        ROW("", CELL(date("00:00:00"), "4 March")),
    )  # fmt: skip
    found = convert(".ods", content)
    assert found.text.split("\n")[1:] == [
        "| 2025-03-04 | 2025-03-04 09:00:00 |",
        "| a b | 7 |",
        "| a b | 7 |",
        "| 3 |",
        "| 4 March |",
    ]
    assert found.left_out == "5 hidden lines (8 words)"


@pytest.mark.parametrize(
    ("rows", "has_names"),
    [
        ([["Site", "Rent"], ["Kay", 512]], True),
        ([["Rents"], ["Site", 2023, 2024], ["Kay", 512, 530]], True),
        ([["Rate", 0.075], ["Sum", 12]], False),
        ([["Site", "Rent"]], False),
        ([["Site"], ["Kay"]], False),
    ],
)
def test_names_of_columns_are_the_first_words(rows: list[list], has_names: bool) -> None:
    content = workbook(lambda sheet, _: [sheet.write_row(i, 0, row) for i, row in enumerate(rows)])
    text = convert(".xlsx", content).text
    assert ("| Site | " in text.partition("\n| --- |")[0] and "---" in text) == has_names
    assert text.count("---") == (len(rows[-1]) if has_names else 0)


def test_rows_and_cells_without_addresses_have_their_formats() -> None:
    import re
    import zipfile

    packed = zipfile.ZipFile(io.BytesIO(workbook(lambda sheet, form: sheet.write_row(
        0, 0, [0.5, 0.25], form("0.0%")))))  # fmt: skip
    files = {name: packed.read(name).decode() for name in packed.namelist()}
    sheet = files["xl/worksheets/sheet1.xml"]
    files["xl/worksheets/sheet1.xml"] = re.sub(r'(<(?:c|row)) r="\w+"', r"\1", sheet)
    assert convert(".xlsx", archive(files)).text == "## Loan\n| 50.0% | 25.0% |"
