"""Embeddings of a table as an array, without a copy if the rows are in order."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa


def vectors_of(embeddings: pa.Table, ids: Sequence[str], kind: str = "chunk") -> np.ndarray:
    """Return the embedding of each chunk or question in `ids`, in that order.

    Parameters
    ----------
    embeddings : rows of `<kind>_id` and `embedding`, all of one length, in any order.
    kind : "chunk" or "query".

    Returns
    -------
    float32 array, `(len(ids), dim)`.

    Raises
    ------
    ValueError
        If an id has no embedding, or the embeddings differ in length.
    """
    matrix = stacked(embeddings["embedding"])
    row_of = {id_: i for i, id_ in enumerate(embeddings[f"{kind}_id"].to_pylist())}
    missing = [id_ for id_ in ids if id_ not in row_of]
    if missing:
        many = {"query": "queries"}.get(kind, f"{kind}s")
        raise ValueError(
            f"{kind}_embeddings: {len(missing)} of {len(ids)} {many} have no embedding "
            f"(first: {missing[0]}); materialize {kind}_embeddings"
        )
    rows = np.array([row_of[id_] for id_ in ids], dtype=np.int64)
    in_order = len(rows) == len(matrix) and bool((rows == np.arange(len(rows))).all())
    return matrix if in_order else matrix[rows]


def stacked(column: pa.ChunkedArray) -> np.ndarray:
    """Return a column of vectors as one matrix, float32 `(n_rows, dim)`."""
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()  # this copies
    lengths = set(array.value_lengths().to_pylist()) if len(array) else {0}
    if len(lengths) > 1 or None in lengths:
        raise ValueError(
            f"chunk_embeddings: vectors of lengths {sorted(map(str, lengths))} in one table; "
            "they come from different models; materialize chunk_embeddings again"
        )
    return array.flatten().to_numpy(zero_copy_only=True).reshape(len(array), lengths.pop())
