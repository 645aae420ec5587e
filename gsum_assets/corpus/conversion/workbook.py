"""Text of workbooks: Excel and OpenDocument spreadsheets."""

import datetime as dt
import io
from collections.abc import Callable, Iterator
from typing import Any

from gsum_assets.corpus.conversion.formats import ConversionError, Converted, readable_as


def convert_workbook(content: bytes, report: Callable[[int, int], None]) -> Converted:
    """Return the rows of all sheets as a Markdown table, formulas by their stored values."""
    from python_calamine import CalamineWorkbook

    lines: list[str] = []
    starts: list[int] = []
    labels: list[str] = []
    length = 0
    with (
        readable_as("a workbook", "save it again, without a password"),
        CalamineWorkbook.from_filelike(io.BytesIO(content)) as book,
    ):
        names = book.sheet_names
        for number, name in enumerate(names, start=1):
            for label, line in _sheet(book.get_sheet_by_index(number - 1), name):
                if label:
                    starts.append(length)
                    labels.append(label)
                lines.append(line)
                length += len(line) + 1
            report(number, len(names))
    if not labels:
        raise ConversionError(f"no text in its {len(names):,} sheets; fill it or remove it")
    return Converted("", "\n".join(lines), tuple(starts), tuple(labels))


def _sheet(sheet: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield label and line of each row that is not empty, after a line with the sheet's name."""
    first = (sheet.start or (0, 0))[0] + 1  # rows before it are empty
    title = " ".join(name.replace("\0", "").split())
    is_named = False
    for number, values in enumerate(sheet.to_python(skip_empty_area=True), start=first):
        cells = []
        for value in values:
            if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
                value = int(value)
            elif isinstance(value, dt.datetime) and value.time() == dt.time():
                value = value.date()
            cells.append(" ".join(str(value).replace("\0", "").split()))
        while cells and not cells[-1]:
            cells.pop()
        if not cells:
            continue
        if not is_named:
            yield "", f"## {title}"
            is_named = True
        yield f'sheet "{title}", row {number}', f"| {' | '.join(cells)} |"
