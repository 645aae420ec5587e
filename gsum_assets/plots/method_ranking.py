"""Bar plots of methods: a panel for each metric, a row of panels for each kind of question."""

from collections.abc import Mapping, Sequence

from gsum_assets.plots.figure import (
    BEST,
    BOUND,
    INK,
    OTHER,
    TIES_BEST,
    Axes,
    Figure,
    as_png,
    axes_at,
    empty_figure,
    grid,
    heading,
    label_rows,
    new_figure,
    room_for,
)
from gsum_assets.plots.main_metrics import has_best, is_upper_bound, main_metrics, scale_of
from gsum_assets.statistics.comparisons import can_differ

Ranked = Sequence[tuple[str, Mapping[str, Mapping]]]
"""Methods, best first, each with its rows of `leaderboard` by metric."""

_MAX_PANELS = 5
_WIDTH, _ROW = 10.0, 0.25  # inches


def method_ranking_figure(kinds: Mapping[str, Ranked], title: str) -> Figure:
    """Return bars of methods with 95% intervals; the best and those not worse are highlighted.

    Parameters
    ----------
    kinds : methods with their rows of `leaderboard`, by kind of question.
    """
    kinds = {kind: methods for kind, methods in kinds.items() if methods}
    if not kinds:
        return empty_figure(f"{title}: no scores")
    figure = new_figure(_WIDTH, sum(_height(methods) for methods in kinds.values()))
    top = 0.0
    for kind, methods in kinds.items():
        _panels(figure, top, f"{title}: {kind} questions", methods)
        top += _height(methods)
    return figure


method_ranking = as_png(method_ranking_figure)


def standing(row: Mapping, several: bool) -> str:
    """Return how a row of `leaderboard` compares: 'best', 'tie' (not significantly worse), 'other'.

    'bound' for an upper bound. 'other', too, if there are too few questions for any difference to
    be significant.

    Parameters
    ----------
    several : whether any method differs from the others.
    """
    if not (several and can_differ(row["n"]) and has_best(row["metric"])):
        return "other"
    if is_upper_bound(row["method"]):
        return "bound"
    return "best" if row["p_best"] is None else "tie" if row["ties_best"] else "other"


def _height(methods: Ranked) -> float:
    """Return the height of a row of panels with title and axes, inches."""
    return _ROW * len(methods) + 1.05


def _panels(figure: Figure, top: float, title: str, methods: Ranked) -> None:
    """Draw one panel for each metric, with the methods in the same order."""
    names = [name for name, _ in methods]
    given = main_metrics(metric for _, rows in methods for metric in rows)
    metrics = [metric for metric in given if has_best(metric)][:_MAX_PANELS] or given
    n_questions = max(row["n"] for _, rows in methods for row in rows.values())
    colours = "; dark: the best, light: not significantly worse" if len(methods) > 1 else ""
    unit = "percent" if any(scale_of(metric) == 100 for metric in metrics) else "1 to 5"
    heading(figure, f"{title}, n = {n_questions:,}; {unit}, line: 95% interval{colours}", top)
    margin = room_for(names)
    width = (_WIDTH - margin - 0.1) / len(metrics)
    for i, metric in enumerate(metrics):
        box = (margin + i * width, top + 0.7, width - 0.2, _ROW * len(methods))
        axes = axes_at(figure, box, metric)
        _bars(axes, [rows.get(metric) for _, rows in methods], scale_of(metric))
        label_rows(axes, names, are_shown=i == 0)


def _bars(axes: Axes, rows: Sequence[Mapping | None], scale: int) -> None:
    """Draw a bar from zero to the mean and a line over its interval, one row for each method."""
    found = [(i, row) for i, row in enumerate(rows) if row]
    colours = {"best": BEST, "tie": TIES_BEST, "other": OTHER, "bound": BOUND}
    indices = [i for i, _ in found]
    mean, low, high = ([scale * r[name] for _, r in found] for name in ("mean", "low", "high"))
    several = len(set(mean)) > 1
    shown = [colours[standing(row, several)] for _, row in found]
    axes.barh(indices, mean, 0.62, color=shown)
    axes.hlines(indices, low, high, color=INK, linewidth=1.2)
    axes.set_xlim(0, max(*high, 0.01 * scale) * 1.04)
    axes.locator_params(axis="x", nbins=3)
    grid(axes, "x")
