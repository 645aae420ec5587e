#!/usr/bin/env bash
# pysbd 0.3.4 and sentencex 1.0.32: do titles before names end sentences?
#
# Guess: both have lists of abbreviations for each language, so that "Sr.", "M." and "Dhr." end none,
# as "Mr." does not in English, and that ordinals end none in German.
# Behaviour: pysbd splits after "Sr." in Spanish (not after "Sra."), and after "Mme." and "Dhr.";
# sentencex splits after "M." and "Mme." in French. In German sentencex keeps "24. August", since
# only months stand behind ordinals there, and splits "2. Halbjahr"; pysbd keeps both.
# Source: pysbd/lang/spanish.py, french.py and dutch.py (ABBREVIATIONS); sentencex is compiled, its
# rules are in src/languages of wikimedia/sentencex.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pysbd==0.3.4 sentencex==1.0.32
cat > "$folder/try.py" <<'PY'
import warnings

warnings.simplefilter("ignore")
import pysbd
from sentencex import segment

for language, text in (
    ("en", "Mr. Ruiz came."),
    ("es", "El Sr. Ruiz vino."),
    ("es", "La Sra. Ruiz vino."),
    ("fr", "M. Ruiz est venu."),
    ("fr", "Mme. Ruiz est venue."),
    ("nl", "Dhr. Ruiz kwam."),
    ("de", "Es beginnt am 24. August."),
    ("de", "Es beginnt im 2. Halbjahr."),
):
    by_pysbd = pysbd.Segmenter(language=language, clean=False).segment(text)
    print(language, len(by_pysbd), len(list(segment(language, text))), text)
PY
"$folder/venv/bin/python" "$folder/try.py" > "$folder/seen"
diff - "$folder/seen" <<'SEEN'
en 1 1 Mr. Ruiz came.
es 2 1 El Sr. Ruiz vino.
es 1 1 La Sra. Ruiz vino.
fr 1 2 M. Ruiz est venu.
fr 2 2 Mme. Ruiz est venue.
nl 2 1 Dhr. Ruiz kwam.
de 1 1 Es beginnt am 24. August.
de 1 2 Es beginnt im 2. Halbjahr.
SEEN
echo "as described"
