"""Tables of passages and candidates as matrices with a row per passage."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_resources.arrow import pc


class CandidateLists(NamedTuple):
    """The candidates of every passage of one level.

    Attributes
    ----------
    ids : ids of the passages, `(n,)`.
    indices : each passage's candidates as indices into `ids`, most similar first, `(n, k)`.
    values : values of a column of the table, `(n, k)`; NaN for null.
    """

    ids: Sequence[str]
    indices: np.ndarray
    values: np.ndarray


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
    rows = rows.filter(pc.equal(rows["level"], level))
    owners, others = (indices_of(rows[name], ids) for name in ("passage_id", "candidate_id"))
    k = rows.num_rows // len(ids) if len(ids) else 0
    if (others < 0).any() or not _each_has(k, owners, len(ids)):
        raise ValueError(
            f"lightpal: the candidates of {rows.num_rows} rows are not those of {len(ids)} "
            f"passages of level '{level}'; materialize lightpal/candidates again"
        )
    order = np.argsort(owners, kind="stable")
    indices = others[order].reshape(len(ids), k)
    if column is None:
        return CandidateLists(ids, indices, np.empty((len(ids), 0)))
    values = rows[column].to_numpy().astype(np.float64)[order].reshape(len(ids), k)
    return CandidateLists(ids, indices, values)


def indices_of(column: pa.ChunkedArray, ids: Sequence[str] | pa.Array) -> np.ndarray:
    """Return the index in `ids` of each value of a text or dictionary column; -1 where absent."""
    known = pa.array(ids, pa.string())
    indices = [
        pc.fill_null(pc.index_in(chunk.dictionary, known), -1).to_numpy()[chunk.indices.to_numpy()]
        for chunk in pc.dictionary_encode(column).chunks
    ]
    return np.concatenate([np.empty(0, np.int32), *indices]).astype(np.int32)


def _each_has(k: int, owners: np.ndarray, n: int) -> bool:
    """Return whether each of `n` passages has exactly `k` rows, and no row has another owner."""
    if len(owners) and owners.min() < 0:
        return False
    return bool((np.bincount(owners, minlength=n) == k).all()) and len(owners) == n * k
