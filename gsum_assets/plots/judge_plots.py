"""Plot of a judge's verdicts: win rates between methods."""

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import pyarrow as pa

from gsum_assets.plots.figure import (
    COLOURS,
    INK,
    PALE,
    Axes,
    Figure,
    as_png,
    empty_figure,
    label,
    label_rows,
    new_axes,
    new_figure,
    write,
)
from gsum_assets.statistics.comparisons import SIGNIFICANT

Rates = Mapping[tuple[str, str], Mapping]
"""Rows of `win_rates` of one criterion by method and opponent."""

_MOST = 8  # methods
_WIDTH, _ROW = 9.8, 0.3  # inches
_LABEL, _MARGIN = 0.4, 2.3  # inches below each matrix, and for the names above the first ones
_PANELS_A_ROW = 3
_FAR = 30  # percentage points from 50 beyond which text is white


def win_rate_matrix_figure(win_rates: pa.Table, title: str) -> Figure:
    """Plot heat maps of how often the row's method was preferred to the column's, by criterion.

    Blue above 50 percent, orange below; bold if significantly different from 50, at 5% for all
    pairs and criteria; a dash if there was no verdict. The methods are ordered by their mean rate
    by 'overall'; 8 are shown at most.
    """
    rows = win_rates.to_pylist()
    judged = {row["criterion"] for row in rows}
    criteria = sorted(judged, key=lambda name: (name == "overall", name))
    if not criteria:
        return empty_figure(f"{title}: no verdicts")
    every = _best_first(rows)
    methods = every[:_MOST]
    n_columns = min(len(criteria), _PANELS_A_ROW)
    n_lines = -(-len(criteria) // n_columns)
    height = _LABEL + n_lines * (_ROW * len(methods) + _LABEL) + _MARGIN
    figure = new_figure(_WIDTH, height, _heading(title, rows, len(methods), len(every)))
    for i, name in enumerate(criteria):
        axes = new_axes(figure, (n_lines, n_columns, i + 1), x=name)
        rates = {(row["method"], row["opponent"]): row for row in rows if row["criterion"] == name}
        _matrix(axes, rates, methods)
        _name(axes, methods, i % n_columns == 0, i < n_columns)
    return figure


win_rate_matrix = as_png(win_rate_matrix_figure)


def _heading(title: str, rows: Sequence[Mapping], n_shown: int, n_methods: int) -> str:
    of_all = "" if n_shown == n_methods else f" ({n_shown} of {n_methods} methods)"
    n_questions = max(row["n"] for row in rows)
    meaning = "percent of wins, row over column; bold: not 50 (5% for all cells)"
    return f"{title}{of_all}, n = {n_questions:,}; {meaning}"


def _best_first(rows: Sequence[Mapping]) -> list[str]:
    """Return the methods by mean rate, overall if that was judged, highest first."""
    overall = [row for row in rows if row["criterion"] == "overall"] or rows
    rates: dict[str, list[float]] = {row["method"]: [] for row in rows}
    for row in overall:
        rates[row["method"]] += [] if row["win_rate"] is None else [row["win_rate"]]
    return sorted(rates, key=lambda name: (-float(np.mean(rates[name] or [0.0])), name))


def _matrix(axes: Axes, rates: Rates, methods: Sequence[str]) -> None:
    """Draw coloured cells with their numbers."""
    from matplotlib.colors import LinearSegmentedColormap

    percent = np.full((len(methods), len(methods)), np.nan)
    for (i, method), (j, opponent) in product(enumerate(methods), repeat=2):
        row = rates.get((method, opponent))
        if row is None:
            continue
        text, style = "–", {}
        if row["win_rate"] is not None:
            percent[i, j] = 100 * row["win_rate"]
            text = f"{percent[i, j]:.0f}"
            is_sure = row["p_adjusted"] <= SIGNIFICANT
            style["fontweight"] = "bold" if is_sure else "normal"
        is_dark = abs(percent[i, j] - 50) > _FAR
        write(axes, j, i, text, "white" if is_dark else INK, ha="center", **style)
    ends = [COLOURS[3], "white", COLOURS[0]]
    colours = LinearSegmentedColormap.from_list("", ends).with_extremes(bad=PALE)
    edges = np.arange(len(methods) + 1) - 0.5
    shades = {"cmap": colours, "vmin": 0, "vmax": 100}
    axes.pcolormesh(edges, edges, percent, edgecolors="white", linewidth=1, **shades)


def _name(axes: Axes, methods: list[str], are_rows_named: bool, are_columns_named: bool) -> None:
    """Write the methods beside and above unless another panel shows them."""
    label_rows(axes, methods, are_shown=are_rows_named)
    axes.set_ylim(len(methods) - 0.5, -0.5)
    axes.xaxis.tick_top()
    shown = [label(name) for name in methods] if are_columns_named else []
    axes.set_xticks(range(len(shown)), shown, rotation=90)
    for text in axes.get_xticklabels():
        text.set_parse_math(False)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
