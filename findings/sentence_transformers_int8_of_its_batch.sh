#!/usr/bin/env bash
# sentence-transformers 6.2.0: are two int8 vectors of one text equal?
#
# Guess: `precision="int8"` scales unit vectors from -1..1 to -127..127, so that a text that is
# embedded again, alone or with others, has the vector that is in the index.
# Behaviour: without `ranges` or `calibration_embeddings` the least and the greatest value of each
# dimension in that very call are the scale. The same vector becomes other numbers beside other
# texts, and one vector alone is refused, so that a question cannot be compared with an index; a new
# document in a second call has another scale than the first. Only a warning below 100 vectors says so.
# Source: sentence_transformers/util/quantization.py (_get_quantization_ranges).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check sentence-transformers==6.2.0
cat > "$folder/try.py" <<'PY'
import numpy as np
from sentence_transformers.util.quantization import quantize_embeddings

vectors = np.random.default_rng(0).normal(size=(200, 8)).astype(np.float32)
vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
whole = np.array([[-1] * 8, [1] * 8], np.float32)
print("200 texts:", quantize_embeddings(vectors, "int8")[0].tolist())
print("100 of them:", quantize_embeddings(vectors[:100], "int8")[0].tolist())
print("with ranges:", quantize_embeddings(vectors[:1], "int8", ranges=whole)[0].tolist())
try:
    quantize_embeddings(vectors[:1], "int8")
except ValueError as error:
    print("one text:", str(error).partition(".")[0])
PY
"$folder/venv/bin/python" "$folder/try.py" > "$folder/seen" 2> "$folder/errors" || cat "$folder/errors"
diff - "$folder/seen" <<'SEEN'
200 texts: [8, -11, 64, -1, -41, 43, 114, 86]
100 of them: [13, -23, 71, 12, -41, 46, 114, 86]
with ranges: [8, -10, 43, 6, -38, 24, 88, 64]
one text: Cannot compute int8 quantization ranges from a single embedding
SEEN
echo "as described"
