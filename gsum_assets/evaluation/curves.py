"""Quality by the number of passages read: a mean for each method and K of a list."""

import pyarrow as pa

from gsum_assets.evaluation.comparisons import ALL, as_table, groups
from gsum_resources.store.arrow import pc


def main_scores(scores: pa.Table) -> pa.Table:
    """Return the rows of `scores` of the answers in `summaries`, without those of curves."""
    return scores.filter(pc.is_null(scores["k"]))


def curves(queries: pa.Table, scores: pa.Table) -> pa.Table:
    """Return rows of the table `curves`."""
    rows = []
    for k in sorted(pc.unique(scores["k"].drop_null()).to_pylist()):
        for group in groups(queries, scores.filter(pc.equal(scores["k"], k))):
            rows += [
                (method, k, split, group.kind, metric, *estimate)
                for metric, estimates in group.estimates().items()
                for method, estimate in estimates.items()
                for split in group.splits
            ]
    return as_table("curves", sorted(rows))


def of_kind(curve: pa.Table, kind: str, split: str = ALL) -> pa.Table:
    """Return the rows of `curves` of one kind of question and one split."""
    is_selected = pc.and_(pc.equal(curve["kind"], kind), pc.equal(curve["split"], split))
    return curve.filter(is_selected)
