"""Arrow's compute functions, and texts of more than 2 GiB in a column.

An array of Arrow's `string` counts its bytes with 32 bits. Beyond 2 GiB `Array.take` and
`pyarrow.repeat` return wrong offsets without an error, and `Table.take` raises one even for a few
rows of a larger column. A column may have any size in several arrays.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

pc: Any = pyarrow.compute
"""Typed as Any: type checkers do not see functions created at import."""

MOST_TEXT_BYTES = 2**30
"""Bytes of text in one array, at most; a single longer text is an array of its own."""

MANY_ROWS = 2**20
"""Rows of a table above which a step passes ids as dictionaries: 4 bytes a row instead of 25.

The store writes them as texts, a row group at a time.
"""


def taken(texts: pa.Array, indices: np.ndarray) -> pa.ChunkedArray:
    """Return the texts at `indices`, in as many arrays as their bytes need."""
    step = max(1, MOST_TEXT_BYTES // max(1, pc.max(pc.binary_length(texts)).as_py() or 0))
    blocks = [indices[at : at + step] for at in range(0, len(indices), step)]
    return pa.chunked_array([texts.take(pa.array(block)) for block in blocks], texts.type)


def named(ids: pa.Array, indices: np.ndarray, n_rows: int) -> pa.ChunkedArray:
    """Return the ids at `indices`; a dictionary in a table of very many rows, see `MANY_ROWS`."""
    if n_rows <= MANY_ROWS:
        return taken(ids, indices)
    numbers = pa.array(np.ascontiguousarray(indices, np.int32))
    return pa.chunked_array([pa.DictionaryArray.from_arrays(numbers, ids)])


def with_dictionaries(schema: pa.Schema, n_rows: int) -> pa.Schema:
    """Return a schema of `n_rows` rows; ids, columns of texts named so, as `named` returns them."""
    if n_rows <= MANY_ROWS:
        return schema
    kind = pa.dictionary(pa.int32(), pa.string())
    is_id = [pa.types.is_string(f.type) and f.name.endswith("_id") for f in schema]
    return pa.schema(
        [f.with_type(kind) if name else f for f, name in zip(schema, is_id, strict=True)]
    )


def decoded(rows: pa.Table) -> pa.Table:
    """Return rows without dictionaries."""
    return rows.cast(decoded_schema(rows.schema))


def decoded_schema(schema: pa.Schema) -> pa.Schema:
    """Return a schema with the types of the values in place of dictionaries."""
    fields = [f.with_type(f.type.value_type) if is_dictionary(f.type) else f for f in schema]
    return pa.schema(fields, schema.metadata)


def is_dictionary(kind: pa.DataType) -> bool:
    """Return whether a type is a dictionary of texts."""
    return pa.types.is_dictionary(kind) and pa.types.is_string(kind.value_type)


def repeated(text: str, n: int) -> pa.ChunkedArray:
    """Return a column with the same text in `n` rows, whose arrays share their memory."""
    step = max(1, min(2**20, MOST_TEXT_BYTES // max(1, len(text.encode()))))
    whole = pa.repeat(pa.scalar(text, pa.string()), min(n, step))
    starts = range(0, n, step)
    return pa.chunked_array([whole.slice(0, n - at) for at in starts], pa.string())


def rows_at(rows: pa.Table, indices: pa.Array | pa.ChunkedArray | np.ndarray) -> pa.Table:
    """Return the rows at `indices`, as `Table.take` does, from columns of texts of any size."""
    large = [
        pa.field(f.name, pa.large_string(), f.nullable)
        if pa.types.is_string(f.type) and _text_bytes(rows[f.name]) > MOST_TEXT_BYTES
        else f
        for f in rows.schema
    ]
    found = rows.cast(pa.schema(large)).take(indices)  # the cast copies no text
    columns = [
        found[f.name] if large[i].type == f.type else _with_short_offsets(found[f.name])
        for i, f in enumerate(rows.schema)
    ]
    return pa.table(columns, schema=rows.schema)


def _text_bytes(column: pa.ChunkedArray) -> int:
    return pc.sum(pc.binary_length(column)).as_py() or 0


def _with_short_offsets(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of `large_string` as `string`, in arrays of at most `MOST_TEXT_BYTES`."""
    arrays = []
    for array in column.chunks:
        ends = np.cumsum(pc.fill_null(pc.binary_length(array), 0).to_numpy(zero_copy_only=False))
        first = 0
        while first < len(array):
            before = int(ends[first - 1]) if first else 0
            last = int(np.searchsorted(ends, before + MOST_TEXT_BYTES, side="right"))
            last = max(first + 1, last)
            # `take` copies these texts alone: the cast checks the offsets of the whole array
            arrays.append(array.take(pa.array(np.arange(first, last))).cast(pa.string()))
            first = last
    return pa.chunked_array(arrays, pa.string())
