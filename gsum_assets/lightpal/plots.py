"""Plots of passage graphs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.lightpal.passage_graph import edges_among
from gsum_assets.plots.figure import (
    COLOURS,
    OTHERS,
    Axes,
    Figure,
    as_png,
    empty_figure,
    label,
    legend_beside,
    new_figure,
    plane_at,
)
from gsum_assets.plots.network import draw_edges, shaded, tsne_layout
from gsum_assets.plots.point_labels import label_points
from gsum_resources.store.arrow import pc

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_MOST_SHOWN = 500  # passages: more could not be distinguished, and take seconds
_FEWEST_DOCUMENTS = 8  # with fewer documents chunks are shown
_MOST_LABELS = 12
_PERPLEXITY = 20.0  # effective number of neighbours in t-SNE
_LIMITS = (-0.02, 1.02)


class _Drawing(NamedTuple):
    """The passages that are shown, heaviest first.

    Attributes
    ----------
    weights : edge weights, symmetric, `(n_shown, n_shown)`.
    communities : community of each passage, 0 the largest, `(n_shown,)`.
    """

    names: Sequence[str]
    weights: "csr_array"
    communities: np.ndarray


@as_png
def passage_graph_picture(edges: pa.Table, chunks: pa.Table, title: str) -> Figure:
    """Plot the graph of `passage_walk`, of documents or, if these are few, of chunks.

    Passages joined by heavy edges are close together and coloured by community (Louvain); their
    size grows with their degree. Of a large graph the passages around its hubs are shown.
    """
    ids, names, what = _passages(chunks)
    weights = _walked(edges, ids, "document" if what == "documents" else "node")
    shown = _around_hubs(weights)
    if not len(shown):
        return empty_figure(f"{title}: no edges")
    weights = weights[shown][:, shown]
    drawing = _Drawing([names[int(i)] for i in shown], weights, _communities(weights))
    n_shown = f"{len(shown):,} of {len(ids):,}" if len(shown) < len(ids) else f"{len(ids):,}"
    counts = f"{n_shown} {what}, {weights.nnz // 2:,} edges, {drawing.communities.max() + 1:,}"
    figure = new_figure(8.4, 5.9, f"{title}: passage graph of {counts} communities")
    axes = plane_at(figure, (0.1, 0.45, 6.7, 5.35), _LIMITS, _LIMITS)
    _draw(axes, drawing, _positions(weights))
    sizes = np.bincount(drawing.communities)
    for size, colour in zip(sizes, COLOURS, strict=False):
        axes.scatter([], [], s=30, color=colour, label=f"{size:,} {what}")
    if len(sizes) > len(COLOURS):
        n_others = sizes[len(COLOURS) :].sum()
        axes.scatter([], [], s=30, color=OTHERS, label=f"{n_others:,} in others")
    legend_beside(axes, "communities")
    return figure


def _passages(chunks: pa.Table) -> tuple[pa.Array, Sequence[str], str]:
    """Return sorted ids, names, and the plural noun of the passages: 'documents' or 'chunks'."""
    documents = pc.unique(chunks["document_id"])
    if len(documents) >= _FEWEST_DOCUMENTS:
        ids = documents.take(pc.sort_indices(documents))
        return ids, [label(name) for name in ids.to_pylist()], "documents"
    named = chunks.select(["chunk_id", "document_id", "position"])  # without the texts
    ordered = named.take(pc.sort_indices(named["chunk_id"]))
    owners, positions = (ordered[column].to_pylist() for column in ("document_id", "position"))
    names = [f"{label(name)} #{position}" for name, position in zip(owners, positions, strict=True)]
    return ordered["chunk_id"].combine_chunks(), names, "chunks"


def _walked(edges: pa.Table, ids: pa.Array, level: str) -> "csr_array":
    """Return the weights of undirected edges between passages, symmetric `(n, n)`."""
    from scipy.sparse import csr_array

    wanted = {"graph": "walk", "level": level, "scope": "corpus"}
    for column, value in wanted.items():
        edges = edges.filter(pc.equal(edges[column], value))
    sources, targets, found = edges_among(edges, ids)
    order = np.lexsort((sources, targets))  # so that sums do not depend on the order of rows
    rows, columns, found = sources[order], targets[order], found[order]
    one_way = csr_array((found, (rows, columns)), (len(ids),) * 2)
    return csr_array(one_way + one_way.T)


def _around_hubs(weights: "csr_array") -> np.ndarray:
    """Return the passages of greatest total weight and those joined to them, heaviest first."""
    walked = weights.sum(axis=1)
    sources, targets = weights.nonzero()
    by_hub = np.lexsort((targets, -walked[targets], sources, -walked[sources]))
    met = np.stack([sources[by_hub], targets[by_hub]], 1).ravel()
    found, first = np.unique(met, return_index=True)
    shown = found[np.argsort(first)][:_MOST_SHOWN]
    return shown[np.lexsort((shown, -walked[shown]))]


def _communities(weights: "csr_array") -> np.ndarray:
    """Return Louvain communities, largest first, `(n,)`."""
    import networkx as nx

    graph = nx.from_scipy_sparse_array(weights)
    found = nx.community.louvain_communities(graph, seed=0)
    communities = np.empty(len(graph), np.int64)
    for position, members in enumerate(sorted(found, key=lambda some: (-len(some), min(some)))):
        communities[list(members)] = position
    return communities


def _positions(weights: "csr_array") -> np.ndarray:
    """Return positions of passages, `(n, 2)` in 0 to 1, close together if joined by heavy edges.

    They are t-SNE of the lengths of shortest paths (Kruiger et al., 2017, "Graph layouts by
    t-SNE"), which separates neighbourhoods better than a force-directed layout.
    """
    from scipy.sparse.csgraph import shortest_path

    lengths = weights.copy()
    lengths.data = 1 / (1 + np.sqrt(weights.data))  # a weight is a square
    distances = shortest_path(lengths)
    apart = np.isinf(distances)
    distances[apart] = 2 * distances[~apart].max()
    return tsne_layout(distances, _PERPLEXITY, metric="precomputed", init="random")


def _draw(axes: Axes, drawing: _Drawing, positions: np.ndarray) -> None:
    """Draw edges, passages whose size grows with their degree, and names of the hubs."""
    degrees = np.diff(drawing.weights.indptr)
    colours = np.array([*COLOURS, OTHERS])[np.minimum(drawing.communities, len(COLOURS))]
    from scipy.sparse import triu

    edges = triu(drawing.weights).tocoo()
    ends = colours[edges.row], colours[edges.col]
    shades = shaded(np.where(ends[0] == ends[1], ends[0], OTHERS), edges.data, 0.6)
    draw_edges(axes, positions, np.stack([edges.row, edges.col], 1), shades, linewidths=0.5)
    sizes = 5 + 75 * degrees / max(20, degrees.max())
    axes.scatter(*positions.T, s=sizes, c=colours, zorder=2, linewidths=0.3, edgecolors="white")
    by_degree = np.argsort(-degrees, kind="stable")
    _, first = np.unique(drawing.communities[by_degree], return_index=True)
    of_coloured = by_degree[first[: len(COLOURS)]]
    wanted = [*of_coloured, *by_degree]
    label_points(axes, drawing.names, positions, wanted, _MOST_LABELS)
