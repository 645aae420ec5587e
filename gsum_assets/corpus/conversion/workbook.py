"""Sheets of workbooks and CSV as Markdown tables, with their values as they are shown."""

import io
import json
import posixpath
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import IO, Any

from gsum_assets.corpus.conversion.formats import (
    ConversionError,
    Converted,
    Report,
    counted,
    decoded_text,
    paged,
    readable_as,
)
from gsum_assets.corpus.conversion.html import xml_root
from gsum_assets.corpus.conversion.number_formats import BUILT_IN, shown
from gsum_assets.corpus.table_rows import table_rows

_ODF = "urn:oasis:names:tc:opendocument:xmlns:"
_TABLE, _OFFICE, _TEXT, _STYLE = (
    f"{{{_ODF}{name}:1.0}}" for name in ("table", "office", "text", "style")
)
_VALUES = ("date-value", "value", "string-value", "boolean-value", "time-value")
_WIDEST = 1 << 14  # columns
_MOST_REPEATED = 1000  # filled rows or cells that an OpenDocument sheet repeats
_PROGRESS = 10_000  # rows
_FIRST_ROWS = 10  # among which are the names of columns
_WORD = re.compile(r"[^\W\d_]")
_NAME = re.compile(r".*[^\W\d_].*|(19|20)\d\d(-\d\d-\d\d)?")  # words, a year or a date


@dataclass
class _Sheet:
    """A sheet; rows and columns are numbered from 1: `rows[2][0]` is the cell A2.

    `hidden` are numbers of rows, and of columns times -1; `merged` first row, first column, last
    row and last column; `formulas` those without a stored value.
    """

    name: str
    is_hidden: bool = False
    rows: dict[int, list[str]] = field(default_factory=dict)
    hidden: set[int] = field(default_factory=set)
    merged: list[tuple[int, int, int, int]] = field(default_factory=list)
    formulas: list[str] = field(default_factory=list)

    def put(self, row: int, column: int, text: str) -> None:
        """Set the text of a cell."""
        cells = self.rows.setdefault(row, [])
        cells += [""] * (column - len(cells))
        cells[column - 1] = text


def convert_workbook(content: bytes, report: Report) -> Converted:
    """Return the rows of all sheets as Markdown tables, formulas by their stored values."""
    with readable_as("a workbook", "save it again, without a password"):
        is_archive = zipfile.is_zipfile(io.BytesIO(content))
        archive = zipfile.ZipFile(io.BytesIO(content)) if is_archive else None
        if archive and "content.xml" in archive.namelist():
            sheets = list(_open_document(archive, report))
        else:
            sheets = list(_excel(content, archive, report))
    return _converted(sheets)


def convert_csv(content: bytes, _: Report) -> Converted:
    """Return a table whose rows are no documents, such as one of figures."""
    names, rows = table_rows(io.BytesIO(decoded_text(content).encode()), ".csv", len(content))
    sheet, broken = _Sheet("", rows={1: names or []}), []
    for row in rows:
        if row.number:  # a row of another length, too
            sheet.rows[row.number] = json.loads(row.content)
        else:
            broken.append(row.problem or "")
    return _converted([sheet], ("broken row", broken))


def _converted(sheets: Sequence[_Sheet], *left_out: tuple[str, Sequence[str]]) -> Converted:
    hidden_lines: list[str] = []
    seen = [sheet for sheet in sheets if not sheet.is_hidden]
    rows = [row for sheet in seen for row in _rows(sheet, hidden_lines)]
    if not rows:
        raise ConversionError(f"no text in its {len(sheets):,} sheets; fill it or remove it")
    hidden = [sheet.name for sheet in sheets if sheet.is_hidden]
    formulas = [formula for sheet in seen for formula in sheet.formulas]
    without = ("hidden sheet", hidden), ("hidden line", hidden_lines), *left_out
    labels, texts = zip(*rows, strict=True)
    counts = counted(*without, ("formula without a value", formulas))
    return replace(paged("", texts, labels, "\n"), left_out=counts)


def _rows(sheet: _Sheet, left_out: list[str]) -> Iterator[tuple[str, str]]:
    """Yield label and line of each row that is not empty; hidden texts are added to `left_out`."""
    _unmerge(sheet)
    rows: dict[int, list[str]] = {}
    for number, cells in sorted(sheet.rows.items()):
        cells = [" ".join(cell.replace("\0", "").split()) for cell in cells]
        is_hidden = number in sheet.hidden
        at = [i for i, c in enumerate(cells) if c and (is_hidden or -i - 1 in sheet.hidden)]
        texts = [cells[i] for i in at]
        left_out += [" ".join(texts)] if is_hidden and texts else texts
        for i in at:
            cells[i] = ""
        if any(cells):
            rows[number] = cells
    used = sorted({i for cells in rows.values() for i, cell in enumerate(cells) if cell})
    names = _row_of_names(rows) if sheet.name else 1
    title = " ".join(sheet.name.replace("\0", "").split())
    above = f"## {title}\n" if title else ""
    for number, cells in rows.items():
        texts = [cells[i] if i < len(cells) else "" for i in used]
        while number != names and not texts[-1]:
            texts.pop()
        line = f"| {' | '.join(texts)} |" + f"\n{'| --- ' * len(used)}|" * (number == names)
        yield f'sheet "{title}", row {number}' if title else f"row {number}", above + line
        above = ""


