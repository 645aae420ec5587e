#!/usr/bin/env bash
# dateparser 1.5.0: which words of minutes does `search_dates` take for dates?
#
# Guess: with the language given as English, dates are found and the verb "may" is none.
# Behaviour: "may" in "may rise" is the month, of the year of the base, with its day, and "now" is
# the base; a year alone gets the base's day and month, so that it cannot be told from a date that
# was written out.
# Source: dateparser/data/date_translation_data/en.py (may, now), dateparser/search/search.py.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check dateparser==1.5.0
cat > "$folder/try.py" <<'PY'
from datetime import datetime

from dateparser.search import search_dates

SETTINGS = {"RELATIVE_BASE": datetime(2020, 1, 17)}
for text in (
    "The fund may rise.",
    "The budget for 2024 was approved.",
    "Approved on 6 March 2023.",
    "The second offer is now better.",
):
    found = search_dates(text, languages=["en"], settings=SETTINGS) or []
    print([(words, f"{date:%Y-%m-%d}") for words, date in found], text)
PY
"$folder/venv/bin/python" "$folder/try.py" > "$folder/seen"
diff - "$folder/seen" <<'SEEN'
[('may', '2020-05-17')] The fund may rise.
[('2024', '2024-01-17')] The budget for 2024 was approved.
[('on 6 March 2023', '2023-03-06')] Approved on 6 March 2023.
[('now', '2020-01-17')] The second offer is now better.
SEEN
echo "as described"
