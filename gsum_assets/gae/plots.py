"""Plot of the training loss of the auto-encoder."""

from collections.abc import Sequence

import numpy as np

from gsum_assets.plots.figure import (
    COLOURS,
    Axes,
    Figure,
    as_png,
    axes_at,
    empty_figure,
    legend_beside,
    new_figure,
    plot_epochs,
    room_for,
)


@as_png
def loss_picture(losses: Sequence[float], constant: float, auc: float, title: str) -> Figure:
    """Plot the loss by epoch on a logarithmic scale, beside that of a constant.

    Parameters
    ----------
    constant : least loss of one value for all pairs, which learns nothing from the graph.
    auc : area under the ROC curve of edges, 0 to 1.
    """
    values = np.asarray(losses, float)
    seen = np.append(values[np.isfinite(values) & (values > 0)], constant)
    if len(seen) < 2:
        return empty_figure(f"{title}: no loss yet")
    curves = {
        f"auto-encoder, {values[0]:.3g} to {values[-1]:.3g}": values,
        f"one value for all pairs, {constant:.3g}": np.full(len(values), constant),
    }
    facts = f"{title}: loss of the auto-encoder; AUC of edges {auc:.2f}, by chance 0.50"
    figure = new_figure(6.8 + room_for(curves), 3.0, facts)
    axes = axes_at(figure, (0.7, 0.5, 4.6, 1.95), "", "epoch", "loss")
    for (name, curve), colour in zip(curves.items(), COLOURS, strict=False):
        plot_epochs(axes, np.arange(1, len(curve) + 1), curve, colour, label=f" {name}")
    _scale_losses(axes, float(seen.max() / seen.min()))
    axes.locator_params(axis="x", integer=True, nbins=6)
    legend_beside(axes, "loss")
    return figure


def _scale_losses(axes: Axes, ratio: float) -> None:
    """Set a logarithmic axis with a few round tick values for any ratio of losses."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

    subs = (1,) if ratio > 100 else (1, 2, 5) if ratio > 10 else (1, 1.5, 2, 3, 4, 5, 7)
    near = MaxNLocator(4, steps=[1, 2, 5, 10])
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=subs) if ratio > 2 else near)
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
