"""A graph of a corpus as arrays, and what is shown of it, which is the same for all kinds.

Nodes with positions, neighbours, a way from one node to others; `graph_kinds.py` makes the graphs.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from gsum_assets.plots.figure import COLOURS, OTHERS
from gsum_assets.serve.layout import positions

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

    def node(self, i: int) -> dict[str, Any]:
        """Return a node as plain values."""
        return {
            "id": self.ids[i],
            "label": self.labels[i],
            "kind": self.kinds[i],
            "group": self.group_labels[self.groups[i]],
            "degree": int(self.degrees[i]),
        }

    def part(self, nodes: np.ndarray) -> "Graph":
        """Return the graph of some nodes, given by their indices, and the edges between them."""
        new = np.full(len(self.ids), -1)
        new[nodes] = np.arange(len(nodes))
        ends = new[self.ends]
        inside = np.flatnonzero((ends >= 0).all(axis=1))

        def of(column: Sequence[Any], rows: np.ndarray = nodes) -> list[Any]:
            return [column[i] for i in rows.tolist()]

        return Graph(
            of(self.ids),
            of(self.labels),
            of(self.kinds),
            self.groups[nodes],
            self.group_labels,
            ends[inside],
            self.weights[inside],
            of(self.relations, inside),
            None if self.chunks is None else of(self.chunks),
        )


def drawn(graph: Graph, most: int) -> dict[str, Any]:
    """Return the nodes with most edges and the edges between them, as plain values for the page."""
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
    x, y = np.round(graph.positions, 2).T.tolist()
    names = ("id", "label", "kind", "group", "size", "x", "y")
    columns = (graph.ids, graph.labels, graph.kinds, graph.groups.tolist(), sizes, x, y)
    relations = list(dict.fromkeys(graph.relations))
    relation = {name: i for i, name in enumerate(relations)}
    counts = np.bincount(graph.groups, minlength=len(graph.group_labels))
    return {
        "nodes": [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)],
        "edges": [
            [*ends, weight, relation[name]]
            for ends, weight, name in zip(
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
    """Return the nodes at most `depth` edges from a node, itself first, then the nearest ones.

    There are at most `most` nodes; of equally near ones those with most edges.
    """
    near = sparse.csgraph.dijkstra(
        graph.adjacency, indices=graph.index[node_id], unweighted=True, limit=depth
    )
    order = np.lexsort((-graph.degrees, near))
    return graph.part(order[: min(most, int(np.isfinite(near).sum()))])


def way(graph: Graph, sources: Collection[int], targets: Collection[int]) -> list[tuple[int, str]]:
    """Return a shortest way from one of the sources to one of the targets; [] if there is none.

    It has nodes, each with the relation of the edge by which it is reached, that of the first is
    ''. Edges are followed in both directions.
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
    return [
        (nodes[0], ""),
        *((node, _relation(graph, earlier, node)) for earlier, node in pairwise(nodes)),
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
