"""Plots of auto-encoded passages and their clusters, and of the training loss."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gsum_assets.plots.embedding_map import principal_plane
from gsum_assets.plots.figure import (
    COLOURS,
    FAINT,
    OTHERS,
    STYLES,
    Axes,
    Figure,
    as_png,
    axes_at,
    empty_figure,
    label,
    legend_beside,
    new_figure,
    plane_at,
    plot_epochs,
    room_for,
    write,
    write_outlined,
)
from gsum_assets.plots.network import tsne_layout

_MOST_SHOWN = 2000  # passages: more would take longer than five seconds to lay out
_LEAST_OF_COLOURED = 20  # passages of each coloured cluster that a sample keeps
_STYLES = STYLES[:10]  # of the largest clusters
_N_EXAMPLES = 2  # most central passages listed for a cluster
_PERPLEXITY = 30.0  # effective number of neighbours in t-SNE
_FEWEST_LAID_OUT = 10  # passages: fewer have too few neighbours for t-SNE
_WIDTH, _HEIGHT = 8.8, 7.2  # inches
_PLANE = 5.2  # inches, of either side
_ABOVE = 1.06 * 4 / 72 / _PLANE  # four points, as a share of the plane


class _Clustered(NamedTuple):
    """The passages of a plot.

    Attributes
    ----------
    directions : embeddings scaled to unit length, `(n, dim)`, since the decoder uses products.
    clusters : cluster of each passage, 0 the largest, `(n,)`.
    names : names of the passages, `(n,)`.
    what : plural noun for the passages.
    """

    directions: np.ndarray
    clusters: np.ndarray
    names: Sequence[str]
    what: str

    @property
    def sizes(self) -> np.ndarray:
        """Number of passages of each cluster, `(n_clusters,)`."""
        return np.bincount(self.clusters)

    @property
    def n_coloured(self) -> int:
        """Number of coloured clusters: the largest ones with more than one passage."""
        return min(len(_STYLES), int((self.sizes > 1).sum()))


@as_png
def clusters_picture(
    embeddings: np.ndarray,
    clusters: np.ndarray,
    names: Sequence[str],
    title: str,
    silhouette: float | None = None,
    what: str = "passages",
) -> Figure:
    """Plot passages, laid out by the similarity of embeddings and coloured by cluster.

    The ten largest clusters have a colour, a number, and a legend with their most central passages;
    passages alone in their cluster are the smallest dots. Below, every cluster is a bar as wide as
    its share. Of more than 2,000 passages a sample is shown, with some of every coloured cluster;
    all numbers refer to all passages.

    Parameters
    ----------
    silhouette : silhouette of the clustering, -1 to 1, or None.
    """
    if len(clusters) < 2:
        return empty_figure(f"{title}: fewer than two {what}")
    passages = _Clustered(_directions(embeddings), clusters, names, what)
    shown = _sample(passages)
    sample = f", a sample of {len(shown):,}" if len(shown) < len(clusters) else ""
    figure = new_figure(_WIDTH, _HEIGHT, title + sample)
    facts = _facts(passages, silhouette)
    figure.text(0.01, 1 - 0.5 / _HEIGHT, facts, fontsize=9, color=FAINT, parse_math=False)
    limits = (-0.03, 1.03)
    plane = plane_at(figure, (0.1, 0.6, _PLANE + 0.2, _PLANE), limits, limits)
    _draw_passages(plane, _positions(passages.directions[shown]), shown, passages)
    beside = (_PLANE + 0.55, 0.6, _WIDTH - _PLANE - 0.55, _PLANE)
    _draw_legend(plane_at(figure, beside, (0, 3), (_PLANE, 0)), passages)  # inches downwards
    share = f"share of all {what}, largest clusters first"
    _draw_sizes(axes_at(figure, (0.6, 6.0, _WIDTH - 0.9, 0.65), "", share, "size"), passages)
    return figure


def _directions(embeddings: np.ndarray) -> np.ndarray:
    """Return the embeddings of unit length, float64; those of length 0 stay."""
    lengths = np.linalg.norm(embeddings.astype(np.float64), axis=1, keepdims=True)
    return embeddings / np.where(lengths > 0, lengths, 1)


def _facts(passages: _Clustered, silhouette: float | None) -> str:
    """Return a line with the numbers of passages and clusters, largest share and silhouette."""
    sizes = passages.sizes
    n_alone = int((sizes == 1).sum())
    facts = [
        f"{len(passages.clusters):,} {passages.what}",
        f"{len(sizes):,} clusters" if len(sizes) > 1 else "1 cluster",
        f"the largest has {sizes[0] / sizes.sum():.0%}",
        f"{n_alone:,} alone",
    ]
    if silhouette is not None:
        facts.append(f"silhouette {silhouette:.2f}")
    return ", ".join(facts)


def _sample(passages: _Clustered) -> np.ndarray:
    """Return rows to show, ascending: drawn from all, but some of every coloured cluster."""
    drawn = np.random.default_rng(0).permutation(len(passages.clusters))
    drawn_clusters = passages.clusters[drawn]
    kept = [drawn[drawn_clusters == c][:_LEAST_OF_COLOURED] for c in range(passages.n_coloured)]
    preferred = np.concatenate([*kept, drawn])
    _, first = np.unique(preferred, return_index=True)
    return np.sort(preferred[np.sort(first)[:_MOST_SHOWN]])


def _positions(directions: np.ndarray) -> np.ndarray:
    """Return positions of passages, `(n, 2)` in 0 to 1: t-SNE initialized by PCA.

    If passages are too few or all equal, the positions are those of the PCA.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # sums in another order would give another layout
        positions, _ = principal_plane(directions)
        spread = positions[:, 0].std()
        if len(positions) < _FEWEST_LAID_OUT or spread < 1e-9:
            extent = np.ptp(positions, axis=0)
            return (
                0.5 + (positions - positions.mean(axis=0)) / np.where(extent > 1e-9, extent, 1) / 2
            )
        # without noise, points on a line would stay on it
        noise = np.random.default_rng(0).normal(size=positions.shape)
        start = 1e-4 * positions / spread + 1e-6 * noise
        return tsne_layout(directions, _PERPLEXITY, init=start)


