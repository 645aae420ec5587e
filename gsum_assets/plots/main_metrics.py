"""Which metrics a person looks at first."""

from collections.abc import Iterable

import pyarrow as pa

MAIN = (
    *("rouge1", "rouge2", "rougeL", "bertscore_f1", "accuracy", "token_f1", "exact_match"),
    *("mrr", "p@3", "r@3", "p@10", "r@10", "chunk_mrr", "chunk_r@6"),
    *("g_eval_consistency", "g_eval_relevance", "lr1", "lr2"),
)
_MOST = 12


def main_metrics(names: Iterable[str]) -> list[str]:
    """Those of `MAIN` that are among `names`, in its order; the first dozen where none is."""
    given = set(names)
    return [name for name in MAIN if name in given] or sorted(given)[:_MOST]


def main_means(scores: pa.Table) -> dict[str, float]:
    """Mean over the questions of each main metric, to four digits, from one method's `scores`."""
    means = scores.group_by("metric").aggregate([("value", "mean")])
    by_metric = {row["metric"]: round(row["value_mean"], 4) for row in means.to_pylist()}
    return {metric: by_metric[metric] for metric in main_metrics(by_metric)}
