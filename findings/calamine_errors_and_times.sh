#!/usr/bin/env bash
# python-calamine 0.9.1: what does it return for the cells #DIV/0!, and 36 hours in the format h:mm?
#
# Guess: the error by name, as the file stores it (`<c t="e"><v>#DIV/0!</v></c>`), and a duration or
# the time 12:00, as Excel shows 1.5 days in the format h:mm.
# Behaviour: an error is "", the same as a cell that is empty, so that a sum that fails is read as
# one that nobody entered; 1.5 days is the moment 1900-01-01 12:00, a date that no cell shows. Only a
# format with brackets, [h]:mm, gives a duration.
# Source: python-calamine, src/types/cell.rs (`Data::Error(_) => CellValue::Empty`); calamine,
# src/formats.rs (a format of hours without brackets is a date and time).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    python-calamine==0.9.1 xlsxwriter==3.3.1
cat > "$folder/try.py" <<'PY'
import io

import xlsxwriter
from python_calamine import CalamineWorkbook

buffer = io.BytesIO()
book = xlsxwriter.Workbook(buffer, {"in_memory": True})
sheet = book.add_worksheet()
sheet.write_formula("A1", "=1/0", None, "#DIV/0!")
sheet.write_blank("B1", None, book.add_format({"bold": True}))
sheet.write_number("C1", 1.5, book.add_format({"num_format": "h:mm"}))
sheet.write_number("D1", 1.5, book.add_format({"num_format": "[h]:mm"}))
book.close()
[row] = CalamineWorkbook.from_filelike(io.BytesIO(buffer.getvalue())).get_sheet_by_index(0).to_python()
print("error", repr(row[0]), "empty", repr(row[1]))
print("h:mm", repr(row[2]))
print("[h]:mm", repr(row[3]))
PY
"$folder/venv/bin/python" "$folder/try.py" > "$folder/seen"
diff - "$folder/seen" <<'SEEN'
error '' empty ''
h:mm datetime.datetime(1900, 1, 1, 12, 0)
[h]:mm datetime.timedelta(days=1, seconds=43200)
SEEN
echo "as described"
