"""Tables of passages and candidates as matrices with a row per passage."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.retrieval.collection import Collection
from gsum_resources.arrow import pc


class CandidateLists(NamedTuple):
    """The candidates of every passage of one level.

    Attributes
    ----------
    ids : ids of the passages, `(n,)`.
    indices : each passage's candidates as indices into `ids`, most similar first, `(n, k)`.
    values : values of a column of the table, `(n, k)`; floats with NaN for null.
    """

    ids: Sequence[str]
    indices: np.ndarray
    values: np.ndarray


Lists = Mapping[str, CandidateLists]
"""Candidates by level."""


def lists_of(pairs: pa.Table, collection: Collection, column: str | None = None) -> Lists:
    """Return the candidates of documents and of chunks, with the values of a column if named."""
    levels = {"document": collection.document_ids, "node": collection.chunk_ids}
    return {level: candidate_lists(pairs, level, ids, column) for level, ids in levels.items()}


def candidate_lists(
    rows: pa.Table, level: str, ids: Sequence[str], column: str | None = None
) -> CandidateLists:
    """Return the candidate lists in a table, passages in the order of `ids`.

    Parameters
    ----------
    rows : rows of `lightpal.candidates` or `lightpal.context_scores`, in stored order.
    column : column of the values; None: no values.

    Raises
    ------
    ValueError
        If the table is not of these passages, which have changed since it was written.
    """
    rows = of_level(rows, level)
    owners, others = (indices_of(rows[name], ids) for name in ("passage_id", "candidate_id"))
    k = rows.num_rows // len(ids) if len(ids) else 0
    if (others < 0).any() or not _each_has(k, owners, len(ids)):
        raise ValueError(
            f"lightpal: the candidates of {rows.num_rows} rows are not those of {len(ids)} "
            f"passages of level '{level}'; materialize lightpal/candidates again"
        )
    order = None if _ascend(owners) else np.argsort(owners, kind="stable")
    del owners
    indices = _shaped(others, order, len(ids), k)
    if column is None:
        return CandidateLists(ids, indices, np.empty((len(ids), 0)))
    return CandidateLists(ids, indices, _shaped(rows[column].to_numpy(), order, len(ids), k))


def of_level(rows: pa.Table, level: str) -> pa.Table:
    """Return the rows of a level, without a copy if they follow one another, as they are stored."""
    of = pc.equal(rows["level"], level).to_numpy()
    found = np.flatnonzero(of[1:] != of[:-1]) + 1
    if len(found) > 2 or (len(found) == 2 and of[0]):
        return rows.filter(pa.array(of))
    first = 0 if not len(of) or of[0] else int(found[0]) if len(found) else len(of)
    return rows.slice(first, int(np.count_nonzero(of)))


def _ascend(owners: np.ndarray) -> bool:
    return bool((owners[1:] >= owners[:-1]).all())


def _shaped(values: np.ndarray, order: np.ndarray | None, n: int, k: int) -> np.ndarray:
    return (values if order is None else values[order]).reshape(n, k)


def indices_of(column: pa.ChunkedArray, ids: Sequence[str] | pa.Array) -> np.ndarray:
    """Return the index in `ids` of each value of a text or dictionary column; -1 where absent."""
    known = pa.array(ids, pa.string())
    encoded = pc.dictionary_encode(column).unify_dictionaries()
    if not encoded.num_chunks:
        return np.empty(0, np.int32)
    numbers = pc.fill_null(pc.index_in(encoded.chunk(0).dictionary, known), -1).to_numpy()
    found, first = np.empty(len(encoded), np.int32), 0
    for chunk in encoded.chunks:
        found[first : first + len(chunk)] = numbers[chunk.indices.to_numpy()]
        first += len(chunk)
    return found


def _each_has(k: int, owners: np.ndarray, n: int) -> bool:
    """Return whether each of `n` passages has exactly `k` rows, and no row has another owner."""
    if len(owners) and owners.min() < 0:
        return False
    return bool((np.bincount(owners, minlength=n) == k).all()) and len(owners) == n * k
