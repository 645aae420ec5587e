"""Plot of a judge's position bias by criterion, with intervals."""

import pyarrow as pa

from gsum_assets.plots.figure import (
    COLOURS,
    FAINT,
    Axes,
    Figure,
    as_png,
    axes_at,
    empty_figure,
    grid,
    label_rows,
    new_figure,
    room_for,
    write_beside,
)

_MOST = 30  # criteria
_WIDTH, _ROW = 9.0, 0.3  # inches
_COUNTS = 1.9  # inches, width of the text on the right


def position_bias_figure(bias: pa.Table, title: str) -> Figure:
    """Plot how often the answer shown first won, and how often the order changed the winner."""
    rows = bias.slice(0, _MOST).to_pylist()
    if not rows:
        return empty_figure(f"{title}: no verdicts")
    criteria = [row["criterion"] for row in rows]
    margin, height = room_for(criteria), _ROW * len(rows)
    figure = new_figure(_WIDTH, height + 1.25, title)
    width = (_WIDTH - margin - _COUNTS) / 2
    left, right = ((start, 0.7, width - 0.25, height) for start in (margin, margin + width))
    axes = axes_at(figure, left, "shown first and won", "% of decided verdicts; 50: no bias")
    _first_won(axes, rows)
    label_rows(axes, criteria)
    axes = axes_at(figure, right, "winner differs by order", "% of pairs of both orders")
    _disagreement(axes, rows)
    label_rows(axes, criteria, are_shown=False)
    return figure


position_bias = as_png(position_bias_figure)


def _first_won(axes: Axes, rows: list[dict]) -> None:
    """Draw a dot with its interval for each row, in another colour if it excludes 50."""
    axes.axvline(50, color=FAINT, linewidth=1)
    for i, row in enumerate(rows):
        if row["first_won"] is None:
            continue
        is_biased = not row["low"] <= 0.5 <= row["high"]
        colour = COLOURS[3] if is_biased else COLOURS[0]
        axes.hlines(i, 100 * row["low"], 100 * row["high"], color=colour, linewidth=1.6)
        axes.plot(100 * row["first_won"], i, "o", color=colour, markersize=5)
    _percent(axes)


def _disagreement(axes: Axes, rows: list[dict]) -> None:
    """Draw a bar for each row, with counts beside it."""
    shares = [100 * (row["disagreement"] or 0.0) for row in rows]
    axes.barh(range(len(rows)), shares, 0.55, color=COLOURS[0])
    for i, row in enumerate(rows):
        counts = f"n = {row['n_both_orders']:,}, unparsed {row['unparsed']:,}"
        write_beside(axes, 1.04, i, counts, FAINT)
    _percent(axes)


def _percent(axes: Axes) -> None:
    axes.set_xlim(-2, 102)
    axes.set_xticks([0, 25, 50, 75, 100])
    grid(axes, "x")
