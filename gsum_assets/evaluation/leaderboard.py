"""Scores of all methods to one table, as rows and as Markdown."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from gsum_assets.evaluation.statistics import estimate
from gsum_assets.tables import TABLES

Group = tuple[str, str, str, str]  # method, split, kind, metric
ALL = "all"  # the split that unites all splits
SHOWN = ("rouge1", "rouge2", "rougeL", "p@3", "r@3", "p@10", "r@10", "mrr")


def leaderboard(queries: pa.Table, scores: pa.Table) -> pa.Table:
    """Rows of the table `leaderboard`: every split and all of them together.

    Parameters
    ----------
    queries : rows of `queries`.
    scores : rows of `scores` with the column `method`.
    """
    about = {
        row["query_id"]: (row["split"], row["kind"])
        for row in queries.select(["query_id", "split", "kind"]).to_pylist()
    }
    groups: dict[Group, list[float]] = defaultdict(list)
    seconds: dict[Group, list[float]] = defaultdict(list)
    for row in scores.sort_by([("method", "ascending"), ("query_id", "ascending")]).to_pylist():
        split, kind = about.get(row["query_id"], (None, None))
        if split is None or kind is None:
            continue  # asked no more; the scores follow when they are made again
        for part in (split, ALL):
            group = row["method"], part, kind, row["metric"]
            groups[group].append(row["value"])
            seconds[group].append(row["latency_s"])
    rows = []
    for group, values in sorted(groups.items()):
        found = estimate(values)
        latency = sum(seconds[group]) / found.n
        rows.append((*group, found.mean, found.low, found.high, found.n, latency))
    columns = list(zip(*rows, strict=True)) if rows else [[] for _ in TABLES["leaderboard"].columns]
    return pa.table(columns, schema=TABLES["leaderboard"].schema)


def ranked_methods(
    board: pa.Table, kind: str, split: str = ALL, by: str = "rouge1"
) -> list[tuple[str, dict[str, dict]]]:
    """Methods with their metrics for one kind of question, best first by `by`."""
    methods: dict[str, dict[str, dict]] = defaultdict(dict)
    for row in board.to_pylist():
        if row["kind"] == kind and row["split"] == split:
            methods[row["method"]][row["metric"]] = row
    return sorted(methods.items(), key=lambda m: (-m[1].get(by, {}).get("mean", 0.0), m[0]))


def ranked_by_kind(
    board: pa.Table, split: str = ALL
) -> dict[str, list[tuple[str, dict[str, dict]]]]:
    """`ranked_methods` of each kind of question."""
    kinds = sorted(set(board["kind"].to_pylist()))
    return {kind: ranked_methods(board, kind, split) for kind in kinds}


def to_markdown(board: pa.Table, split: str = ALL) -> str:
    """One Markdown table for each kind of question."""
    parts = []
    for grid in grids(board, split):
        parts += [f"**{grid.title}**", "", "| " + " | ".join(grid.header) + " |"]
        parts.append("|---" + "|---:" * (len(grid.header) - 1) + "|")
        parts += ["| " + " | ".join(row) + " |" for row in grid.rows]
        parts.append("")
    return "\n".join(parts)


@dataclass(frozen=True)
class TextGrid:
    """A table ready to print: methods, best first, in cells of text."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def grids(board: pa.Table, split: str = ALL) -> list[TextGrid]:
    """One grid for each kind of question; `s` is seconds from question to answer."""
    found = []
    for kind, methods in ranked_by_kind(board, split).items():
        if not methods:
            continue
        shown = [m for m in SHOWN if any(m in metrics for _, metrics in methods)]
        count = max(row["n"] for _, metrics in methods for row in metrics.values())
        rows = [
            [method, *(_cell(metrics.get(metric)) for metric in shown), _seconds(metrics)]
            for method, metrics in methods
        ]
        part = "all splits" if split == ALL else f"split {split}"
        title = f"{kind} questions, n = {count}, {part}; percent, ± half the 95% interval"
        found.append(TextGrid(title, ["method", *shown, "s"], rows))
    return found


def _cell(row: dict | None) -> str:
    """`28.5 ±1.9` for ROUGE, `28.5` for the rest, which need the room; '–' for none."""
    if row is None:
        return "–"
    mean = f"{100 * row['mean']:.1f}"
    is_rouge = row["metric"].startswith("rouge")
    return f"{mean} ±{50 * (row['high'] - row['low']):.1f}" if is_rouge else mean


def _seconds(metrics: dict[str, dict]) -> str:
    return f"{max(row['latency_s'] for row in metrics.values()):.3f}"
