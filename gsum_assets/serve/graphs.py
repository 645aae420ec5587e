"""A graph of a corpus as arrays, and what is shown of it, which is the same for all kinds.

Nodes with positions, neighbours, a way from one node to others; `graph_index.py` makes the graphs.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gsum_assets.plots.figure import COLOURS, OTHERS

GROUPS = (*COLOURS, "#8a6fc0", "#7f9a2b", "#b0573c", "#3f8f8a")
"""Colours of the largest groups; the others share `OTHERS`."""
_SIZES = 2.0, 12.0  # pixels, of the node with fewest and, in a small graph, most edges
_LONG = 4  # letters of a word that says what a question is about


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph in arrays.

    Attributes
    ----------
    ids, labels : of the nodes, `(n,)`.
    kinds : kind of each node, as 'passage', `(n,)`.
    groups : group of each node, by which it is coloured, an index of `group_labels`, int64 `(n,)`.
    ends : source and target of each edge, indices of nodes, int64 `(n_edges, 2)`.
    weights : of the edges, float64 `(n_edges,)`.
    relations : what each edge says, as 'used by', `(n_edges,)`.
    chunks : passages that each node comes from, besides itself, by index of the node.
    """

    ids: Sequence[str]
    labels: Sequence[str]
    kinds: Sequence[str]
    groups: np.ndarray
    group_labels: Sequence[str]
    ends: np.ndarray
    weights: np.ndarray
    relations: Sequence[str]
    chunks: Sequence[Sequence[str]] | None = None

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Index of each node by its id."""
        return {node_id: i for i, node_id in enumerate(self.ids)}

    @cached_property
    def degrees(self) -> np.ndarray:
        """Number of edges at each node, int64 `(n,)`."""
        return np.bincount(self.ends.ravel(), minlength=len(self.ids))

    @cached_property
    def positions(self) -> np.ndarray:
        """Positions of the nodes, `(n, 2)`."""
        return positions(self.ends, self.weights, self.groups)

    @cached_property
    def adjacency(self) -> sparse.csr_matrix:
        """Which nodes are neighbours, in both directions, `(n, n)`."""
        both = np.concatenate([self.ends, self.ends[:, ::-1]]).T
        return sparse.csr_matrix((np.ones(both.shape[1]), both), (len(self.ids),) * 2)

    def part(self, nodes: np.ndarray) -> "Graph":
        """Return the graph of some nodes, given by their indices, and the edges between them."""
        new = np.full(len(self.ids), -1)
        new[nodes] = np.arange(len(nodes))
        ends = new[self.ends]
        inside = np.flatnonzero((ends >= 0).all(axis=1))
        rows: list[int] = nodes.tolist()
        return Graph(
            [self.ids[i] for i in rows],
            [self.labels[i] for i in rows],
            [self.kinds[i] for i in rows],
            self.groups[nodes],
            self.group_labels,
            ends[inside],
            self.weights[inside],
            [self.relations[int(i)] for i in inside],
            None if self.chunks is None else [self.chunks[i] for i in rows],
        )


def drawn(graph: Graph, most: int) -> dict[str, Any]:
    """Return the nodes with most edges and the edges between them, as plain values for the page.

    Parameters
    ----------
    most : nodes at most.
    """
    n, m = len(graph.ids), len(graph.ends)
    if n > most:
        best = np.sort(np.argsort(-graph.degrees, kind="stable")[:most])
        degrees, graph = graph.degrees[best], graph.part(best)
    else:
        degrees = graph.degrees
    least, largest = _SIZES
    largest = float(np.clip(130 / np.sqrt(max(1, n)), 2 * least, largest))
    relative = np.sqrt(degrees / max(6, degrees.max(initial=1)))
    sizes = np.round(least + (largest - least) * relative, 1).tolist()
    at = np.round(graph.positions, 2).tolist()
    relations = list(dict.fromkeys(graph.relations))
    relation = {name: i for i, name in enumerate(relations)}
    counts = np.bincount(graph.groups, minlength=len(graph.group_labels))
    return {
        "nodes": [
            {"id": a, "label": b, "kind": c, "group": d, "size": e, "x": f[0], "y": f[1]}
            for a, b, c, d, e, f in zip(
                graph.ids, graph.labels, graph.kinds, graph.groups.tolist(), sizes, at, strict=True
            )
        ],
        "edges": [
            [a, b, w, relation[name]]
            for (a, b), w, name in zip(
                graph.ends.tolist(),
                np.round(graph.weights, 3).tolist(),
                graph.relations,
                strict=True,
            )
        ],
        "kinds": sorted(set(graph.kinds)),
        "relations": relations,
        "legend": [
            {"group": i, "label": label, "color": _colour(i, label), "count": int(counts[i])}
            for i, label in enumerate(graph.group_labels)
            if counts[i]
        ],
        "total_nodes": n,
        "total_edges": m,
    }


def neighbours(graph: Graph, node_id: str, depth: int, most: int) -> Graph:
    """Return the part of a graph around a node, the node first, then the nearest ones.

    Parameters
    ----------
    depth : edges from the node, at most.
    most : nodes at most; of equally near ones those with most edges.
    """
    near = sparse.csgraph.dijkstra(
        graph.adjacency, indices=graph.index[node_id], unweighted=True, limit=depth
    )
    order = np.lexsort((-graph.degrees, near))
    return graph.part(order[: min(most, int(np.isfinite(near).sum()))])


class Step(NamedTuple):
    """A node on a way, and how the way reaches it; `relation` of the first one is ''."""

    node: int
    relation: str


def way(graph: Graph, sources: Collection[int], targets: Collection[int]) -> list[Step]:
    """Return a shortest way from one of the sources to one of the targets; [] if there is none.

    Edges are followed in both directions.
    """
    if not sources or not targets:
        return []
    far, before, _ = sparse.csgraph.dijkstra(
        graph.adjacency,
        indices=sorted(sources),
        unweighted=True,
        return_predecessors=True,
        min_only=True,
    )
    last = min(sorted(targets), key=far.__getitem__)
    if not np.isfinite(far[last]):
        return []
    nodes = [last]
    while before[nodes[-1]] >= 0:
        nodes.append(int(before[nodes[-1]]))
    nodes.reverse()
    return [Step(nodes[0], "")] + [
        Step(node, _relation(graph, earlier, node)) for earlier, node in pairwise(nodes)
    ]


def holding(graph: Graph, node_id: str) -> list[int]:
    """Return the nodes that are `node_id`, or that come from the passage `node_id`."""
    if node_id in graph.index:
        return [graph.index[node_id]]
    return [i for i, chunks in enumerate(graph.chunks or ()) if node_id in chunks]


def named_in(graph: Graph, question: str, most: int = 8) -> list[int]:
    """Return the nodes whose whole label stands in a question, the longest labels first.

    If there is none, those that share most long words with it.
    """
    words = _words(question)
    text, long = f" {' '.join(words)} ", {word for word in words if len(word) >= _LONG}
    labels = [_words(label) for label in graph.labels]
    whole = {
        i: sum(map(len, label)) for i, label in enumerate(labels) if f" {' '.join(label)} " in text
    }
    shared = whole or {i: len(long & {*label}) for i, label in enumerate(labels)}
    return sorted((i for i in shared if shared[i]), key=lambda i: (-shared[i], i))[:most]


def search(graph: Graph, query: str, most: int) -> list[int]:
    """Return the nodes whose label contains every word of a query, most connected first."""
    words = query.casefold().split()
    found = [
        i
        for i, label in enumerate(graph.labels)
        if words and all(word in label.casefold() for word in words)
    ]
    return sorted(found, key=lambda i: (-int(graph.degrees[i]), i))[:most]


def _words(text: str) -> list[str]:
    return "".join(c if c.isalnum() else " " for c in text.casefold()).split()


def _relation(graph: Graph, first: int, second: int) -> str:
    at = np.flatnonzero((np.sort(graph.ends, axis=1) == sorted((first, second))).all(axis=1))
    return graph.relations[int(at[np.argmax(graph.weights[at])])]


def _colour(group: int, label: str) -> str:
    is_rest = group >= len(GROUPS) or label in ("in no community", "passage not used")
    return OTHERS if is_rest else GROUPS[group]


_EXACT = 300  # nodes up to which all pairs repel one another
_CELLS = 128  # of the grid, along one side
_PADDED = 2 * _CELLS  # so that nodes at one side do not repel those at the other
_MOVES, _STEPS = 600_000, (30, 120)  # of all nodes together; least and most steps
_REPULSION, _GRAVITY = 0.5, 0.2  # against 1, the pull of all edges of a node together
_GOLDEN = np.pi * (3 - np.sqrt(5))  # angle between successive points of a sunflower


def positions(ends: np.ndarray, weights: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return positions of nodes, float64 `(n, 2)`, about the origin, about one node an area of 1.

    Nodes without an edge are in rings around the others. Equal arguments give equal positions.

    Parameters
    ----------
    ends : source and target of each edge, int64 `(n_edges, 2)`.
    weights : weight of each edge, `(n_edges,)`.
    groups : group of each node, int64 `(n,)`; nodes of a group start near to one another.
    """
    n = len(groups)
    degree = np.bincount(ends.ravel(), minlength=n)
    linked, alone = np.flatnonzero(degree), np.flatnonzero(degree == 0)
    placed = np.zeros((n, 2))
    if len(linked):
        index = np.zeros(n, np.int64)
        index[linked] = np.arange(len(linked))
        placed[linked] = _by_forces(index[ends], weights, _start(groups[linked]))
    radius = np.linalg.norm(placed[linked], axis=1).max(initial=0)
    inside = int(np.pi * (radius + 2) ** 2) if len(linked) else 0
    placed[alone] = _sunflower(np.arange(inside, inside + len(alone)))
    return placed


