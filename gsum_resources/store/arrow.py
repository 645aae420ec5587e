"""Arrow's compute functions, texts of more than 2 GiB in a column, and matrices as lists.

An array of Arrow's `string` counts its bytes with 32 bits. Beyond 2 GiB `Array.take` and
`pyarrow.repeat` return wrong offsets without an error, and `Table.take` raises one even for a few
rows of a larger column. A column may have any size in several arrays.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

pc: Any = pyarrow.compute
"""Typed as Any: type checkers do not see functions created at import."""

MOST_TEXT_BYTES = 2**30
"""Bytes of text in one array, at most; a single longer text is an array of its own."""

MOST_VALUES = 2**28
"""Values in one array of lists, at most: their ends are counted with 32 bits."""


def taken(texts: pa.Array, indices: np.ndarray) -> pa.ChunkedArray:
    """Return the texts at `indices`, in as many arrays as their bytes need."""
    step = max(1, MOST_TEXT_BYTES // max(1, pc.max(pc.binary_length(texts)).as_py() or 0))
    blocks = [indices[at : at + step] for at in range(0, len(indices), step)]
    return pa.chunked_array([texts.take(pa.array(block)) for block in blocks], texts.type)


def spans(lengths: np.ndarray, most: int) -> Iterator[slice]:
    """Yield successive slices whose lengths add up to at most `most`; a longer one is alone."""
    ends, first = np.cumsum(lengths, dtype=np.int64), 0
    while first < len(ends):
        before = ends[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + most, side="right")))
        yield slice(first, last)
        first = last


def as_lists(values: pa.Array, lengths: np.ndarray) -> pa.ChunkedArray:
    """Return lists of the given lengths, `(n,)`, that hold `values` one after the other."""
    arrays, used = [], 0
    for span in spans(lengths, MOST_VALUES):
        offsets = np.append(0, np.cumsum(lengths[span])).astype(np.int32)
        within = values.slice(used, int(offsets[-1]))
        arrays.append(pa.ListArray.from_arrays(pa.array(offsets), within))
        used += len(within)
    return pa.chunked_array(arrays, pa.list_(values.type))


def values_of(lists: pa.ChunkedArray) -> np.ndarray:
    """Return the values of all lists one after the other; NaN for null."""
    arrays: Sequence[pa.Array] = [chunk.flatten() for chunk in lists.chunks]
    pieces = [array.to_numpy(zero_copy_only=False) for array in arrays]
    if len(pieces) == 1:
        return pieces[0]
    return np.concatenate([np.empty(0, lists.type.value_type.to_pandas_dtype()), *pieces])


def lengths_of(lists: pa.ChunkedArray) -> np.ndarray:
    """Return the length of each list, int64."""
    return pc.list_value_length(lists).to_numpy().astype(np.int64)


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
    large = list(rows.schema)
    for i, f in enumerate(large):
        if pa.types.is_string(f.type):
            n_bytes = pc.sum(pc.binary_length(rows[f.name])).as_py() or 0
            if n_bytes > MOST_TEXT_BYTES:
                large[i] = f.with_type(pa.large_string())
    selected = rows.cast(pa.schema(large)).take(indices)  # the cast copies no text
    columns = [
        selected[f.name] if large[i].type == f.type else _with_short_offsets(selected[f.name])
        for i, f in enumerate(rows.schema)
    ]
    return pa.table(columns, schema=rows.schema)


def _with_short_offsets(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of `large_string` as `string`, in arrays of at most `MOST_TEXT_BYTES`."""
    arrays = []
    for array in column.chunks:
        lengths = pc.fill_null(pc.binary_length(array), 0).to_numpy(zero_copy_only=False)
        for span in spans(lengths, MOST_TEXT_BYTES):
            # `take` copies these texts alone: the cast checks the offsets of the whole array
            rows = pa.array(np.arange(span.start, span.stop))
            arrays.append(array.take(rows).cast(pa.string()))
    return pa.chunked_array(arrays, pa.string())


def mapping(rows: pa.Table, key: str, value: str) -> dict:
    """Return the values of one column by those of another; the last of equal keys counts."""
    return dict(zip(rows[key].to_pylist(), rows[value].to_pylist(), strict=True))


def rows_by(rows: pa.Table, column: str) -> defaultdict[str, list[dict]]:
    """Return the rows in their order, by the value of a column; no row by any other value."""
    grouped: defaultdict[str, list[dict]] = defaultdict(list)
    for row in rows.to_pylist():
        grouped[row[column]].append(row)
    return grouped
