"""Scores of all methods in one table, as rows and as Markdown."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from gsum_assets.evaluation.comparisons import ALL, Estimate, Group, as_table
from gsum_assets.plots.main_metrics import (
    Ranked,
    has_best,
    is_upper_bound,
    main_metrics,
    shown_metrics,
    shown_value,
)
from gsum_assets.statistics.comparisons import SIGNIFICANT, can_differ

_WITH_INTERVAL = ("rouge", "bertscore", "token_f1", "accuracy", "g_eval", "lr")
_SHORT = {
    "bertscore_f1": "bertscore",
    "g_eval_consistency": "consist.",
    "g_eval_relevance": "relev.",
    "context_p": "read P",
    "context_r": "read R",
    "context_tokens": "tokens",
}
_SPENT = ("calls/q", "tokens/q", "$/q")  # of a question, by language models
_MARKS = {"best": "*", "tie": "≈", "other": " ", "bound": " ", "uncompared": ""}
_ONE_CALL = 1.05  # calls a question up to which an answer takes one
Pair = tuple[str, str, str, str, str]  # split, kind, metric, method, opponent; methods sorted


def leaderboard(
    grouped: Sequence[Group], comparisons: pa.Table, seconds: Mapping[tuple[str, str], float]
) -> pa.Table:
    """Return rows of the table `leaderboard`: every split and all of them together.

    `seconds` are from question to answer, by method and question.
    """
    p_values = {
        (row["split"], row["kind"], row["metric"], row["method"], row["opponent"]): row[
            "p_adjusted"
        ]
        for row in comparisons.to_pylist()
    }
    rows = []
    for group in grouped:
        for metric, estimates in group.estimates().items():
            p_best = _against_best(group, metric, estimates, p_values)
            for method, estimate in estimates.items():
                p = p_best[method]
                is_tie = p is None or p > SIGNIFICANT
                latency = group.mean_of(seconds, metric, method)
                rows += [
                    (method, split, group.kind, metric, *estimate, p, is_tie, latency)
                    for split in group.splits
                ]
    return as_table("leaderboard", sorted(rows, key=lambda row: row[:4]))


def _against_best(
    group: Group, metric: str, estimates: Mapping[str, Estimate], p_values: Mapping[Pair, float]
) -> dict[str, float | None]:
    """Return p that each method equals the best one, adjusted for all pairs of methods.

    All pairs count, since any method may be the best by chance; upper bounds are no candidates for
    the best. None for the best, and for methods with an equal mean. Without a common question p is
    1.
    """
    real = [method for method in estimates if not is_upper_bound(method)] or list(estimates)
    best = min(real, key=lambda method: (-estimates[method].mean, method))
    others = [method for method in estimates if estimates[method].mean != estimates[best].mean]
    p_best: dict[str, float | None] = dict.fromkeys(estimates)
    for method in others:
        first, second = sorted((method, best))
        p_best[method] = p_values.get((group.splits[0], group.kind, metric, first, second), 1.0)
    return p_best


def ranked_methods(
    board: pa.Table, kind: str, split: str = ALL
) -> list[tuple[str, dict[str, dict]]]:
    """Return methods and metrics for one kind of question, by the first main metric."""
    methods: dict[str, dict[str, dict]] = defaultdict(dict)
    for row in board.to_pylist():
        if row["kind"] == kind and row["split"] == split:
            methods[row["method"]][row["metric"]] = row
    given = main_metrics(metric for metrics in methods.values() for metric in metrics)
    first = given[0] if given else ""
    return sorted(methods.items(), key=lambda m: (-m[1].get(first, {}).get("mean", 0.0), m[0]))


def ranked_by_kind(
    board: pa.Table, split: str = ALL
) -> dict[str, list[tuple[str, dict[str, dict]]]]:
    """Return `ranked_methods` of each kind of question."""
    kinds = sorted(set(board["kind"].to_pylist()))
    return {kind: ranked_methods(board, kind, split) for kind in kinds}


class Cell(NamedTuple):
    """A mean; half of its interval, "" for lengths; and its comparison, see `standing`."""

    mean: str
    half: str
    standing: str


class Row(NamedTuple):
    """A method's cells, None for missing values; seconds from question to answer."""

    method: str
    cells: Sequence[Cell | None]
    seconds: float


