"""Plot of training curves."""

import numpy as np
import pyarrow as pa

from gsum_assets.plots.figure import (
    COLOURS,
    Figure,
    as_png,
    axes_at,
    empty_figure,
    new_figure,
    plot_epochs,
)

_CURVES = {
    "loss": "loss",
    "loss_cl": "contrastive part",
    "loss_rank": "ranking part",
    "entropy": "entropy over nodes, nats",
    "learning_rate": "learning rate",
}
_COLUMNS, _WIDTH, _HEIGHT = 3, 2.7, 1.95  # panels side by side, and their size in inches


@as_png
def training_curves(log: pa.Table, title: str) -> Figure:
    """Plot loss, its terms, entropy and learning rate by epoch, one panel each.

    Parameters
    ----------
    log : rows of `gor.training_log` of one model, in any order. A term that an ablation leaves out
        (null, or 0 throughout) gets no panel.
    """
    if log.num_rows == 0:
        return empty_figure(f"{title}: no epochs yet")
    log = log.sort_by("epoch")
    values = {name: log[name].to_numpy().astype(float) for name in _CURVES}
    shown = [name for name in _CURVES if np.nan_to_num(values[name]).any()]
    height = 0.55 + _HEIGHT * -(-len(shown) // _COLUMNS)
    figure = new_figure(_WIDTH * _COLUMNS + 0.3, height, f"{title}: {log.num_rows:,} epochs")
    for panel, name in enumerate(shown):
        row, column = divmod(panel, _COLUMNS)
        box = (0.65 + _WIDTH * column, 0.65 + _HEIGHT * row, 2.0, 1.15)
        axes = axes_at(figure, box, _CURVES[name], "epoch")
        plot_epochs(axes, log["epoch"].to_numpy(), values[name], COLOURS[panel])
        axes.locator_params(axis="x", integer=True, nbins=5)
        axes.locator_params(axis="y", nbins=5)
    return figure
