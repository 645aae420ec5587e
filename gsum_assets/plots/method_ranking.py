"""How methods compare: means with their intervals, a panel a metric, a row of panels a kind."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gsum_assets.plots.figure import (
    COLOURS,
    axes_at,
    heading,
    label_rows,
    new_figure,
    nothing_to_show,
    plain,
    room_for,
    to_png,
)
from gsum_assets.plots.main_metrics import main_metrics

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Ranked = Sequence[tuple[str, Mapping[str, Mapping]]]
"""Methods, best first, each with its rows of `leaderboard` by metric."""

_MAX_PANELS = 5
_WIDTH, _ROW = 10.0, 0.25  # inches


def method_ranking(kinds: Mapping[str, Ranked], title: str) -> bytes:
    """PNG of a dot a method with its 95% interval; the best method of each panel stands out.

    Parameters
    ----------
    kinds : what to show for each kind of question.
    title : what is shown, corpus and split for example.
    """
    kinds = {kind: methods for kind, methods in kinds.items() if methods}
    if not kinds:
        return nothing_to_show(f"{title}: no scores")
    figure = new_figure(_WIDTH, sum(_height(methods) for methods in kinds.values()))
    top = 0.0
    for kind, methods in kinds.items():
        _panels(figure, top, f"{title}: {kind} questions", methods)
        top += _height(methods)
    return to_png(figure)


def _height(methods: Ranked) -> float:
    """Inches of one row of panels, with its title and axes."""
    return _ROW * len(methods) + 1.05


def _panels(figure: "Figure", top: float, title: str, methods: Ranked) -> None:
    """One panel a metric, the methods in the same order in each."""
    names = [name for name, _ in methods]
    metrics = main_metrics(metric for _, rows in methods for metric in rows)[:_MAX_PANELS]
    asked = max(row["n"] for _, rows in methods for row in rows.values())
    heading(figure, f"{title}, n = {asked:,}; percent, dot: mean, line: its 95% interval", top)
    margin = room_for(names)
    width = (_WIDTH - margin - 0.1) / len(metrics)
    for i, metric in enumerate(metrics):
        place = (margin + i * width, top + 0.7, width - 0.2, _ROW * len(methods))
        axes = plain(axes_at(figure, *place), metric)
        _dots(axes, [rows.get(metric) for _, rows in methods])
        label_rows(axes, names, are_shown=i == 0)


def _dots(axes: "Axes", rows: Sequence[Mapping | None]) -> None:
    """A dot and a line a row, those with the best mean in a colour of their own if any differ."""
    found = [(i, row) for i, row in enumerate(rows) if row]
    means = {row["mean"] for _, row in found}
    best = max(means) if len(means) > 1 else None
    for is_best, colour in ((False, COLOURS[0]), (True, COLOURS[3])):
        shown = [(i, row) for i, row in found if (row["mean"] == best) == is_best]
        places = [i for i, _ in shown]
        mean, low, high = ([100 * r[name] for _, r in shown] for name in ("mean", "low", "high"))
        axes.hlines(places, low, high, color=colour, linewidth=1.6)
        axes.plot(mean, places, "o", color=colour, markersize=5)
    axes.set_xlim(right=min(101, axes.get_xlim()[1]))
    axes.locator_params(axis="x", nbins=3)
    axes.grid(axis="x", color="#eeeeee")
