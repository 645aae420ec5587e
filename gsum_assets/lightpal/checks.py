"""Checks of candidates and context scores."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gsum_assets.lightpal.earlier import read_recall
from gsum_assets.pipeline.result import Check, Finding, count, found
from gsum_resources.store.arrow import lengths_of, values_of

LEAST_RECALL = 0.99
"""Of approximate neighbours, below which a check warns."""


def all_scored(scores: pa.Table, corpus: str) -> Finding:
    """Check that every candidate has a context score."""
    lists = scores["scores"]
    is_missing = np.isnan(values_of(lists))
    owners = np.repeat(np.arange(len(lists)), lengths_of(lists))[is_missing]
    without = np.bincount(owners, minlength=len(lists)) > 0
    return found(
        count(scores.num_rows, "passage"),
        scores.select(["level", "passage_id"]).filter(pa.array(without)),
        "have candidates without a score, to which no context edge leads; the log of "
        f"lightpal/context_scores says why, and `gsum run {corpus}` requests the missing scores "
        "again",
    )


def _n_values(footers: Iterable[pq.FileMetaData], leaf: str) -> int:
    """Return the number of values of a column in lists, as footers tell it."""
    groups = (f.row_group(i) for f in footers for i in range(f.num_row_groups))
    columns = (group.column(i) for group in groups for i in range(group.num_columns))
    return sum(column.num_values for column in columns if column.path_in_schema == leaf)


def near_exact(recall: float | None, n_candidates: int) -> Finding:
    """Check that approximate neighbours include nearly all of the exact ones.

    Parameters
    ----------
    recall : measured recall; None: the neighbours are exact.
    """
    examined = count(n_candidates, "candidate")
    if recall is None or recall >= LEAST_RECALL:
        return Finding(examined)
    missing = round((1 - recall) * n_candidates)
    problem = (
        f"about {missing:,} of {examined} are not among the nearest passages: the recall of the "
        f"approximate neighbours is {recall:.3f}, less than {LEAST_RECALL}; compare all pairs by "
        "exact_up_to of [lightpal.neighbours] in corpus.toml"
    )
    return Finding(examined, problem, missing, [{"recall": recall}])


NEAR_EXACT = Check(
    "near_exact",
    f"Neighbours are exact, or their measured recall is {LEAST_RECALL} at least.",
    lambda partition: near_exact(
        read_recall(partition.store, partition.corpus),
        _n_values(partition.footers.values(), "candidates.list.element"),
    ),
    warns=True,
)
ALL_SCORED = Check(
    "all_scored",
    "Every candidate has a context score.",
    lambda partition: all_scored(
        partition.rows(columns=["level", "passage_id", "scores"]), partition.corpus
    ),
    warns=True,
)
