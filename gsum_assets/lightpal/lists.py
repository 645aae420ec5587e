"""Tables of passages and their candidates as arrays: a row a passage, a column a candidate."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_resources.arrow import pc


class CandidateLists(NamedTuple):
    """The candidates of every passage of a level.

    Attributes
    ----------
    ids : of the passages, `(n,)`.
    indices : each passage's candidates as places in `ids`, most similar first, `(n, k)`.
    values : what a table says of each, `(n, k)`; NaN for null.
    """

    ids: Sequence[str]
    indices: np.ndarray
    values: np.ndarray


def candidate_lists(
    rows: pa.Table, level: str, ids: Sequence[str], column: str | None = None
) -> CandidateLists:
    """Return the lists that a table holds, passages in the order of `ids`.

    Parameters
    ----------
    rows : of `lightpal.candidates` or `lightpal.context_scores`, passage by passage as they were
        written.
    column : what to take as values; None takes none.

    Raises
    ------
    ValueError
        If the table is not of these passages: they changed since it was made.
    """
    rows = rows.filter(pc.equal(rows["level"], level))
    owners, others = (places(rows[name], ids) for name in ("passage_id", "candidate_id"))
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


def places(column: pa.ChunkedArray, ids: Sequence[str] | pa.Array) -> np.ndarray:
    """Where each text of a column, or dictionary of texts, is among `ids`; -1 where it is not."""
    known = pa.array(ids, pa.string())
    parts = [
        pc.fill_null(pc.index_in(part.dictionary, known), -1).to_numpy()[part.indices.to_numpy()]
        for part in pc.dictionary_encode(column).chunks
    ]
    return np.concatenate([np.empty(0, np.int32), *parts]).astype(np.int32)


def _each_has(k: int, owners: np.ndarray, n: int) -> bool:
    """Return whether each of `n` passages owns `k` rows, and nobody else owns one."""
    if len(owners) and owners.min() < 0:
        return False
    return bool((np.bincount(owners, minlength=n) == k).all()) and len(owners) == n * k
