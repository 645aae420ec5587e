"""Pictures of auto-encoded passages and their clusters, and of how the training went."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gsum_assets.plots.embedding_map import principal_plane
from gsum_assets.plots.figure import (
    COLOURS,
    FAINT,
    INK,
    axes_at,
    heading,
    label,
    legend_beside,
    new_figure,
    nothing_to_show,
    plain,
    room_for,
    to_png,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_SHOWN = 2000  # passages: their layout takes five seconds
_LEAST_OF_COLOURED = 20  # passages of each coloured cluster that a sample keeps
_LOOKS = [(colour, marker) for marker in "oD" for colour in COLOURS][:10]  # of the largest clusters
_OTHERS = "#a9a9a9"
_N_EXAMPLES = 2  # most central passages that stand for a cluster
_PERPLEXITY = 30.0  # neighbours that the layout keeps near
_FEWEST_LAID_OUT = 10  # passages: fewer have too few neighbours for t-SNE
_WIDTH, _HEIGHT = 8.8, 7.2  # inches
_PLANE = 5.2  # inches, of either side


class _Clustered(NamedTuple):
    """The passages of a picture.

    Attributes
    ----------
    directions : embeddings of unit length, `(n, dim)`: the decoder judges by their products.
    clusters : of each passage, 0 the largest, `(n,)`.
    names : `(n,)`.
    what : the plural that passages go by.
    """

    directions: np.ndarray
    clusters: np.ndarray
    names: Sequence[str]
    what: str

    @property
    def sizes(self) -> np.ndarray:
        """Passages of each cluster, `(n_clusters,)`."""
        return np.bincount(self.clusters)

    @property
    def n_coloured(self) -> int:
        """Clusters with a colour: the largest that have more than one passage."""
        return min(len(_LOOKS), int((self.sizes > 1).sum()))


def clusters_picture(
    embeddings: np.ndarray,
    clusters: np.ndarray,
    names: Sequence[str],
    title: str,
    silhouette: float | None = None,
    what: str = "passages",
) -> bytes:
    """Return a PNG of passages in the plane, near each other where embeddings are, coloured by cluster.

    The ten largest clusters have a colour, their number where they lie, and a legend with their
    most central passages; passages alone in their cluster are the smallest dots. Below, every
    cluster is a bar as wide as its share. Of more than 2,000 passages a sample is shown, with
    some of every coloured cluster; all figures are of all passages.

    Parameters
    ----------
    embeddings : finite, `(n, dim)`.
    clusters : of each passage, numbered from 0, largest first, `(n,)`.
    names : of the passages, `(n,)`.
    title : what is shown: corpus and clustering for example.
    silhouette : -1 to 1; None where there is none.
    what : the plural that passages go by: documents, chunks.
    """
    if not len(clusters):
        return nothing_to_show(f"{title}: no {what}")
    passages = _Clustered(_directions(embeddings), clusters, names, what)
    shown = _sample(passages)
    sample = f", a sample of {len(shown):,}" if len(shown) < len(clusters) else ""
    figure = new_figure(_WIDTH, _HEIGHT)
    heading(figure, title + sample)
    facts = _facts(passages, silhouette)
    figure.text(0.01, 1 - 0.5 / _HEIGHT, facts, fontsize=9, color=FAINT, parse_math=False)
    plane = axes_at(figure, 0.1, 0.6, _PLANE + 0.2, _PLANE)
    _draw_passages(plane, _places(passages.directions[shown]), shown, passages)
    beside = _PLANE + 0.55
    _draw_legend(axes_at(figure, beside, 0.6, _WIDTH - beside, _PLANE), passages)
    _draw_sizes(axes_at(figure, 0.6, 6.0, _WIDTH - 0.9, 0.65), passages)
    return to_png(figure)


def _directions(embeddings: np.ndarray) -> np.ndarray:
    """Return the embeddings of unit length, float64; those of length 0 stay."""
    lengths = np.linalg.norm(embeddings.astype(np.float64), axis=1, keepdims=True)
    return embeddings / np.where(lengths > 0, lengths, 1)


def _facts(passages: _Clustered, silhouette: float | None) -> str:
    """Return the number of passages and clusters, share of the largest, silhouette, on one line."""
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


def _places(directions: np.ndarray) -> np.ndarray:
    """Where passages lie, `(n, 2)` between 0 and 1: t-SNE from the plane of widest spread.

    Passages too few, or all equal, lie in that plane itself.
    """
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # sums in another order would give another picture
        places, _ = principal_plane(directions)
        spread = places[:, 0].std()
        if len(places) < _FEWEST_LAID_OUT or spread < 1e-9:
            extent = np.ptp(places, axis=0)
            return 0.5 + (places - places.mean(axis=0)) / np.where(extent > 1e-9, extent, 1) / 2
        noise = np.random.default_rng(0).normal(size=places.shape)  # or a line would stay a line
        layout = TSNE(
            perplexity=min(_PERPLEXITY, (len(places) - 1) / 3),
            init=1e-4 * places / spread + 1e-6 * noise,  # pyright: ignore[reportArgumentType] - or an array
            max_iter=500,
            angle=0.8,
            random_state=0,
        )
        found = layout.fit_transform(directions)
    even = found.argsort(axis=0, kind="stable").argsort(axis=0) / len(found)
    # groups drift far apart: by half their place is their rank, so that paper is used
    return (even + (found - found.min(axis=0)) / np.ptp(found, axis=0)) / 2


def _draw_passages(
    axes: "Axes", places: np.ndarray, shown: np.ndarray, passages: _Clustered
) -> None:
    """Lone passages, then others, then the coloured clusters, and their numbers over them."""
    clusters, n_coloured = passages.clusters[shown], passages.n_coloured
    dot = 30 if len(places) < 300 else 18 if len(places) < 1200 else 12
    is_alone = passages.sizes[clusters] == 1
    is_other = (clusters >= n_coloured) & ~is_alone
    axes.scatter(*places[is_alone].T, s=dot / 4, color=_OTHERS, linewidths=0)
    axes.scatter(*places[is_other].T, s=dot / 2, color=_OTHERS, linewidths=0)
    for cluster, (colour, marker) in enumerate(_LOOKS[:n_coloured]):
        mine = places[clusters == cluster]
        size = dot * (1 if marker == "o" else 0.8)
        axes.scatter(
            *mine.T, s=size, color=colour, marker=marker, edgecolors="white", linewidths=0.3
        )
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    axes.set_axis_off()
    _number(axes, places, clusters, n_coloured)


def _number(axes: "Axes", places: np.ndarray, clusters: np.ndarray, n_coloured: int) -> None:
    """Each coloured cluster's number above its middle passage, where it covers no other number."""
    from matplotlib.patheffects import withStroke

    taken: list[np.ndarray] = []
    for cluster, (colour, _) in enumerate(_LOOKS[:n_coloured]):
        mine = places[clusters == cluster]
        middle = mine[np.linalg.norm(mine - np.median(mine, axis=0), axis=1).argmin()]
        if any(np.abs(middle - other).max() < 0.035 for other in taken):
            continue
        taken.append(middle)
        text = axes.annotate(
            str(cluster),
            middle,
            (0, 4),
            textcoords="offset points",
            fontsize=11,
            weight="bold",
            color=colour,
            ha="center",
        )
        text.set_path_effects([withStroke(linewidth=3, foreground="white")])


