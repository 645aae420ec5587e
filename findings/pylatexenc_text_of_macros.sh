#!/usr/bin/env bash
# pylatexenc 2.11: is the text within common macros kept when LaTeX is turned into text?
#
# Guess: a macro that is not known is left out and its argument stays, as `\textbf{word}` gives
# "word"; what cannot be read raises an error.
# Behaviour: the parser's list of macros and the list of their texts differ. `\sout{old}`, in
# neither list, gives "old", so that struck text reads as valid. `\texttt{name}`, `\mbox{…}`,
# `\verb|…|` and the environment `verbatim`, in the parser's list alone, vanish with their content and
# without an error. `\href{address}{text}`, in the list of texts alone, raises IndexError, as it finds
# no arguments. The units of `\SI{5}{\kilo\meter}` vanish, as each is an unknown macro.
# Source: pylatexenc/latexwalker/_defaultspecs.py and pylatexenc/latex2text/_defaultspecs.py.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pylatexenc==2.11
cat > "$folder/try.py" <<'PY'
from pylatexenc.latex2text import LatexNodes2Text

for latex in (
    r"a \textbf{word} b",
    r"a \sout{old} b",
    r"a \texttt{name} b",
    r"a \mbox{whole} b",
    r"a \verb|x_y| b",
    "a \\begin{verbatim}\ncode\n\\end{verbatim} b",
    r"a \SI{5}{\kilo\meter} b",
    r"a \href{http://x.org}{page} b",
):
    try:
        print(repr(latex), repr(LatexNodes2Text().latex_to_text(latex)))
    except IndexError:
        print(repr(latex), "IndexError")
PY
"$folder/venv/bin/python" "$folder/try.py" > "$folder/seen"
diff - "$folder/seen" <<'SEEN'
'a \\textbf{word} b' 'a word b'
'a \\sout{old} b' 'a old b'
'a \\texttt{name} b' 'a  b'
'a \\mbox{whole} b' 'a  b'
'a \\verb|x_y| b' 'a  b'
'a \\begin{verbatim}\ncode\n\\end{verbatim} b' 'a  b'
'a \\SI{5}{\\kilo\\meter} b' 'a 5 b'
'a \\href{http://x.org}{page} b' IndexError
SEEN
echo "as described"
