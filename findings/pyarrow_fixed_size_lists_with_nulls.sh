#!/usr/bin/env bash
# pyarrow 25.0.1: can a Parquet file of embeddings be read again if one document has no vector?
#
# Guess: vectors are stored as `list_(float32, dim)`, a document without one has null, and what
# pyarrow writes it reads.
# Behaviour: `write_table` writes the file without a warning. `read_table` refuses it whole
# (ArrowInvalid: all lists are expected to be of one size), as the null is stored as an empty list;
# the other columns can be read if the vectors are left out by `columns`. Lists without a fixed size
# have no such limit.
# Source: the message of Arrow's reader of lists (cpp/src/parquet/arrow/reader.cc), seen below.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pyarrow==25.0.1
cat > "$folder/try.py" <<'PY'
import sys

import pyarrow as pa
import pyarrow.parquet as pq

file = f"{sys.argv[1]}/rows.parquet"
for kind in (pa.list_(pa.float32(), 2), pa.list_(pa.float32())):
    for vectors in ([[1, 2], [3, 4]], [[1, 2], None]):
        pq.write_table(pa.table({"id": ["a", "b"], "vector": pa.array(vectors, kind)}), file)
        try:
            print(kind, pq.read_table(file)["vector"].to_pylist())
        except pa.ArrowInvalid as error:
            print(kind, error)
            print(pq.read_table(file, columns=["id"]).to_pylist())
PY
"$folder/venv/bin/python" "$folder/try.py" "$folder" > "$folder/seen"
diff - "$folder/seen" <<'SEEN'
fixed_size_list<item: float>[2] [[1.0, 2.0], [3.0, 4.0]]
fixed_size_list<item: float>[2] Expected all lists to be of size=2 but index 2 had size=0
[{'id': 'a'}, {'id': 'b'}]
list<item: float> [[1.0, 2.0], [3.0, 4.0]]
list<item: float> [[1.0, 2.0], None]
SEEN
echo "as described"
