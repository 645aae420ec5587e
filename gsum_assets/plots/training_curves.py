"""Plot of training curves."""

import numpy as np
import pyarrow as pa

from gsum_assets.plots.figure import COLOURS, Figure, new_axes, new_figure

_CURVES = {
    "loss": "loss",
    "loss_cl": "contrastive part",
    "loss_rank": "ranking part",
    "entropy": "entropy over nodes, nats",
    "learning_rate": "learning rate",
}
_COLUMNS, _WIDTH, _HEIGHT = 3, 2.7, 1.95  # panels side by side, and their size in inches


def training_curves(log: pa.Table, title: str) -> Figure | None:
    """Plot loss, its terms, entropy and learning rate by epoch, one panel each.

    `log` has rows of `gor.training_log` of one model, in any order; None is returned if there is
    none. A term that an ablation leaves out (null, or 0 throughout) gets no panel.
    """
    if not log.num_rows:
        return None
    log = log.sort_by("epoch")
    values = {name: log[name].to_numpy().astype(float) for name in _CURVES}
    shown = [name for name in _CURVES if np.nan_to_num(values[name]).any()]
    n_lines = -(-len(shown) // _COLUMNS)
    size = _WIDTH * _COLUMNS, 0.4 + _HEIGHT * n_lines
    figure = new_figure(*size, f"{title}: {log.num_rows:,} epochs")
    for panel, name in enumerate(shown):
        axes = new_axes(figure, (n_lines, _COLUMNS, panel + 1), _CURVES[name], "epoch")
        marker = "o" if log.num_rows < 10 else ""  # a line would hide how few there are
        style = {"color": COLOURS[panel], "linewidth": 1.3, "marker": marker}
        axes.plot(log["epoch"].to_numpy(), values[name], **style)
        axes.locator_params(axis="x", integer=True, nbins=5)
        axes.locator_params(axis="y", nbins=5)
    return figure
