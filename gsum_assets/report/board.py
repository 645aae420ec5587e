"""The leaderboard as grids of cells, and every paired difference of the main metric."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from gsum_assets.evaluation.leaderboard import Row, cells_of, ranked_methods
from gsum_assets.plots.main_metrics import Ranked, shown_metrics, shown_value
from gsum_assets.statistics.comparisons import SIGNIFICANT


class Grid(NamedTuple):
    """A table of methods, best first, by metrics."""

    metrics: Sequence[str]
    rows: Sequence[Row]


class Pair(NamedTuple):
    """A difference, row minus column, with interval; `sign`: '+', '-' or '' if not significant."""

    difference: str
    low: str
    high: str
    p_value: float
    sign: str


class Pairs(NamedTuple):
    """Differences between any two methods; None on the diagonal, and if not compared."""

    methods: Sequence[str]
    rows: Sequence[Sequence[Pair | None]]


@dataclass(frozen=True)
class Board:
    """All comparisons of methods on one kind of question.

    Attributes `ranked`: methods, best first, with their rows of `leaderboard` by metric; `by`: the
    metric that methods are ranked and compared by.
    """

    kind: str
    ranked: Ranked
    n: int
    by: str
    main: Grid
    rest: Grid
    pairs: Pairs | None


def boards(
    leaderboard: pa.Table, comparisons: pa.Table, methods: Sequence[str], split: str
) -> list[Board]:
    """Return one board for each kind of question that was scored in this split.

    The best method and those not significantly worse were determined among all methods, shown or
    not.
    """
    of_kinds = []
    for kind in sorted(set(leaderboard["kind"].to_pylist())):
        ranked = ranked_methods(leaderboard, kind, split)
        shown = [(method, rows) for method, rows in ranked if method in methods]
        if shown:
            metrics = {metric for _, rows in shown for metric in rows}
            first = shown_metrics(shown)
            rest = sorted(metrics - set(first))
            of_kinds.append(
                Board(
                    kind,
                    shown,
                    max(row["n"] for _, rows in shown for row in rows.values()),
                    first[0],
                    Grid(first, cells_of(shown, first)),
                    Grid(rest, cells_of(shown, rest)),
                    _pairs(comparisons, first[0], kind, split, [method for method, _ in shown]),
                )
            )
    return of_kinds


def _pairs(
    comparisons: pa.Table, metric: str, kind: str, split: str, methods: Sequence[str]
) -> Pairs | None:
    """Return the differences, or None if no two of the methods were compared."""
    known = {}
    for row in comparisons.to_pylist():
        if (row["metric"], row["kind"], row["split"]) == (metric, kind, split):
            a, b, d, low, high = (
                row[n] for n in ("method", "opponent", "difference", "low", "high")
            )
            known[a, b] = _pair(metric, d, low, high, row["p_adjusted"])
            known[b, a] = _pair(metric, -d, -high, -low, row["p_adjusted"])
    rows = [[known.get((a, b)) for b in methods] for a in methods]
    return Pairs(methods, rows) if any(any(row) for row in rows) else None


def _pair(metric: str, difference: float, low: float, high: float, p_value: float) -> Pair:
    sign = ("+" if difference > 0 else "-") if p_value <= SIGNIFICANT else ""
    shown = []  # `+1.3` or `−1.3`
    for value in (difference, low, high):
        text = shown_value(metric, abs(value))
        shown.append(text if not float(text) else f"{'+' if value > 0 else '−'}{text}")
    return Pair(shown[0], shown[1], shown[2], p_value, sign)
