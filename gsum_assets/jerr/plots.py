"""Plot of the graph in layers, with edges from left to right."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.jerr.layers import heights, layers
from gsum_assets.plots.figure import (
    COLOURS,
    INK,
    Axes,
    Figure,
    as_png,
    empty_figure,
    label,
    new_figure,
    plane_at,
    room_for,
    write,
)
from gsum_resources.store.arrow import pc

_MOST_NODES, _MOST_EDGES = 40, 80  # more could not be distinguished
_COLUMN, _ROW = 1.9, 0.62  # inches between layers, and between the nodes of one
_WIDEST, _LOWEST, _HIGHEST = 8.4, 1.4, 6.6  # inches between the outermost nodes
_SIDE, _TOP = 1.15, 0.35  # inches, around them
_NARROWEST = 6.5  # inches, for the heading
_BEND = 0.15  # bend of an edge over several layers, as a share of its length
_LINE = 0.15  # inches, height of a line of text
_SHIFT = (0.0, 0.22, -0.22)  # inches by which layers are raised in turn, for their names
_EDGE, _EDGE_TEXT = "#9fb4c4", "#5f6b76"

_Edge = tuple[str, str]
_Point = tuple[float, float]


class _Layout(NamedTuple):
    """Layout of the graph: `positions` of nodes from the lower left corner, in inches."""

    positions: Mapping[str, _Point]
    step: float
    width: float
    height: float

    def bend(self, edge: _Edge) -> float:
        """Return the bend of an edge; edges over several layers pass around the nodes between."""
        (start, _), (end, _) = (self.positions[node] for node in edge)
        return _BEND if end - start > 1.5 * self.step else 0.0

    def along(self, edge: _Edge) -> Iterator[_Point]:
        """Yield points of an edge, a quadratic Bézier curve, from its middle outward."""
        (x0, y0), (x2, y2) = (self.positions[node] for node in edge)
        bend = self.bend(edge)
        x1, y1 = (x0 + x2) / 2 + bend * (y2 - y0), (y0 + y2) / 2 - bend * (x2 - x0)
        for t in (0.5, 0.4, 0.6, 0.3, 0.7):
            a, b, c = (1 - t) ** 2, 2 * t * (1 - t), t**2
            yield a * x0 + b * x1 + c * x2, a * y0 + b * y1 + c * y2


@dataclass
class _Room:
    """Space for texts, in inches: occupied boxes by centre, width and height."""

    width: float
    height: float
    taken: list[tuple[float, float, float, float]] = field(default_factory=list)

    def take(self, x: float, y: float, width: float, height: float) -> bool:
        """Occupy a box and return True, unless it overlaps another one or leaves the plot."""
        is_inside = width / 2 <= x <= self.width - width / 2 and height / 2 <= y
        if not is_inside or y > self.height - height / 2:
            return False
        if any(
            abs(x - u) < (width + w) / 2 and abs(y - v) < (height + h) / 2
            for u, v, w, h in self.taken
        ):
            return False
        self.taken.append((x, y, width, height))
        return True


@as_png
def graph_picture(nodes: pa.Table, edges: pa.Table, title: str) -> Figure:
    """Plot the 40 most mentioned related nodes, and the 80 heaviest edges.

    Edges lead from left to right; the size of nodes and width of edges grow with the number of
    their synopses. Names and relations are written where there is room.
    """
    if not nodes.num_rows:
        return empty_figure(f"{title}: no node")
    shown = _shown(nodes, edges)
    ids = pa.array(list(shown))
    among = edges.filter(
        pc.and_(*(pc.is_in(edges[end], value_set=ids) for end in ("source_id", "target_id")))
    ).sort_by([("weight", "descending"), ("source_id", "ascending"), ("target_id", "ascending")])
    drawn = {
        (row["source_id"], row["target_id"]): row for row in among.slice(0, _MOST_EDGES).to_pylist()
    }
    layout = _layout(layers(list(shown), list(drawn)))
    counts = (
        f"{len(shown):,} of {nodes.num_rows:,} nodes; {len(drawn):,} of {edges.num_rows:,} edges"
    )
    figure = new_figure(layout.width, layout.height + _TOP, f"{title} ({counts})")
    box = (0, _TOP, layout.width, layout.height)
    axes = plane_at(figure, box, (0, layout.width), (0, layout.height))
    _draw(axes, shown, drawn, layout)
    return figure


def _shown(nodes: pa.Table, edges: pa.Table) -> dict[str, dict[str, Any]]:
    """Return the nodes to show: ends of edges by mentions of the rarer end, then other nodes."""
    ranked = nodes.sort_by([("n_mentions", "descending"), ("node_id", "ascending")])
    known = {
        row["node_id"]: row for row in ranked.select(["node_id", "n_mentions", "name"]).to_pylist()
    }
    place = {node_id: i for i, node_id in enumerate(known)}
    pairs = zip(edges["source_id"].to_pylist(), edges["target_id"].to_pylist(), strict=True)
    best_first = sorted(pairs, key=lambda pair: sorted(map(place.__getitem__, pair), reverse=True))
    chosen = dict.fromkeys(chain(chain.from_iterable(best_first), known))
    return {node_id: known[node_id] for node_id in islice(chosen, _MOST_NODES)}


def _layout(layered: Sequence[Sequence[str]]) -> _Layout:
    """Return the layout: layers from left to right, nodes of a layer in a column."""
    step = min(_COLUMN, _WIDEST / max(1, len(layered) - 1))
    most = max(map(len, layered))
    down = float(np.clip(_ROW * most, _LOWEST, _HIGHEST))
    across = step * (len(layered) - 1)
    width = max(across + 2 * _SIDE, _NARROWEST)
    positions = {
        node: (
            (width - across) / 2 + i * step,
            2 * _LINE + down / 2 - height * down / most + _SHIFT[i % len(_SHIFT)],
        )
        for i, some in enumerate(layered)
        for node, height in zip(some, heights(len(some)), strict=True)
    }
    return _Layout(positions, step, width, down + 4 * _LINE)


def _draw(
    axes: Axes,
    nodes: Mapping[str, Mapping[str, Any]],
    edges: Mapping[_Edge, Mapping[str, Any]],
    layout: _Layout,
) -> None:
    """Draw edges, nodes, their names, and relations where there is room."""
    room, positions = _Room(layout.width, layout.height), layout.positions
    most = max(row["n_mentions"] for row in nodes.values())
    radii = {  # inches
        node: float(np.sqrt(20 + 160 * row["n_mentions"] / max(5, most))) / 2 / 72
        for node, row in nodes.items()
    }
    heaviest = max((row["weight"] for row in edges.values()), default=1)
    for edge, row in edges.items():
        _draw_edge(axes, edge, layout, row["weight"] / heaviest, radii[edge[1]])
    for node in nodes:
        room.taken.append((*positions[node], 2 * radii[node], 2 * radii[node]))
    axes.scatter(
        *zip(*(positions[node] for node in nodes), strict=True),
        s=[(2 * 72 * radii[node]) ** 2 for node in nodes],
        color=COLOURS[0],
        edgecolors="white",
        zorder=2,
    )
    for node, row in nodes.items():
        x, y = positions[node]
        away = radii[node] + 0.6 * _LINE
        if sum(positions[other][1] - y for edge in edges if node in edge for other in edge) > 0:
            away = -away  # its edges come from above
        _write(axes, row["name"], [(x, y + away), (x, y - away)], room, 8, INK)
    for edge, row in edges.items():
        _write(axes, row["relation"], layout.along(edge), room, 7, _EDGE_TEXT)


def _draw_edge(
    axes: Axes, edge: _Edge, layout: _Layout, weight: float, target_radius: float
) -> None:
    """Draw an arrow whose width grows with `weight`, 0 to 1."""
    from matplotlib.patches import FancyArrowPatch

    axes.add_patch(
        FancyArrowPatch(
            *(layout.positions[node] for node in edge),
            connectionstyle=f"arc3,rad={layout.bend(edge)}",
            arrowstyle="-|>",
            mutation_scale=8,
            shrinkA=0,
            shrinkB=target_radius * 72 + 1,
            linewidth=0.6 + 1.8 * weight,
            color=_EDGE,
            zorder=1,
        )
    )


def _write(
    axes: Axes, text: str, positions: Iterable[_Point], room: _Room, size: int, colour: str
) -> None:
    """Write a text at the first position with enough room, if any."""
    width = room_for([text]) * size / 9
    for x, y in positions:
        x = float(np.clip(x, width / 2, max(width / 2, room.width - width / 2)))
        if room.take(x, y, width, _LINE):
            white = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
            write(axes, x, y, label(text), colour, fontsize=size, ha="center", bbox=white)
            return
