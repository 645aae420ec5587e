"""Embeddings from a table to an array, without copying where the rows are in order already."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa


def vectors_of(chunk_embeddings: pa.Table, chunk_ids: Sequence[str]) -> np.ndarray:
    """The embedding of each chunk in `chunk_ids`, in that order.

    Parameters
    ----------
    chunk_embeddings : rows of `chunk_id` and `embedding`, all of one length, in any order.

    Returns
    -------
    float32 array, `(len(chunk_ids), dim)`.

    Raises
    ------
    ValueError
        If a chunk has no embedding, or the embeddings differ in length.
    """
    matrix = stacked(chunk_embeddings["embedding"])
    row_of = {chunk_id: i for i, chunk_id in enumerate(chunk_embeddings["chunk_id"].to_pylist())}
    missing = [chunk_id for chunk_id in chunk_ids if chunk_id not in row_of]
    if missing:
        raise ValueError(
            f"chunk_embeddings: {len(missing)} of {len(chunk_ids)} chunks have no embedding "
            f"(first: {missing[0]}); materialize chunk_embeddings"
        )
    rows = np.array([row_of[chunk_id] for chunk_id in chunk_ids], dtype=np.int64)
    in_order = len(rows) == len(matrix) and bool((rows == np.arange(len(rows))).all())
    return matrix if in_order else matrix[rows]


def stacked(column: pa.ChunkedArray) -> np.ndarray:
    """A column of vectors as one matrix, float32 `(n_rows, dim)`."""
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()  # this copies
    lengths = set(array.value_lengths().to_pylist()) if len(array) else {0}
    if len(lengths) > 1 or None in lengths:
        raise ValueError(
            f"chunk_embeddings: vectors of lengths {sorted(map(str, lengths))} in one table; "
            "they come from different models, materialize chunk_embeddings again"
        )
    return array.flatten().to_numpy(zero_copy_only=True).reshape(len(array), lengths.pop())
