#!/usr/bin/env bash
# pandas 3.1.1 with PyArrow 26.0.1: has a table the same types after a way through a data frame?
#
# Guess: yes, since the strings of pandas 3 are Arrow's, so that parts written with and without pandas
# can be concatenated; only columns of objects lost their types.
# Behaviour: `string` comes back as `large_string`, also in empty columns and in those of nulls alone,
# and the indices of dictionaries shrink from int32 to int8; `concat_tables` refuses such parts unless
# types are promoted. Integers and lists of strings keep their types.
# Source: pandas/core/arrays/string_arrow.py (large_string is the storage of `str`), codes of
# pandas.Categorical take the smallest integer type; the error is PyArrow's.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pandas==3.1.1 pyarrow==26.0.1
cat > "$folder/try.py" <<'PY'
import pyarrow as pa

table = pa.table(
    {
        "text": pa.array(["x"]),
        "missing": pa.array([None], pa.string()),
        "kind": pa.array(["x"]).dictionary_encode(),
        "number": pa.array([1], pa.int32()),
        "list": pa.array([["x"]]),
    }
)
again = pa.Table.from_pandas(table.to_pandas(), preserve_index=False)
for field in table.schema:
    print(f"{field.name}: {field.type} -> {again.schema.field(field.name).type}")
try:
    pa.concat_tables([table, again])
except pa.ArrowInvalid as error:
    print(type(error).__name__, str(error).splitlines()[0].strip())
texts = [part.select(["text"]) for part in (table, again)]
print(pa.concat_tables(texts, promote_options="permissive").schema.field("text").type)
PY
"$folder/venv/bin/python" "$folder/try.py" > "$folder/seen"
diff - "$folder/seen" <<'SEEN'
text: string -> large_string
missing: string -> large_string
kind: dictionary<values=string, indices=int32, ordered=0> -> dictionary<values=large_string, indices=int8, ordered=0>
number: int32 -> int32
list: list<item: string> -> list<item: string>
ArrowInvalid Schema at index 1 was different:
large_string
SEEN
echo "as described"
