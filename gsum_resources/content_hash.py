"""A hash of what a table says, whatever its chunks, slices and null bitmaps look like in memory."""

import hashlib
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from gsum_resources.arrow import pc


def hash_texts(parts: Iterable[str], size: int = 16) -> str:
    """BLAKE2b of several texts, each prefixed by its length, as `2 * size` hex digits."""
    digest = hashlib.blake2b(digest_size=size)
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)
    return digest.hexdigest()


def content_hash(table: pa.Table, leave_out: Collection[str] = ()) -> str:
    """BLAKE2b over column names, types and values in row order, 32 hex digits.

    Columns named in `leave_out` (measured ones) do not count.
    """
    digest = hashlib.blake2b(digest_size=16)
    for name in table.column_names:
        if name in leave_out:
            continue
        column = table.column(name)
        digest.update(f"{name}:{column.type}:{len(column)};".encode())
        _update(digest, pa.concat_arrays(column.chunks) if column.num_chunks else column.type)
    return digest.hexdigest()


def _update(digest: Any, array: pa.Array | pa.DataType) -> None:
    if isinstance(array, pa.DataType) or len(array) == 0:
        return
    if array.null_count:
        digest.update(np.packbits(pc.is_null(array).to_numpy(zero_copy_only=False)))
        array = array.drop_null()
    kind = array.type
    if pa.types.is_list(kind):
        digest.update(np.ascontiguousarray(pc.list_value_length(array).to_numpy()))
        _update(digest, array.flatten())
    elif pa.types.is_fixed_size_list(kind):
        _update(digest, array.flatten())
    elif pa.types.is_string(kind):
        lengths = pc.binary_length(array).to_numpy()
        digest.update(np.ascontiguousarray(lengths))
        _, offsets, values = array.buffers()
        if values is not None:
            bounds = np.frombuffer(offsets, np.int32)[[array.offset, array.offset + len(array)]]
            digest.update(memoryview(values)[bounds[0] : bounds[1]])
    else:
        digest.update(np.ascontiguousarray(array.to_numpy(zero_copy_only=False)))