def _draw_legend(axes: "Axes", passages: _Clustered) -> None:
    """A line on each coloured cluster and its most central passages, and one on the others."""
    sizes, n_coloured = passages.sizes, passages.n_coloured
    rest = sizes[n_coloured:]
    n_alone, n_others = int((sizes == 1).sum()), int(rest[rest > 1].sum())
    axes.set(xlim=(0, 3), ylim=(_PLANE, 0))  # inches downwards
    axes.set_axis_off()
    _write(axes, 0, 0.1, f"clusters, most central {passages.what}", FAINT)
    y = 0.35
    for cluster, (colour, marker) in enumerate(_LOOKS[:n_coloured]):
        axes.scatter(0.07, y, s=34, color=colour, marker=marker, linewidths=0)
        _write(axes, 0.2, y, str(cluster), colour, weight="bold")
        _write(axes, 0.4, y, f"{sizes[cluster]:,} {passages.what}")
        for example in _examples(passages, cluster):
            y += 0.14
            _write(axes, 0.4, y, example, FAINT, size=8)
        y += 0.17
    for n, told, size in ((n_others, "in smaller clusters", 14), (n_alone, "alone", 6)):
        if n:
            axes.scatter(0.07, y, s=size, color=_OTHERS, linewidths=0, clip_on=False)
            _write(axes, 0.4, y, f"{n:,} {told}")
            y += 0.17


