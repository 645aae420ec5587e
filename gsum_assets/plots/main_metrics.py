"""Main metrics, and formatting of their values."""

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

MAIN = (
    *("rouge1", "rouge2", "rougeL", "bertscore_f1", "accuracy", "token_f1", "exact_match"),
    *("mrr", "chunk_mrr", "context_p", "context_r", "context_tokens", "coverage"),
    *("g_eval_consistency", "g_eval_relevance", "lr1", "lr2"),
)
CONTEXT_TOKENS = "context_tokens"
Ranked = Sequence[tuple[str, Mapping[str, Mapping]]]
"""Methods, best first, each with its rows of `leaderboard` by metric."""
_MOST = 14


def main_metrics(names: Iterable[str]) -> list[str]:
    """Return those of `MAIN` in `names`, in its order; if there are none, the first 14 names."""
    given = set(names)
    return [name for name in MAIN if name in given] or sorted(given)[:_MOST]


def main_means(scores: pa.Table) -> dict[str, float]:
    """Return the mean of each main metric over one method's `scores`, to four digits."""
    means = scores.group_by("metric").aggregate([("value", "mean")])
    by_metric = {row["metric"]: round(row["value_mean"], 4) for row in means.to_pylist()}
    return {metric: by_metric[metric] for metric in main_metrics(by_metric)}


def shown_metrics(methods: Ranked) -> list[str]:
    """Return the main metrics of methods, without `coverage` if every question has an answer."""
    rows = [own for _, own in methods]
    covered = [own["coverage"]["mean"] for own in rows if "coverage" in own]
    given = main_metrics(metric for own in rows for metric in own)
    return [metric for metric in given if metric != "coverage" or min(covered) < 1]


def is_share(metric: str) -> bool:
    """Return whether a metric is between 0 and 1."""
    return metric != CONTEXT_TOKENS and not _is_grade(metric)


def has_best(metric: str) -> bool:
    """Return whether higher is better; False for the number of tokens read."""
    return metric != CONTEXT_TOKENS


def scale_of(metric: str) -> int:
    """Return the factor for display: 100 for shares, shown in percent, else 1."""
    return 100 if is_share(metric) else 1


def shown_value(metric: str, value: float) -> str:
    """Return `41.3` for a share, in percent; `3.87` for a grade, `1,204` tokens."""
    if metric == CONTEXT_TOKENS:
        return f"{value:,.0f}"
    return f"{scale_of(metric) * value:.{2 if _is_grade(metric) else 1}f}"


def is_upper_bound(method: str) -> bool:
    """Return whether a method reads what annotators marked, which gives an upper bound."""
    return method.startswith("oracle-")


def _is_grade(metric: str) -> bool:
    return metric.startswith("g_eval")