def _sunflower(numbers: np.ndarray) -> np.ndarray:
    """Return the points with these numbers of a spiral with one point in an area of 1."""
    radius, angle = np.sqrt((numbers + 0.5) / np.pi), numbers * _GOLDEN
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)


def _start(groups: np.ndarray) -> np.ndarray:
    """Return positions by group: the largest in the middle, each in a disc as large as it is."""
    _, group, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    largest_first = np.argsort(-sizes, kind="stable")
    before = np.cumsum(sizes[largest_first]) - sizes[largest_first] / 2
    centres = np.empty((len(sizes), 2))
    centres[largest_first] = _sunflower(before)
    order = np.argsort(group, kind="stable")
    within = np.empty(len(groups), np.int64)
    within[order] = np.arange(len(groups)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return 1.5 * centres[group] + _sunflower(within)


def _by_forces(ends: np.ndarray, weights: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return positions after a fixed number of steps that become shorter."""
    n = len(start)
    pull = sparse.coo_matrix((_relative(weights), ends.T), (n, n)).tocsr()
    pull = pull + pull.T
    mass = np.sqrt(np.bincount(ends.ravel(), minlength=n))
    mass *= _REPULSION / mass.mean()
    pull = sparse.diags(1 / np.maximum(np.asarray(pull.sum(axis=1)).ravel(), 1e-9)) @ pull
    repel = _of_pairs if n <= _EXACT else _Grid()
    steps = int(np.clip(_MOVES / n, *_STEPS))
    now = start - start.mean(axis=0)
    for step in range(steps):
        force = repel(now, mass) + (pull @ now - now) - _GRAVITY * now
        length = np.linalg.norm(force, axis=1, keepdims=True)
        longest = 0.1 * np.sqrt(n) * (1 - step / steps) + 0.05
        now = now + force * np.minimum(1, longest / np.maximum(length, 1e-9)) * 0.7
        now -= now.mean(axis=0)
    return now / max(1e-9, np.sqrt(np.pi * np.quantile((now**2).sum(axis=1), 0.9) / n))


def _relative(weights: np.ndarray) -> np.ndarray:
    """Return weights as multiples of their mean, at most 3."""
    return np.minimum(weights / max(float(weights.mean()), 1e-9), 3.0)


def _of_pairs(now: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Return the repulsion of each node by all others, `(n, 2)`."""
    square = (now**2).sum(axis=1)
    by_square = mass / (np.maximum(square[:, None] + square - 2 * now @ now.T, 0) + 0.1)
    return now * by_square.sum(axis=1, keepdims=True) - by_square @ now


class _Grid:
    """The same repulsion, by the mass of the nodes in the cells of a grid."""

    def __init__(self) -> None:
        distance = np.fft.fftfreq(_PADDED, 1 / _PADDED)  # in cells
        square = distance[:, None] ** 2 + distance[None] ** 2 + 0.25
        kernels = distance[:, None] / square, distance[None] / square
        self._spectra = [np.fft.rfft2(kernel) for kernel in kernels]

    def __call__(self, now: np.ndarray, mass: np.ndarray) -> np.ndarray:
        cell = (float(np.ptp(now, axis=0).max()) + 1e-9) / (_CELLS - 2)
        scaled = (now - now.min(axis=0)) / cell
        first = scaled.astype(np.int64)
        part = scaled - first
        corners = [first @ (_PADDED, 1) + x * _PADDED + y for x in (0, 1) for y in (0, 1)]
        left, below = 1 - part.T
        shares = [left * below, left * (1 - below), (1 - left) * below, (1 - left) * (1 - below)]
        masses = np.bincount(
            np.concatenate(corners), np.concatenate(shares) * np.tile(mass, 4), _PADDED**2
        )
        spectrum = np.fft.rfft2(masses.reshape(_PADDED, _PADDED))
        fields = [np.fft.irfft2(spectrum * kernel).ravel() / cell for kernel in self._spectra]
        forces = [
            sum(field[corner] * share for corner, share in zip(corners, shares, strict=True))
            for field in fields
        ]
        return np.stack(forces, 1)