def _write(
    axes: "Axes",
    x: float,
    y: float,
    text: str,
    colour: str = INK,
    size: int = 9,
    weight: str = "normal",
) -> None:
    """Text that begins at x, its middle at y; shown as it is, never as a formula."""
    axes.text(x, y, text, color=colour, fontsize=size, weight=weight, va="center", parse_math=False)


def _examples(passages: _Clustered, cluster: int) -> list[str]:
    """Return distinct names of the passages nearest to their cluster's mean."""
    mine = np.flatnonzero(passages.clusters == cluster)
    directions = passages.directions[mine]
    nearness = np.round(directions @ directions.mean(axis=0), 9)
    central = mine[np.argsort(-nearness, kind="stable")]
    return list(dict.fromkeys(label(passages.names[int(i)]) for i in central))[:_N_EXAMPLES]


def _draw_sizes(axes: "Axes", passages: _Clustered) -> None:
    """Each cluster a bar, largest first: as wide as its share, as high as its size."""
    sizes = passages.sizes
    edges = np.concatenate([[0], np.cumsum(sizes)]) / sizes.sum()
    plain(axes, "", f"share of all {passages.what}, largest clusters first", "size")
    axes.stairs(sizes, edges, fill=True, color=_OTHERS)
    for cluster, (colour, _) in enumerate(_LOOKS[: passages.n_coloured]):
        width = edges[cluster + 1] - edges[cluster]
        axes.bar(
            edges[cluster], sizes[cluster], width, align="edge", color=colour, ec="white", lw=0.8
        )
    axes.set(xlim=(0, 1), ylim=(0, sizes[0] * 1.05), xticks=np.linspace(0, 1, 5))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_yticks([0, sizes[0]])


def loss_picture(losses: Mapping[str, Sequence[float]], title: str) -> bytes:
    """Return a PNG of the loss by epoch on a logarithmic scale, a line for each level.

    Parameters
    ----------
    losses : of each epoch from 1, by name of what was trained.
    title : what is shown, a corpus for example.
    """
    curves = {name: np.asarray(values, float) for name, values in losses.items() if len(values)}
    seen = np.concatenate([np.empty(0), *curves.values()])
    seen = seen[np.isfinite(seen) & (seen > 0)]
    if not len(seen):
        return nothing_to_show(f"{title}: no loss yet")
    figure = new_figure(6.8 + room_for(curves), 3.0)
    heading(figure, f"{title}: loss of the auto-encoder")
    axes = plain(axes_at(figure, 0.7, 0.5, 4.6, 1.95), "", "epoch", "loss")
    for (name, values), colour in zip(curves.items(), COLOURS, strict=False):
        told = f" {label(name)}, {values[0]:.3g} to {values[-1]:.3g}"
        marker = "o" if len(values) < 10 else ""
        epochs = np.arange(1, len(values) + 1)
        axes.plot(epochs, values, color=colour, linewidth=1.3, marker=marker, label=told)
    _scale_losses(axes, float(seen.max() / seen.min()))
    axes.locator_params(axis="x", integer=True, nbins=6)
    legend_beside(axes, "first to last epoch")
    return to_png(figure)


def _scale_losses(axes: "Axes", ratio: float) -> None:
    """A logarithmic axis with a handful of round values, however near the losses are."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

    subs = (1,) if ratio > 100 else (1, 2, 5) if ratio > 10 else (1, 1.5, 2, 3, 4, 5, 7)
    near = MaxNLocator(4, steps=[1, 2, 5, 10])
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=subs) if ratio > 2 else near)
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
