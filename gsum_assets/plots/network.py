"""Parts of plots of graphs and of points laid out by similarity."""

from typing import Any

import numpy as np

from gsum_assets.plots.figure import Axes

_MAX_ITERATIONS, _ANGLE = 500, 0.8  # of t-SNE: a plot takes a second


def tsne_layout(data: np.ndarray, perplexity: float, **how: Any) -> np.ndarray:
    """Return positions by t-SNE, `(n, 2)` in 0 to 1, without wide gaps between distant groups.

    Parameters
    ----------
    data : vectors, or distances if `how` says so, of `n` points.
    perplexity : effective number of neighbours; reduced for few points.
    how : arguments of `sklearn.manifold.TSNE`.
    """
    from sklearn.manifold import TSNE

    n = len(data)
    layout = TSNE(
        perplexity=min(perplexity, (n - 1) / 3),
        max_iter=_MAX_ITERATIONS,
        angle=_ANGLE,
        random_state=0,
        **how,
    )
    positions = layout.fit_transform(data)
    even = positions.argsort(axis=0, kind="stable").argsort(axis=0) / n
    # averaging positions with ranks fills the gaps
    return (even + (positions - positions.min(axis=0)) / np.ptp(positions, axis=0)) / 2


def draw_edges(
    axes: Axes, positions: np.ndarray, ends: np.ndarray, colours: Any, **how: Any
) -> None:
    """Draw straight lines between points."""
    from matplotlib.collections import LineCollection

    axes.add_collection(LineCollection(list(positions[ends]), colors=colours, **how))


def shaded(colours: np.ndarray, weights: np.ndarray, most: float) -> np.ndarray:
    """Return the colours of edges, `(n_edges, 4)`, with more opacity for heavier edges.

    Parameters
    ----------
    most : opacity added for the heaviest tenth, besides 0.3 for all.
    """
    from matplotlib.colors import to_rgba_array

    shades = to_rgba_array(colours)
    shades[:, 3] = 0.3 + most * np.minimum(weights / np.quantile(weights, 0.9), 1)
    return shades
