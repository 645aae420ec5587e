#!/usr/bin/env bash
# markdownify 1.2.3: where do the values below a cell with rowspan stand?
#
# Guess: in their own columns, as those beside a cell with colspan, for which it adds empty cells.
# Behaviour: `rowspan` is not looked at. Each row that a cell spans loses a cell at the left, so that
# its values stand under the names of other columns: Q2 is a region, 20 a quarter. No error is raised,
# and the table is valid Markdown.
# Source: markdownify/__init__.py, convert_td and convert_th read `colspan` alone; convert_tr counts
# the cells of its own row.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check markdownify==1.2.3
cat > "$folder/try.py" <<'PY'
from markdownify import markdownify

print(markdownify(
    "<table><tr><th>Region</th><th>Quarter</th><th>Sales</th></tr>"
    "<tr><td rowspan=2>North</td><td>Q1</td><td>10</td></tr><tr><td>Q2</td><td>20</td></tr>"
    "<tr><td colspan=2>Sum</td><td>30</td></tr></table>"
).strip())
PY
"$folder/venv/bin/python" "$folder/try.py" > "$folder/seen"
diff - "$folder/seen" <<'SEEN'
| Region | Quarter | Sales |
| --- | --- | --- |
| North | Q1 | 10 |
| Q2 | 20 |
| Sum | | 30 |
SEEN
echo "as described"