class TextGrid(NamedTuple):
    """A table of text cells: methods, best first."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


LEGEND = (
    "Marked *: the best; ≈: not significantly different from it (sign-flip permutation test, 5% "
    "for all pairs of a column). tokens, read P, read R: of the texts that answers were written "
    "from; "
    "oracle-…: upper bounds"
)


def standing(row: Mapping, several: bool) -> str:
    """Return how a row of `leaderboard` compares: 'best', 'tie' (not significantly worse), 'other'.

    'bound' is an upper bound. 'uncompared' has no best value, is equal for all methods, or has too
    few questions for any difference to be significant. `several` is whether any method differs
    from the others.
    """
    if not (several and can_differ(row["n"]) and has_best(row["metric"])):
        return "uncompared"
    if is_upper_bound(row["method"]):
        return "bound"
    return "best" if row["p_best"] is None else "tie" if row["ties_best"] else "other"


def cells_of(ranked: Ranked, metrics: Sequence[str]) -> list[Row]:
    """Return the cells of methods in these metrics."""
    differ = {m: len({rows[m]["mean"] for _, rows in ranked if m in rows}) > 1 for m in metrics}

    def cell(metric: str, row: Mapping | None) -> Cell | None:
        if row is None:
            return None
        half = shown_value(metric, (row["high"] - row["low"]) / 2) if has_best(metric) else ""
        mean = shown_value(metric, row["mean"])
        return Cell(mean, half, standing(row, differ[metric]))

    return [
        Row(
            method,
            [cell(metric, row_of.get(metric)) for metric in metrics],
            max(row["latency_s"] for row in row_of.values()),
        )
        for method, row_of in ranked
    ]


def to_markdown(board: pa.Table, split: str = ALL, costs: pa.Table | None = None) -> str:
    """Return one Markdown table for each kind of question, see `grids`."""
    lines = [LEGEND, ""]
    for grid in grids(board, split, costs):
        lines += [f"**{grid.title}**", "", "| " + " | ".join(grid.header) + " |"]
        lines.append("|---" + "|---:" * (len(grid.header) - 1) + "|")
        lines += ["| " + " | ".join(row) + " |" for row in grid.rows]
        lines.append("")
    return "\n".join(lines)


def grids(board: pa.Table, split: str = ALL, costs: pa.Table | None = None) -> list[TextGrid]:
    """Return a grid for each kind of question; `s` is seconds from question to answer.

    Calls, tokens and price of a question, over all kinds, are shown if some method has a price or
    more than one call a question.
    """
    spent = _spent(costs)
    text_grids = []
    for kind, methods in ranked_by_kind(board, split).items():
        if not methods:
            continue
        shown = shown_metrics(methods)
        count = max(row["n"] for _, metrics in methods for row in metrics.values())
        rows = [
            [
                row.method,
                *map(_text, shown, row.cells),
                *(spent.get(row.method, ["–"] * len(_SPENT)) if spent else ()),
                f"{row.seconds:.3f}",
            ]
            for row in cells_of(methods, shown)
        ]
        scope = "all splits" if split == ALL else f"split {split}"
        title = f"{kind} questions, n = {count}, {scope}; percent, ± half the 95% interval"
        if not can_differ(count):
            title += "; too few questions for any difference to be significant"
        header = ["method", *(_SHORT.get(metric, metric) for metric in shown)]
        header += [*(_SPENT if spent else ()), "s"]
        text_grids.append(TextGrid(title, header, rows))
    return text_grids


def _text(metric: str, cell: Cell | None) -> str:
    """Return `28.5 ±1.9≈`; without interval for retrieval metrics, which saves space."""
    if cell is None:
        return "–"
    half = f" ±{cell.half}" if metric.startswith(_WITH_INTERVAL) else ""
    return f"{cell.mean}{half}{_MARKS[cell.standing]}"


def _spent(costs: pa.Table | None) -> dict[str, list[str]]:
    """Return the cells of `_SPENT` by method; nothing where no cost could be of interest."""
    rows = [row for row in costs.to_pylist() if row["stage"] == "query"] if costs else []
    rows = [row for row in rows if row["n"]]
    if not any(row["cost_usd"] or row["calls"] > _ONE_CALL * row["n"] for row in rows):
        return {}
    return {
        row["method"]: [
            f"{row['calls'] / row['n']:,.1f}",
            f"{(row['tokens_in'] + row['tokens_out']) / row['n']:,.0f}",
            f"{row['cost_usd'] / row['n']:.4f}",
        ]
        for row in rows
    }
