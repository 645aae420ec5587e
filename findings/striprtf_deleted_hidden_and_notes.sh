#!/usr/bin/env bash
# striprtf 0.0.35: which text of an RTF file is not part of what it returns, and which is?
#
# Guess: what a word processor does not show is left out (deleted and hidden text), and what it
# shows is returned (footnotes).
# Behaviour: the other way round. Text that is marked as deleted (`\deleted`) or hidden (`\v`) comes
# back as if it were valid, so that a struck 500 before 700 reads as 500700; a footnote vanishes
# without a word. A superscript is joined to its number: 10 with a raised 6 is 106.
# Source: striprtf/striprtf.py: `footnote` is among the destinations that are skipped; character
# formats are ignored.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check striprtf==0.0.35
cat > "$folder/try.py" <<'PY'
from striprtf.striprtf import rtf_to_text

for body in (
    r"rent {\deleted 500}700 euro",
    r"rent {\v not }due",
    r"rent{\footnote Paid monthly.} is due",
    r"10{\super 6} euro",
):
    print(body, repr(rtf_to_text(r"{\rtf1\ansi " + body + r"\par}")))
PY
"$folder/venv/bin/python" "$folder/try.py" > "$folder/seen"
diff - "$folder/seen" <<'SEEN'
rent {\deleted 500}700 euro 'rent 500700 euro\n'
rent {\v not }due 'rent not due\n'
rent{\footnote Paid monthly.} is due 'rent is due\n'
10{\super 6} euro '106 euro\n'
SEEN
echo "as described"