def _unmerge(sheet: _Sheet) -> None:
    """Repeat values merged over rows, and names merged over columns, with the row below added."""
    for top, left, bottom, _ in sheet.merged:
        value = "".join(sheet.rows.get(top, [])[left - 1 : left])
        for row in range(top + 1, bottom + 1) if value else ():
            if any(sheet.rows.get(row, ())):
                sheet.put(row, left, value)
    names = _row_of_names(sheet.rows)
    below, values = (sheet.rows.get(names + i, []) for i in (1, 2))
    has_values = any(value and not _NAME.fullmatch(value) for value in values)
    wide = [(left, right) for top, left, _, right in sheet.merged if top == names and left < right]
    if wide and has_values and all(_NAME.fullmatch(cell) for cell in below if cell):
        for left, right in wide:
            for column in range(left + 1, min(right, len(below)) + 1):
                sheet.put(names, column, sheet.rows[names][left - 1])
        for column, name in enumerate(below, start=1):
            upper = "".join(sheet.rows[names][column - 1 : column])
            sheet.put(names, column, name if name == upper else f"{upper} {name}")
        del sheet.rows[names + 1]


def _row_of_names(rows: dict[int, list[str]]) -> int:
    """Return the first row of several cells that are all words, years or dates, 0 without one."""
    for number in sorted(rows)[:-1][:_FIRST_ROWS]:
        cells = [cell for cell in rows[number] if cell]
        if len(cells) > 1 and all(map(_NAME.fullmatch, cells)):
            return number
    return 0


def _excel(content: bytes, archive: zipfile.ZipFile | None, report: Report) -> Iterator[_Sheet]:
    """Yield the sheets of an Excel file; number formats are those of .xlsx alone."""
    from python_calamine import CalamineWorkbook, SheetVisibleEnum

    parts, codes = _parts(archive) if archive else ({}, {})
    with CalamineWorkbook.from_filelike(io.BytesIO(content)) as book:
        for number, known in enumerate(book.sheets_metadata):
            sheet = _Sheet(known.name, known.visible != SheetVisibleEnum.Visible)
            if not sheet.is_hidden:
                values = book.get_sheet_by_index(number)
                top, left = values.start or (0, 0)
                part = archive.open(parts[sheet.name]) if archive and sheet.name in parts else None
                formats, texts = _forms(part, codes, sheet) if part else ({}, {})
                for row, cells in enumerate(values.to_python(), start=top + 1):
                    if row % _PROGRESS == 0:  # says that the conversion goes on
                        report(number, len(book.sheet_names))
                    sheet.rows[row] = [""] * left + [
                        shown(value, formats.get((row, column), ""))
                        for column, value in enumerate(cells, start=left + 1)
                    ]
                for place, text in texts.items():
                    sheet.put(*place, text)
                ranges = values.merged_cell_ranges or ()
                sheet.merged = [(a + 1, b + 1, c + 1, d + 1) for (a, b), (c, d) in ranges]
            yield sheet
            report(number + 1, len(book.sheet_names))


def _parts(archive: zipfile.ZipFile) -> tuple[dict[str, str], dict[str, str]]:
    """Return the members with the sheets of an .xlsx by name, and its number formats by style."""
    members = archive.namelist()
    if "xl/workbook.xml" not in members:
        return {}, {}
    relations = xml_root(archive.read("xl/_rels/workbook.xml.rels"))
    targets = {r.get("Id"): posixpath.join("/xl", r.get("Target"))[1:] for r in relations}
    sheets = xml_root(archive.read("xl/workbook.xml")).iterfind(".//{*}sheet")
    ids = {sheet.get("name"): sheet.xpath("string(@*[local-name()='id'])") for sheet in sheets}
    codes: dict[str, str] = {}
    if "xl/styles.xml" in members:
        styles = xml_root(archive.read("xl/styles.xml"))
        own = {f.get("numFmtId"): f.get("formatCode") for f in styles.iterfind(".//{*}numFmt")}
        for style, entry in enumerate(styles.iterfind("{*}cellXfs/{*}xf")):
            codes[str(style)] = (BUILT_IN | own).get(entry.get("numFmtId"), "")
    parts = {name: targets.get(key, "") for name, key in ids.items()}
    return {name: part for name, part in parts.items() if part in members}, codes


_Cells = dict[tuple[int, int], str]


