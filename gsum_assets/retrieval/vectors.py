"""Embeddings of a table as an array, without a copy if the rows are in order."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from gsum_resources.arrow import pc


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
    vectors = embeddings["embedding"]
    known = embeddings[f"{kind}_id"].combine_chunks()
    found = pc.index_in(pa.array(ids, pa.string()), known)
    if found.null_count:
        missing = [id_ for id_, row in zip(ids, found.to_pylist(), strict=True) if row is None]
        many = {"query": "queries"}.get(kind, f"{kind}s")
        raise ValueError(
            f"{kind}_embeddings: {len(missing)} of {len(ids)} {many} have no embedding "
            f"(first: {missing[0]}); materialize {kind}_embeddings"
        )
    rows = found.to_numpy()
    in_order = len(rows) == len(vectors) and bool((rows == np.arange(len(rows))).all())
    return stacked(vectors) if in_order else _taken(vectors, rows)


def stacked(column: pa.ChunkedArray) -> np.ndarray:
    """Return a column of vectors as one matrix, float32 `(n_rows, dim)`."""
    dim = _dimension(column)
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()  # this copies
    return _matrix(array, dim)


def _taken(column: pa.ChunkedArray, rows: np.ndarray) -> np.ndarray:
    """Return rows of a column of vectors as one matrix, copied once, without the whole in order."""
    dim = _dimension(column)
    taken = np.empty((len(rows), dim), np.float32)
    order = np.argsort(rows, kind="stable")
    ends = np.cumsum([len(chunk) for chunk in column.chunks])
    bounds = np.append(0, np.searchsorted(rows[order], ends))
    for index, chunk in enumerate(column.chunks):
        here = order[slice(*bounds[index : index + 2])]
        taken[here] = _matrix(chunk, dim)[rows[here] - (ends[index] - len(chunk))]
    return taken


def _matrix(array: pa.ListArray | pa.FixedSizeListArray, dim: int) -> np.ndarray:
    return array.flatten().to_numpy(zero_copy_only=True).reshape(len(array), dim)


def _dimension(column: pa.ChunkedArray) -> int:
    """Return the length of all vectors, 0 without any."""
    lengths = set(pc.unique(pc.list_value_length(column)).to_pylist()) or {0}
    if len(lengths) > 1 or None in lengths:
        raise ValueError(
            f"chunk_embeddings: vectors of lengths {sorted(map(str, lengths))} in one table; "
            "they come from different models; materialize chunk_embeddings again"
        )
    return lengths.pop()
