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
    """The lists that a table holds, passages in the order of `ids`.

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
    known = pa.array(ids, pa.string())
    owners = pc.index_in(rows["passage_id"], known)
    places = pc.index_in(rows["candidate_id"], known)
    k = rows.num_rows // len(ids) if len(ids) else 0
    each_has_k = np.repeat(np.arange(len(ids)), k)
    if (
        owners.null_count
        or places.null_count
        or not np.array_equal(np.sort(owners.to_numpy()), each_has_k)
    ):
        raise ValueError(
            f"lightpal: the candidates of {rows.num_rows} rows are not those of {len(ids)} "
            f"passages of level '{level}'; materialize lightpal/candidates again"
        )
    order = np.argsort(owners.to_numpy(), kind="stable")
    indices = places.to_numpy().astype(np.int32)[order].reshape(len(ids), k)
    if column is None:
        return CandidateLists(ids, indices, np.empty((len(ids), 0)))
    values = rows[column].to_numpy().astype(np.float64)[order].reshape(len(ids), k)
    return CandidateLists(ids, indices, values)