def _forms(stream: IO[bytes], codes: dict[str, str], sheet: _Sheet) -> tuple[_Cells, _Cells]:
    """Return number formats of cells, and texts of errors and of formulas without a value."""
    from lxml import etree  # pyright: ignore[reportAttributeAccessIssue] - it is native

    formats: _Cells = {}
    texts: _Cells = {}
    row, tags = 0, ("{*}col", "{*}row")
    for _, line in etree.iterparse(stream, tag=tags, resolve_entities=False, recover=True):
        is_hidden = line.get("hidden") in ("1", "true")
        if line.tag.endswith("}col"):
            columns = range(int(line.get("min", 1)), int(line.get("max", 0)) + 1)
            sheet.hidden.update([-column for column in columns[:_WIDEST] if is_hidden])
            continue
        row = int(line.get("r") or row + 1)
        sheet.hidden.update([row] if is_hidden else [])
        column = 0
        for cell in line:
            letters = (cell.get("r") or "").rstrip("0123456789")  # AA is column 27
            place = reduce(lambda number, letter: 26 * number + ord(letter) - 64, letters, 0)
            column = place or column + 1
            if code := codes.get(cell.get("s", "")):
                formats[row, column] = code
            kind = cell.get("t")
            if kind == "e":
                texts[row, column] = cell.findtext("{*}v", "")
            elif (
                kind != "str"
                and len(cell)
                and cell[0].tag.endswith("}f")  # it stands before its value
                and not cell.findtext("{*}v")
            ):
                texts[row, column] = f"={cell[0].text or '…'}"
                sheet.formulas.append(texts[row, column])
        line.clear()
    return formats, texts


def _open_document(archive: zipfile.ZipFile, report: Report) -> Iterator[_Sheet]:
    """Yield the sheets of an OpenDocument file, which has the text that each cell shows."""
    root = xml_root(archive.read("content.xml"))
    hiding = {e.get(f"{_STYLE}name") for e in root.iterfind(f".//*[@{_TABLE}display='false']/..")}
    tables = root.findall(f".//{_OFFICE}spreadsheet/{_TABLE}table")
    for position, table in enumerate(tables, start=1):
        name = table.get(f"{_TABLE}name", "") or str(position)
        sheet = _Sheet(name, table.get(f"{_TABLE}style-name", "") in hiding)
        column = row = 0
        for line in table.iter(f"{_TABLE}table-column", f"{_TABLE}table-row"):
            if line.tag.endswith("column"):
                n = int(line.get(f"{_TABLE}number-columns-repeated", 1))
                numbers, column = range(-column - n, -column), column + n
            else:
                n = int(line.get(f"{_TABLE}number-rows-repeated", 1))
                cells = _open_document_cells(line, row + 1, sheet)
                numbers, row = range(row + 1, row + 1 + n), row + n
                sheet.rows |= {i: list(cells) for i in numbers[:_MOST_REPEATED] if cells}
            if line.get(f"{_TABLE}visibility", "visible") != "visible":
                sheet.hidden.update(numbers[-_WIDEST:])
        yield sheet
        report(position, len(tables))


def _open_document_cells(line: Any, row: int, sheet: _Sheet) -> list[str]:
    """Return the texts of a row up to the last one; what its cells span is added to the sheet."""
    cells: list[str] = []
    n_empty = 0
    for cell in line.iterchildren(f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
        n, n_columns, n_rows = (
            int(cell.get(f"{_TABLE}number-{name}", 1))
            for name in ("columns-repeated", "columns-spanned", "rows-spanned")
        )
        is_covered = cell.tag.endswith("}covered-table-cell")  # its text, if any, is not shown
        text = "" if is_covered else _open_document_text(cell, sheet)
        if not text:
            n_empty += n
            continue
        cells += [""] * min(n_empty, _WIDEST) + [text] * min(n, _MOST_REPEATED)
        n_empty, column = 0, len(cells)
        if n_rows > 1 or n_columns > 1:
            sheet.merged.append((row, column, row + n_rows - 1, column + n_columns - 1))
    return cells


def _open_document_text(cell: Any, sheet: _Sheet) -> str:
    for blank in cell.iter(f"{_TEXT}s", f"{_TEXT}tab", f"{_TEXT}line-break"):
        blank.text = " "
    text = " ".join("".join(line.itertext()) for line in cell.iterfind(f"{_TEXT}p")).strip()
    values = [value for name in _VALUES if (value := cell.get(f"{_OFFICE}{name}"))]
    is_date = f"{_OFFICE}date-value" in cell.attrib and not _WORD.search(text)
    if values and (is_date or not text):
        return values[0].removesuffix("T00:00:00").replace("T", " ")
    formula = cell.get(f"{_TABLE}formula", "").partition("=")[2]
    if formula and not text and f"{_OFFICE}value-type" not in cell.attrib:
        text = "=" + re.sub(r"\[\.?|(?<=:)\.|\]", "", formula)
        sheet.formulas.append(text)
    return text
