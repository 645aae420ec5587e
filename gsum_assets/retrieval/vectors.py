"""Embeddings of a table as an array, without a copy if the rows are in order."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from gsum_resources.store.arrow import pc


def vectors_of(embeddings: pa.Table, ids: Sequence[str], kind: str = "chunk") -> np.ndarray:
    """Return the embedding of each chunk or question in `ids`, in that order, `(len(ids), dim)`.

    `embeddings` has rows of `<kind>_id` and `embedding`, all of one length, in any order; `kind` is
    "chunk" or "query".

    Raises `ValueError` if an id has no embedding, or the embeddings differ in length.
    """
    if embeddings[f"{kind}_id"].combine_chunks().equals(pa.array(ids, pa.string())):
        return stacked(embeddings["embedding"])
    return gathered([embeddings], ids, kind)


def gathered(
    parts: Iterable[pa.Table],
    ids: Sequence[str],
    kind: str = "chunk",
    new: Callable[[tuple[int, int]], np.ndarray] = lambda shape: np.empty(shape, np.float32),
) -> np.ndarray:
    """Return the result of `vectors_of` from the parts of a table, one of which is in memory.

    `new` returns a matrix of a shape, which is filled.
    """
    row_of, vectors = {each: row for row, each in enumerate(ids)}, None
    has_vector = np.zeros(len(ids), bool)
    lengths = set()
    for part in parts:
        for batch in part.to_batches():
            column: Any = batch.column("embedding")
            lengths |= set(pc.unique(pc.list_value_length(column)).to_pylist())
            dim = _only(lengths)
            vectors = new((len(ids), dim)) if vectors is None else vectors
            names = batch.column(f"{kind}_id").to_pylist()
            rows = np.fromiter((row_of.get(name, -1) for name in names), np.int64, len(names))
            is_known = rows >= 0
            vectors[rows[is_known]] = _matrix(column, dim)[is_known]
            has_vector[rows[is_known]] = True
    if not has_vector.all():
        many, missing = {"query": "queries"}.get(kind, f"{kind}s"), np.flatnonzero(~has_vector)
        raise ValueError(
            f"{kind}_embeddings: {len(missing)} of {len(ids)} {many} have no embedding "
            f"(first: {ids[missing[0]]}); materialize {kind}_embeddings"
        )
    return np.empty((0, 0), np.float32) if vectors is None else vectors


def stacked(column: pa.ChunkedArray) -> np.ndarray:
    """Return a column of vectors as one matrix, float32 `(n_rows, dim)`."""
    dim = _only(set(pc.unique(pc.list_value_length(column)).to_pylist()))
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()  # this copies
    return _matrix(array, dim)


def _matrix(array: pa.ListArray | pa.FixedSizeListArray, dim: int) -> np.ndarray:
    return array.flatten().to_numpy(zero_copy_only=True).reshape(len(array), dim)


def _only(lengths: set[int | None]) -> int:
    """Return the length of all vectors, 0 without any."""
    known_lengths = [length for length in lengths if length is not None]
    if len(lengths) > 1 or len(known_lengths) < len(lengths):
        raise ValueError(
            f"chunk_embeddings: vectors of lengths {sorted(map(str, lengths))} in one table; "
            "they come from different models; materialize chunk_embeddings again"
        )
    return known_lengths[0] if known_lengths else 0
