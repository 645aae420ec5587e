#!/usr/bin/env bash
# json-repair 0.64.6: what becomes of valid JSON Lines, and of a number that is written for people?
#
# Guess: several objects in a row come back as a list of all of them, and a value such as `5 000` or
# `12:30` is kept as text or refused.
# Behaviour: of neighbours with equal keys only the last one is left, so that three entities, one a
# line, become one; objects with other keys do become a list. A number ends at the first character
# that no number has, and what follows is dropped without a word: 5 000 is 5, 12:30 is 12. With a
# comma or a slash it becomes text.
# Source: json_repair/json_parser.py ("Treat repeated objects as updates: keep the newest value"),
# json_repair/parse_number.py (NUMBER_CHARS).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check json-repair==0.64.6
cat > "$folder/try.py" <<'PY'
import json_repair

for text in (
    '{"name": "Ada"}\n{"name": "Bo"}\n{"name": "Cy"}',
    '{"name": "Ada"}\n{"type": "person"}',
    '[{"name": "Ada"}]\n[{"name": "Bo"}]',
    '{"score": 5 000}',
    '{"time": 12:30}',
    '{"euro": 1,234}',
    '{"share": 1/2}',
):
    print(repr(text), json_repair.loads(text))
PY
"$folder/venv/bin/python" "$folder/try.py" > "$folder/seen"
diff - "$folder/seen" <<'SEEN'
'{"name": "Ada"}\n{"name": "Bo"}\n{"name": "Cy"}' {'name': 'Cy'}
'{"name": "Ada"}\n{"type": "person"}' [{'name': 'Ada'}, {'type': 'person'}]
'[{"name": "Ada"}]\n[{"name": "Bo"}]' [{'name': 'Bo'}]
'{"score": 5 000}' {'score': 5}
'{"time": 12:30}' {'time': 12}
'{"euro": 1,234}' {'euro': '1,234'}
'{"share": 1/2}' {'share': '1/2'}
SEEN
echo "as described"
