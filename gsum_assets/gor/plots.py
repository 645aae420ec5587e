"""Plots of Graph of Records: the graph of one document, and training curves."""

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from gsum_assets.plots.figure import (
    COLOURS,
    FAINT,
    INK,
    as_png,
    axes_at,
    empty_figure,
    legend_below,
    new_figure,
    plot_epochs,
)
from gsum_assets.plots.network import draw_edges

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PASSAGE, _RESPONSE = COLOURS[0], COLOURS[1]
_LINE = -1.0  # y of the passages: more than one round below round 1
_CURVES = (
    ("loss", "loss"),
    ("loss_cl", "contrastive part"),
    ("loss_rank", "ranking part"),
    ("entropy", "entropy over nodes, nats"),
    ("learning_rate", "learning rate"),
)


@as_png
def graph_picture(nodes: pa.Table, edges: pa.Table, title: str) -> "Figure":
    """Plot one document's graph of records.

    Passages are on the bottom line by position, responses above it by round, each above the mean of
    the nodes that it used. Marker size grows with the degree; unused passages are hollow.

    Parameters
    ----------
    nodes : rows of `gor.record_nodes` of one document.
    edges : rows of `gor.record_edges`; edges with an end outside of `nodes` are not drawn.
    title : title of the plot, such as the document's name.

    Raises
    ------
    ValueError
        If the nodes belong to several documents.
    """
    documents = sorted(set(nodes["document_id"].to_pylist()))
    if len(documents) > 1:
        raise ValueError(
            f"gor: a plot shows one document, but these nodes are of {len(documents)} (first: "
            f"'{documents[0]}'); filter record_nodes by document_id"
        )
    if not documents:
        return empty_figure(f"{title}: no nodes")
    positions, ends = _layout(nodes, edges)
    is_chunk = np.array(nodes["kind"].to_pylist()) == "chunk"
    degree = nodes["degree"].to_numpy()
    n_unused = int((is_chunk & (degree == 0)).sum())
    counts = (
        f"{is_chunk.sum():,} passages ({n_unused:,} unused), {(~is_chunk).sum():,} responses, "
        f"{len(ends):,} edges"
    )
    figure = new_figure(7.27, 4.6)  # 800 pixels wide
    labels = (f"{title}: {counts}", "position of the passage", "round of the response")
    axes = axes_at(figure, (0.55, 0.35, 6.6, 3.45), *labels)
    for of_chunk, colour in ((True, _PASSAGE), (False, _RESPONSE)):  # that of the node used
        used = ends[is_chunk[ends[:, 0]] == of_chunk]
        draw_edges(axes, positions, used, colour, linewidths=0.5, alpha=0.35)
    _draw_nodes(axes, positions, degree, is_chunk)
    axes.set_yticks([y for y in axes.get_yticks() if y >= 1 and y.is_integer()])
    axes.set_ylim(_LINE - 1, max(1, positions[:, 1].max()) + 1)
    return figure


def _layout(nodes: pa.Table, edges: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Return positions `(n_nodes, 2)` and edges as source and target rows `(n_edges, 2)`."""
    row_of = {node_id: row for row, node_id in enumerate(nodes["node_id"].to_pylist())}
    pairs = zip(edges["source_id"].to_pylist(), edges["target_id"].to_pylist(), strict=True)
    found = [(row_of[a], row_of[b]) for a, b in pairs if a in row_of and b in row_of]
    ends = np.array(sorted(found), np.int64).reshape(-1, 2)
    is_chunk = np.array(nodes["kind"].to_pylist()) == "chunk"
    position = nodes["position"].to_numpy().astype(float)
    middle = position[is_chunk].mean() if is_chunk.any() else 0.0
    positions = np.stack(
        [np.where(is_chunk, position, middle), np.where(is_chunk, _LINE, position)], 1
    )
    for row in sorted(np.flatnonzero(~is_chunk), key=lambda row: position[row]):
        used = ends[ends[:, 1] == row, 0]  # earlier rounds already have their position
        if len(used):
            positions[row, 0] = positions[used, 0].mean()
    return positions, ends


def _draw_nodes(
    axes: "Axes", positions: np.ndarray, degree: np.ndarray, is_chunk: np.ndarray
) -> None:
    """Draw dots whose size grows with the degree, and a legend."""
    kinds = (
        ("passage used", is_chunk & (degree > 0), {"color": _PASSAGE}),
        ("passage unused", is_chunk & (degree == 0), {"facecolor": "white", "edgecolor": FAINT}),
        ("response", ~is_chunk, {"color": _RESPONSE}),
    )
    for name, which, how in kinds:
        if which.any():
            sizes = 10 + 4 * degree[which]
            axes.scatter(*positions[which].T, s=sizes, label=name, zorder=2, linewidths=0.7, **how)
    legend_below(axes, len(kinds))


@as_png
def training_curves(log: pa.Table, title: str) -> "Figure":
    """Plot loss, its terms, entropy and learning rate by epoch, one panel each.

    Parameters
    ----------
    log : rows of `gor.training_log` of one model, in any order. A term that an ablation leaves out
        (null, or 0 throughout) gets no panel.
    title : title of the plot, such as corpus and method.
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