def _draw_passages(
    axes: Axes, positions: np.ndarray, shown: np.ndarray, passages: _Clustered
) -> None:
    """Draw passages alone in a cluster, then small clusters, coloured clusters, and numbers."""
    clusters, n_coloured = passages.clusters[shown], passages.n_coloured
    dot = 30 if len(positions) < 300 else 18 if len(positions) < 1200 else 12
    is_alone = passages.sizes[clusters] == 1
    is_other = (clusters >= n_coloured) & ~is_alone
    axes.scatter(*positions[is_alone].T, s=dot / 4, color=OTHERS, linewidths=0)
    axes.scatter(*positions[is_other].T, s=dot / 2, color=OTHERS, linewidths=0)
    for cluster, (colour, marker) in enumerate(_STYLES[:n_coloured]):
        mine = positions[clusters == cluster]
        size = dot * (1 if marker == "o" else 0.8)
        axes.scatter(
            *mine.T, s=size, color=colour, marker=marker, edgecolors="white", linewidths=0.3
        )
    _number(axes, positions, clusters, n_coloured)


def _number(axes: Axes, positions: np.ndarray, clusters: np.ndarray, n_coloured: int) -> None:
    """Write each coloured cluster's number above its central passage unless it overlaps another."""
    numbered: list[np.ndarray] = []
    for cluster, (colour, _) in enumerate(_STYLES[:n_coloured]):
        mine = positions[clusters == cluster]
        middle = mine[np.linalg.norm(mine - np.median(mine, axis=0), axis=1).argmin()]
        if any(np.abs(middle - other).max() < 0.035 for other in numbered):
            continue
        numbered.append(middle)
        x, y = middle[0], middle[1] + _ABOVE
        write_outlined(axes, x, y, str(cluster), 3, fontsize=11, weight="bold", color=colour)


def _draw_legend(axes: Axes, passages: _Clustered) -> None:
    """Draw a line for each coloured cluster with its central passages, and one for the others."""
    sizes, n_coloured = passages.sizes, passages.n_coloured
    rest = sizes[n_coloured:]
    n_alone, n_others = int((sizes == 1).sum()), int(rest[rest > 1].sum())
    write(axes, 0, 0.1, f"clusters, most central {passages.what}", FAINT)
    y = 0.35
    for cluster, (colour, marker) in enumerate(_STYLES[:n_coloured]):
        axes.scatter(0.07, y, s=34, color=colour, marker=marker, linewidths=0)
        write(axes, 0.2, y, str(cluster), colour, weight="bold")
        write(axes, 0.4, y, f"{sizes[cluster]:,} {passages.what}")
        for example in _examples(passages, cluster):
            y += 0.14
            write(axes, 0.4, y, example, FAINT, fontsize=8)
        y += 0.17
    for n, description, size in ((n_others, "in smaller clusters", 14), (n_alone, "alone", 6)):
        if n:
            axes.scatter(0.07, y, s=size, color=OTHERS, linewidths=0, clip_on=False)
            write(axes, 0.4, y, f"{n:,} {description}")
            y += 0.17


def _examples(passages: _Clustered, cluster: int) -> list[str]:
    """Return the distinct names of the passages nearest to the cluster's mean."""
    mine = np.flatnonzero(passages.clusters == cluster)
    directions = passages.directions[mine]
    nearness = np.round(directions @ directions.mean(axis=0), 9)
    central = mine[np.argsort(-nearness, kind="stable")]
    return list(dict.fromkeys(label(passages.names[int(i)]) for i in central))[:_N_EXAMPLES]


def _draw_sizes(axes: Axes, passages: _Clustered) -> None:
    """Draw a bar for each cluster, largest first: its share as width, its size as height."""
    sizes = passages.sizes
    edges = np.concatenate([[0], np.cumsum(sizes)]) / sizes.sum()
    axes.stairs(sizes, edges, fill=True, color=OTHERS)
    for cluster, (colour, _) in enumerate(_STYLES[: passages.n_coloured]):
        width = edges[cluster + 1] - edges[cluster]
        axes.bar(
            edges[cluster], sizes[cluster], width, align="edge", color=colour, ec="white", lw=0.8
        )
    axes.set(xlim=(0, 1), ylim=(0, sizes[0] * 1.05), xticks=np.linspace(0, 1, 5))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_yticks([0, sizes[0]])


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
