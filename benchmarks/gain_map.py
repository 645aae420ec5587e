"""Heat map of gains over controls, by groups of questions."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from gsum_assets.plots.figure import (
    COLOURS,
    FAINT,
    INK,
    Axes,
    Figure,
    as_png,
    label,
    new_axes,
    new_figure,
)
from gsum_assets.statistics.comparisons import SIGNIFICANT, Comparison

_CELL, _ROW, _GAP = 0.62, 0.36, 0.25  # inches: width and height of a cell, between corpora
_NAMES, _HEADING, _LABELS = 2.2, 0.75, 1.75  # inches left of the cells, above and below
_SHADES = 11  # few enough for the palette of a PNG
_FAR = 0.6  # of the largest gain of a corpus, beyond which text is white


class Column(NamedTuple):
    """Gains over a group of questions.

    Attributes
    ----------
    corpus : heading of the column and its neighbours.
    group : label of the column.
    gains : by what is compared, a method and its control.
    """

    corpus: str
    group: str
    gains: Mapping[str, Comparison]


def gain_map_figure(columns: Sequence[Column]) -> Figure:
    """Plot gains in points: blue above 0, orange below, in bold if significant."""
    names = sorted({name for column in columns for name in column.gains})
    panels = [list(of) for _, of in groupby(columns, key=lambda column: column.corpus)]
    width = _NAMES + _CELL * len(columns) + _GAP * len(panels)
    title = "Gain over the control in points, ± half the 95% interval; bold: p < 0.05 (Holm)"
    figure = new_figure(width, _HEADING + _ROW * len(names) + _LABELS, title)
    grid = figure.add_gridspec(1, len(panels), width_ratios=[len(panel) for panel in panels])
    for i, panel in enumerate(panels):
        axes = new_axes(figure, grid[i])
        axes.set_title(panel[0].corpus.replace(", ", ",\n", 1), loc="left", fontsize=8, color=INK)
        _draw(axes, panel, names)
        _label_rows(axes, names, are_shown=i == 0)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xticks(range(len(panel)), [column.group for column in panel], rotation=90)
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0, labelsize=8)
    return figure


gain_map = as_png(gain_map_figure)


def _draw(axes: Axes, panel: Sequence[Column], names: Sequence[str]) -> None:
    """Draw coloured cells with their numbers."""
    from matplotlib.colors import LinearSegmentedColormap

    points = np.full((len(names), len(panel)), np.nan)
    for j, column in enumerate(panel):
        for i, name in enumerate(names):
            if name in column.gains:
                points[i, j] = 100 * column.gains[name].difference
    most = float(np.nanmax(np.abs(points), initial=1.0))
    ends = [COLOURS[3], "white", COLOURS[0]]
    colours = LinearSegmentedColormap.from_list("", ends, _SHADES).with_extremes(bad="white")
    edges = [np.arange(n + 1) - 0.5 for n in (len(panel), len(names))]
    shades = {"cmap": colours, "vmin": -most, "vmax": most}
    axes.pcolormesh(*edges, points, edgecolors="white", linewidth=1, **shades)
    for j, column in enumerate(panel):
        for i, name in enumerate(names):
            if name not in column.gains:
                _write(axes, j, i, "–", FAINT, ha="center")
                continue
            difference, _, high, p, n = column.gains[name]
            colour = "white" if abs(points[i, j]) > _FAR * most else INK
            weight = "bold" if p < SIGNIFICANT else "normal"
            _write(
                axes,
                j,
                i - 0.15,
                f"{100 * difference:+.1f}",
                colour,
                ha="center",
                fontsize=8,
                fontweight=weight,
            )
            if n > 1:
                half = f"±{100 * (high - difference):.1f}"
                _write(axes, j, i + 0.22, half, colour, ha="center", fontsize=6)


def _write(axes: Axes, x: float, y: float, text: str, colour: str = INK, **how: Any) -> None:
    """Write a text that is centred at the height `y`, and never parsed as a formula.

    `how` are properties of the text other than its defaults.
    """
    style = {"va": "center", "fontsize": 9, "color": colour, "parse_math": False}
    axes.text(x, y, text, **style | how)


def _label_rows(axes: Axes, names: list[str], are_shown: bool = True) -> None:
    """Label the rows 0, 1, … from the top; names are never parsed as formulas."""
    shown = names if are_shown else []
    axes.set_yticks(range(len(shown)), [label(name) for name in shown])
    for text in axes.get_yticklabels():
        text.set_parse_math(False)
    axes.set_ylim(len(names) - 0.4, -0.6)
