"""Plot of training curves."""

import numpy as np
import pyarrow as pa

from gsum_assets.plots.figure import (
    COLOURS,
    INK,
    Figure,
    as_png,
    axes_at,
    empty_figure,
    new_figure,
    plot_epochs,
)

_CURVES = (
    ("loss", "loss"),
    ("loss_cl", "contrastive part"),
    ("loss_rank", "ranking part"),
    ("entropy", "entropy over nodes, nats"),
    ("learning_rate", "learning rate"),
)


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
    epochs = log["epoch"].to_numpy()
    found = [(log[name].to_numpy().astype(float), label) for name, label in _CURVES]
    curves = [(values, label) for values, label in found if np.nan_to_num(values).any()]
    n_rows = -(-len(curves) // 3)
    figure = new_figure(8.4, 0.55 + 1.95 * n_rows)
    shown = f"{title}: {len(epochs):,} epochs"
    figure.text(0.02, 1 - 0.12 / figure.get_figheight(), shown, va="top", color=INK, fontsize=11)
    for panel, (values, label) in enumerate(curves):
        row, column = divmod(panel, 3)
        box = (0.65 + 2.7 * column, 0.65 + 1.95 * row, 2.0, 1.15)
        axes = axes_at(figure, box, label, "epoch")
        plot_epochs(axes, epochs, values, COLOURS[panel])
        axes.locator_params(axis="x", integer=True, nbins=5)
        axes.locator_params(axis="y", nbins=5)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    return figure
