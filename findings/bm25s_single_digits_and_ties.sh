#!/usr/bin/env bash
# bm25s 0.3.2: can a question tell version 1 of a plan from version 3?
#
# Guess: "3" is a rare word, so that version 3 is found first; of documents with equal scores the one
# that was indexed first stands first.
# Behaviour: `tokenize` drops every word of one character, digits too, so that both versions are the
# same words and score the same; of equal scores the document that was indexed last stands first.
# With a pattern that keeps single characters version 3 is found in either order.
# Source: bm25s/tokenization.py (token_pattern of `tokenize`), bm25s/selection.py (top k by
# `argpartition`, then sorted and reversed).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check bm25s==0.3.2
cat > "$folder/try.py" <<'PY'
import bm25s

PLANS = ["Plan of the pier, version 1", "Plan of the pier, version 3"]
for pattern in (r"(?u)\b\w\w+\b", r"(?u)\b\w+\b"):
    for documents in (PLANS, PLANS[::-1]):

        def tokens(texts):
            return bm25s.tokenize(texts, token_pattern=pattern, show_progress=False)

        index = bm25s.BM25()
        index.index(tokens(documents), show_progress=False)
        found, scores = index.retrieve(
            tokens(["What does version 3 say?"]), corpus=documents, k=2, show_progress=False
        )
        print(found[0].tolist(), "equal" if scores[0, 0] == scores[0, 1] else "first is better")
PY
"$folder/venv/bin/python" "$folder/try.py" > "$folder/seen" 2> "$folder/errors" || cat "$folder/errors"
diff - "$folder/seen" <<'SEEN'
['Plan of the pier, version 3', 'Plan of the pier, version 1'] equal
['Plan of the pier, version 1', 'Plan of the pier, version 3'] equal
['Plan of the pier, version 3', 'Plan of the pier, version 1'] first is better
['Plan of the pier, version 3', 'Plan of the pier, version 1'] first is better
SEEN
echo "as described"
