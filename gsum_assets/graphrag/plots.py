"""Plot of the largest communities."""

from collections.abc import Sequence
from textwrap import fill
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.plots.figure import (
    STYLES,
    Axes,
    Figure,
    as_png,
    empty_figure,
    legend_beside,
    new_figure,
    plane_at,
    room_for,
)
from gsum_assets.plots.network import draw_edges, shaded
from gsum_assets.plots.point_labels import label_points
from gsum_resources.store.arrow import pc

_MOST_SHOWN = 15  # entities of each
_COLUMNS = 3  # cells wide enough for names
_FILLED = 0.78  # of a cell's width and height
_WIDTH, _HEIGHT = 6.6, 5.8  # inches, of all cells
_TITLE = 26  # characters of a line
_MOST_LABELS = 36
_BETWEEN, _MOST_BETWEEN = "#d2d2d2", 120  # relationships: more would hide the communities


class _Drawing(NamedTuple):
    """Content of the plot."""

    names: Sequence[str]
    degrees: np.ndarray
    communities: np.ndarray
    weights: np.ndarray


@as_png
def communities_picture(
    communities: pa.Table, entities: pa.Table, relationships: pa.Table, title: str
) -> Figure:
    """Plot the largest communities of level 0 and the relationships between them.

    Each has a cell, a style and its 15 most connected entities, whose size grows with their degree;
    strongly related communities are adjacent. Between communities the 120 heaviest relationships
    are shown; communities of one entity are shown only if there are no others.
    """
    top = communities.filter(pc.equal(communities["level"], 0)).sort_by("number")
    if not top.num_rows:
        return empty_figure(f"{title}: no community")
    several = top.filter(pc.greater(top["size"], 1))
    shown = (several if several.num_rows else top).slice(0, len(STYLES)).to_pylist()
    drawing = _drawing([row["entity_ids"][:_MOST_SHOWN] for row in shown], entities, relationships)
    titles = [
        fill(f"{row['size']:,}: {row['title']}", _TITLE, max_lines=2, placeholder="…")
        for row in shown
    ]
    lines = [line for text in titles for line in text.splitlines()]
    counts = (
        f"{len(shown):,} of {top.num_rows:,}; {len(drawing.names):,} of "
        f"{entities.num_rows:,} entities"
    )
    figure = new_figure(_WIDTH + 0.8 + room_for(lines), _HEIGHT + 0.5, f"{title} ({counts})")
    axes = plane_at(figure, (0.1, 0.4, _WIDTH, _HEIGHT))
    _draw(axes, drawing, _positions(drawing))
    for (colour, marker), text in zip(STYLES, titles, strict=False):
        axes.scatter([], [], s=30, color=colour, marker=marker, label=text)
    legend_beside(axes, "entities: most connected")
    return figure


def _drawing(
    members: Sequence[Sequence[str]], entities: pa.Table, relationships: pa.Table
) -> _Drawing:
    """Return the entities of these communities, and the relationships among them."""
    ids = pa.array([entity_id for some in members for entity_id in some], pa.string())
    rows = entities.take(pc.index_in(ids, value_set=entities["entity_id"].combine_chunks()))
    ends = [pc.index_in(relationships[end], value_set=ids) for end in ("source_id", "target_id")]
    inside = pc.and_(*(pc.is_valid(end) for end in ends))
    source, target = (end.filter(inside).to_numpy() for end in ends)
    weights = np.zeros((len(ids), len(ids)))
    weights[source, target] = relationships["weight"].filter(inside).to_numpy()
    return _Drawing(
        rows["name"].to_pylist(),
        rows["degree"].to_numpy(),
        np.repeat(np.arange(len(members)), [len(some) for some in members]),
        np.maximum(weights, weights.T),
    )


