"""Plot of quality against the cost of a question."""

from collections.abc import Mapping, Sequence

import numpy as np

from gsum_assets.plots.figure import (
    BEST,
    BOUND,
    COLOURS,
    FAINT,
    INK,
    Axes,
    Figure,
    new_axes,
    new_figure,
)
from gsum_assets.plots.main_metrics import Ranked, is_upper_bound, main_metrics, scale_of
from gsum_assets.statistics.comparisons import can_differ

_INTERVAL = "#bccad6"
_WIDTH, _HEIGHT = 8.0, 4.4  # inches
_ROW, _AROUND = 0.17, 1.6  # inches, of a label, and above and below the axes
_MAX_LABEL = 28  # characters


def quality_cost(methods: Ranked, costs: Sequence[Mapping], title: str) -> Figure | None:
    """Plot methods by cost and quality, and join those for which no cheaper one is better.

    A line shows the interval of a mean, unless there are too few questions for one to count. Return
    None if no method has both.

    Parameters
    ----------
    methods : methods with their rows of `leaderboard` for one kind of question.
    costs : rows of `costs`; those of the stage 'query' are shown, as the mean over its questions.
    """
    metric = next(iter(main_metrics(metric for _, rows in methods for metric in rows)), "")
    paid = {row["method"]: row for row in costs if row["stage"] == "query" and row["n"]}
    shown = [(name, rows[metric]) for name, rows in methods if metric in rows and name in paid]
    if not shown:
        return None
    unit, price = _price([paid[name] for name, _ in shown])
    scale = scale_of(metric)
    mean, low, high = (
        np.array([scale * row[name] for _, row in shown]) for name in ("mean", "low", "high")
    )
    height = max(_HEIGHT, _ROW * len(shown) + _AROUND)
    certain = np.array([can_differ(row["n"]) for _, row in shown])
    note = "line: 95% interval" if certain.any() else "too few questions for intervals"
    figure = new_figure(_WIDTH, height, f"{title}\n{note}")
    quality = f"{metric}, {'percent' if scale == 100 else '1 to 5'}"
    axes = new_axes(figure, x=unit, y=quality)
    _scale_price(axes, price)
    on_front = frontier(price, mean)
    axes.step(price[on_front], mean[on_front], where="post", color=BEST, linewidth=1, alpha=0.6)
    axes.vlines(price[certain], low[certain], high[certain], color=_INTERVAL, linewidth=1)
    colours = [
        BOUND if is_upper_bound(name) else BEST if i in on_front else COLOURS[0]
        for i, (name, _) in enumerate(shown)
    ]
    _write_legend(figure, colours)
    axes.scatter(price, mean, s=34, c=colours, zorder=4)  # above labels
    axes.grid(color="#eeeeee")
    axes.margins(0.08)
    names = [_label(name) for name, _ in shown]
    _label_points(axes, price, mean, names, _ROW / (height - _AROUND))
    return figure


def _write_legend(figure: Figure, colours: Sequence[str]) -> None:
    """Write below a figure what its colours mean."""
    from matplotlib.patches import Patch

    meanings = {
        BEST: "nothing to its left is better",
        COLOURS[0]: "something to its left is as good",
        BOUND: "upper bound",
    }
    figure.legend(
        handles=[Patch(color=c, label=text) for c, text in meanings.items() if c in colours],
        loc="outside lower left",
        ncols=len(meanings),
        fontsize=9,
        frameon=False,
        labelcolor=INK,
        handlelength=1,
        columnspacing=1.2,
    )


def _label(name: str) -> str:
    """Return a name on one line, with its middle replaced by "…" if it is long."""
    text, half = " ".join(name.split()), _MAX_LABEL // 2
    return text if len(text) <= _MAX_LABEL else f"{text[:half]}…{text[-half + 1 :]}"


def frontier(price: np.ndarray, quality: np.ndarray) -> list[int]:
    """Return the Pareto-optimal points, for which none is cheaper and as good; cheapest first.

    `price` and `quality` are `(n,)` each.
    """
    found: list[int] = []
    for i in np.lexsort((-quality, price)).tolist():
        is_equal = found and (price[i], quality[i]) == (price[found[-1]], quality[found[-1]])
        if not found or quality[i] > quality[found[-1]] or is_equal:
            found.append(i)
    return found


def _price(costs: Sequence[Mapping]) -> tuple[str, np.ndarray]:
    """Return a unit (money, else tokens, else time) and costs of a question in it, `(n,)`."""
    n = np.array([row["n"] for row in costs], dtype=float)
    of = {
        "US dollars a question": [row["cost_usd"] for row in costs],
        "tokens read and written a question": [r["tokens_in"] + r["tokens_out"] for r in costs],
        "seconds a question": [row["latency_s"] for row in costs],
    }
    unit = next((unit for unit, values in of.items() if any(values)), "seconds a question")
    return unit, np.array(of[unit], dtype=float) / n


def _scale_price(axes: Axes, price: np.ndarray) -> None:
    """Set a logarithmic axis if prices differ by more than ten times; write numbers out."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    if price.min() > 0 and price.max() > 10 * price.min():
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=12))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.locator_params(axis="x", nbins=6)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def _label_points(
    axes: Axes, x: np.ndarray, y: np.ndarray, names: Sequence[str], gap: float
) -> None:
    """Write the names beside the axes, in the order of quality, each with a line to its point.

    `gap` is the least distance of two names, as a share of the height of the axes.
    """
    axes.autoscale_view()
    heights = axes.transAxes.inverted().transform(axes.transData.transform(np.c_[x, y]))[:, 1]
    order = np.argsort(-heights, kind="stable")
    for i, position in zip(order.tolist(), spread(heights[order], gap), strict=True):
        axes.annotate(
            names[int(i)],
            (x[i], y[i]),
            (1.04, position),
            textcoords="axes fraction",
            ha="left",
            va="center",
            fontsize=8.5,
            color=INK,
            parse_math=False,
            zorder=3,
            arrowprops={"arrowstyle": "-", "color": FAINT, "lw": 0.5, "relpos": (0, 0.5)},
        )


def spread(heights: np.ndarray, gap: float) -> np.ndarray:
    """Return heights from 0 to 1 at least `gap` apart, near those given, `(n,)`, descending."""
    steps = gap * np.arange(len(heights))
    lowered = np.minimum.accumulate(heights + steps) - steps
    raised = np.maximum.accumulate((heights + steps)[::-1])[::-1] - steps
    middle = (lowered + raised) / 2
    return np.maximum(np.minimum(middle, 1.0 - steps), (gap * len(heights) - gap) - steps)
