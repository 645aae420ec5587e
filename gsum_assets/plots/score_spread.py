"""Plot of the distribution of one method's scores over the questions."""

import numpy as np
import pyarrow as pa

from gsum_assets.plots.figure import (
    COLOURS,
    FAINT,
    PALE,
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
from gsum_assets.plots.main_metrics import is_share, main_metrics

_MAX_DOTS = 300  # questions drawn for each metric; mean and box are of all questions


@as_png
def score_spread(scores: pa.Table, title: str) -> Figure:
    """Plot a row for each metric: a dot for each question, quartiles and mean.

    Parameters
    ----------
    scores : rows of `scores` of one method; values from 0 to 1.
    """
    metrics = [m for m in main_metrics(scores["metric"].to_pylist()) if is_share(m)]
    if not metrics:
        return empty_figure(f"{title}: no scores")
    names, values = np.array(scores["metric"].to_pylist()), scores["value"].to_numpy()
    found = [values[names == metric] for metric in metrics]
    rows = np.arange(len(metrics))
    height, margin = 0.36 * len(metrics), room_for(metrics)
    figure = new_figure(8, height + 0.95)
    box = (margin, 0.35, 6.6 - margin, height)
    has_boxes = any(len(v) > 1 for v in found)
    meaning = "score of a question; box: the middle half; line: mean"
    axes = axes_at(figure, box, title, meaning if has_boxes else "score of the only question")
    quarters = np.array([np.percentile(v, (25, 75)) for v in found])
    axes.barh(rows, quarters[:, 1] - quarters[:, 0], 0.62, quarters[:, 0], color=PALE)
    shown = [np.sort(v)[:: -(-len(v) // _MAX_DOTS)] for v in found]
    dots = np.concatenate(shown)
    heights = np.concatenate([row + _scattered(len(v)) for row, v in zip(rows, shown, strict=True)])
    axes.scatter(dots, heights, s=12, color=COLOURS[0], alpha=0.55, linewidths=0)
    means = [v.mean() for v in found]
    axes.vlines(means, rows - 0.36, rows + 0.36, color=COLOURS[3], linewidth=2)
    for row, (mean, v) in enumerate(zip(means, found, strict=True)):
        write_beside(axes, 1.02, row, f"{mean:.3f}")
        write_beside(axes, 1.1, row, f"n = {len(v):,}", FAINT)
    axes.set_xlim(-0.02, max(1.02, float(dots.max())))
    grid(axes, "x")
    label_rows(axes, metrics)
    return figure


def _scattered(n: int) -> np.ndarray:
    """Return offsets `(n,)` within ±0.25 that separate neighbours: the golden ratio's multiples."""
    return 0.5 * (np.arange(n) * 0.618034 % 1) - 0.25 if n > 1 else np.zeros(n)