def _positions(drawing: _Drawing) -> np.ndarray:
    """Return positions of entities, `(n, 2)` in 0 to 1, with each community in its cell."""
    n = int(drawing.communities.max()) + 1
    n_columns = min(_COLUMNS, int(np.ceil(np.sqrt(n))))
    n_rows = -(-n // n_columns)
    corners = np.array([(x, n_rows - 1 - y) for y in range(n_rows) for x in range(n_columns)])
    cells = corners[_cells(drawing, corners)]
    positions = np.empty((len(drawing.names), 2))
    for community, cell in enumerate(cells):
        mine = np.flatnonzero(drawing.communities == community)
        inside = _spread(drawing.weights[np.ix_(mine, mine)])
        positions[mine] = cell + 0.5 + _FILLED * (inside - 0.5)
    return positions / (n_columns, n_rows)


def _cells(drawing: _Drawing, corners: np.ndarray) -> np.ndarray:
    """Return a cell per community, `(n_communities,)`, that keeps heavy relationships short."""
    from scipy.optimize import quadratic_assignment

    n = int(drawing.communities.max()) + 1
    member = np.eye(len(corners))[drawing.communities]  # (n_entities, n_cells)
    between = np.sqrt(member.T @ drawing.weights @ member)
    distances = np.linalg.norm(corners[:, None] - corners[None], axis=2)
    found = quadratic_assignment(
        between, distances, options={"shuffle_input": False, "rng": np.random.default_rng(0)}
    )
    return found.col_ind[:n]


def _spread(weights: np.ndarray) -> np.ndarray:
    """Return positions of entities by Kamada and Kawai, `(n, 2)`, scaled to 0 to 1."""
    import networkx as nx
    from scipy.sparse.csgraph import shortest_path

    lengths = shortest_path(weights, unweighted=True)
    apart = np.isinf(lengths)
    lengths[apart] = 1 + lengths[~apart].max()
    graph = nx.from_numpy_array(weights)
    found = nx.kamada_kawai_layout(graph, dist=dict(enumerate(map(dict, map(enumerate, lengths)))))
    positions = np.array([found[i] for i in range(len(weights))])
    extent = np.ptp(positions, axis=0)
    return np.where(
        extent > 0, (positions - positions.min(axis=0)) / np.where(extent > 0, extent, 1), 0.5
    )


def _draw(axes: Axes, drawing: _Drawing, positions: np.ndarray) -> None:
    """Draw relationships, entities whose size grows with their degree, and names of the hubs."""
    styles = [STYLES[community] for community in drawing.communities]
    colours = np.array([colour for colour, _ in styles])
    _draw_relationships(axes, drawing, positions, colours)
    sizes = 8 + 80 * drawing.degrees / max(20, drawing.degrees.max())
    for community, (_, marker) in enumerate(STYLES[: drawing.communities.max() + 1]):
        mine = drawing.communities == community
        axes.scatter(
            *positions[mine].T,
            s=sizes[mine],
            c=colours[mine],
            marker=marker,
            zorder=2,
            linewidths=0.3,
            edgecolors="white",
        )
    rank = np.concatenate([np.arange(n) for n in np.bincount(drawing.communities)])
    label_points(
        axes, drawing.names, positions, np.argsort(rank, kind="stable").tolist(), _MOST_LABELS
    )


def _draw_relationships(
    axes: Axes, drawing: _Drawing, positions: np.ndarray, colours: np.ndarray
) -> None:
    """Draw lines within communities, darker for heavier ones, and the heaviest between them."""
    source, target = np.nonzero(np.triu(drawing.weights))
    if not len(source):
        return
    weights = drawing.weights[source, target]
    within = drawing.communities[source] == drawing.communities[target]
    between = np.flatnonzero(~within)
    heaviest = between[np.argsort(-weights[between], kind="stable")[:_MOST_BETWEEN]]
    ends = np.stack([source, target], 1)
    shades = shaded(colours[source], weights, 0.5)
    draw_edges(axes, positions, ends[heaviest], _BETWEEN, linewidths=0.7, zorder=0)
    draw_edges(axes, positions, ends[within], shades[within], linewidths=0.8)
