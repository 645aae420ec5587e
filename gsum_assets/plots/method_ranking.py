"""Bar plots of methods: a panel for each metric, a row of panels for each kind of question."""

from collections.abc import Mapping, Sequence
from typing import Any

from gsum_assets.plots.figure import (
    BEST,
    BOUND,
    INK,
    OTHER,
    TIES_BEST,
    UNCOMPARED,
    Axes,
    Figure,
    as_png,
    empty_figure,
    grid,
    heading,
    label_rows,
    legend_below,
    new_axes,
    new_figure,
)
from gsum_assets.plots.main_metrics import has_best, is_upper_bound, main_metrics, scale_of
from gsum_assets.statistics.comparisons import can_differ

Ranked = Sequence[tuple[str, Mapping[str, Mapping]]]
"""Methods, best first, each with its rows of `leaderboard` by metric."""

_MAX_PANELS = 5
_WIDTH, _ROW = 10.0, 0.25  # inches
_COLOURS = {
    "best": BEST,
    "tie": TIES_BEST,
    "other": OTHER,
    "bound": BOUND,
    "uncompared": UNCOMPARED,
}
_MEANINGS = {
    BEST: "best",
    TIES_BEST: "not significantly worse",
    OTHER: "significantly worse",
    BOUND: "upper bound",
    UNCOMPARED: "not compared: all are equal, or too few questions",
}


def method_ranking_figure(kinds: Mapping[str, Ranked], title: str) -> Figure:
    """Return bars of methods with 95% intervals; the best and those not worse are highlighted.

    `kinds` are methods with their rows of `leaderboard`, by kind of question.
    """
    kinds = {kind: methods for kind, methods in kinds.items() if methods}
    if not kinds:
        return empty_figure(f"{title}: no scores")
    heights = [_ROW * len(methods) + 1.3 for methods in kinds.values()]
    figure = new_figure(_WIDTH, sum(heights))
    parts = figure.subfigures(len(kinds), 1, squeeze=False, height_ratios=heights)[:, 0]
    for part, (kind, methods) in zip(parts, kinds.items(), strict=True):
        _panels(part, f"{title}: {kind} questions", methods)
    return figure


method_ranking = as_png(method_ranking_figure)


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


def _panels(figure: Any, title: str, methods: Ranked) -> None:
    """Draw one panel for each metric, with the methods in the same order."""
    names = [name for name, _ in methods]
    given = main_metrics(metric for _, rows in methods for metric in rows)
    metrics = [metric for metric in given if has_best(metric)][:_MAX_PANELS] or given
    unit = "percent" if any(scale_of(metric) == 100 for metric in metrics) else "1 to 5"
    has_lines = any(can_differ(rows[m]["n"]) for _, rows in methods for m in metrics if m in rows)
    meaning = f"mean over n questions{', line: its 95% interval' * has_lines}"
    heading(figure, f"{title}; {unit}, {meaning}")
    drawn = set[str]()
    for i, metric in enumerate(metrics):
        rows = [own.get(metric) for _, own in methods]
        axes = new_axes(figure, (1, len(metrics), i + 1), f"{metric}, n = {_numbers(rows)}")
        drawn |= _bars(axes, rows, scale_of(metric))
        label_rows(axes, names, are_shown=i == 0)
    meanings = {meaning: colour for colour, meaning in _MEANINGS.items() if colour in drawn}
    legend_below(figure, meanings)


def _numbers(rows: Sequence[Mapping | None]) -> str:
    """Return the number of questions of a metric, `9`, or the smallest and greatest, `8 to 9`."""
    numbers = sorted({row["n"] for row in rows if row})
    return " to ".join(f"{n:,}" for n in dict.fromkeys([numbers[0], numbers[-1]]))


def _bars(axes: Axes, rows: Sequence[Mapping | None], scale: int) -> set[str]:
    """Draw a bar from zero to each mean, one row for each method; return the colours of the bars.

    A line shows its interval, unless there are too few questions for any difference to count.
    """
    present = [(i, row) for i, row in enumerate(rows) if row]
    several = len({row["mean"] for _, row in present}) > 1
    colours = [_COLOURS[standing(row, several)] for _, row in present]
    axes.barh(
        [i for i, _ in present], [scale * row["mean"] for _, row in present], 0.62, color=colours
    )
    certain = [(i, row) for i, row in present if can_differ(row["n"])]
    low, high = ([scale * row[name] for _, row in certain] for name in ("low", "high"))
    axes.hlines([i for i, _ in certain], low, high, color=INK, linewidth=1.2)
    furthest = max([scale * row["mean"] for _, row in present] + high)
    axes.set_xlim(0, max(furthest, 0.01 * scale) * 1.04)
    axes.locator_params(axis="x", nbins=3)
    grid(axes, "x")
    return set(colours)
