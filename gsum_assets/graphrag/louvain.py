"""Communities that stay where their edges stay: Louvain in the order of ids (Blondel et al., 2008).

Leiden visits the nodes of a graph in a random order that one more node changes everywhere, so that
an edit of one document moves entities all over the graph. Here the order is that of the ids, and
ties go to the first community. So whatever has the same edges around it is decided alike, and an
edit changes the communities near its edges, and few others: those for which the total weight of the
graph, which modularity compares with, makes the difference.
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

_MOST_SWEEPS = 50  # over all nodes of a level; usually under ten

Edge = tuple[str, str, float]
_Links = Sequence[dict[int, float]]
"""Weights by neighbour, of each node; a node itself has twice the weight of the edges inside it."""


def louvain(edges: Sequence[Edge]) -> list[list[str]]:
    """Return a partition of a graph by modularity: connected sets of nodes, each sorted.

    The result is the same for every order of edges; each pair of nodes has one.
    """
    names = sorted({end for edge in edges for end in edge[:2]})
    index = {name: i for i, name in enumerate(names)}
    links: _Links = [{} for _ in names]
    for source, target, weight in sorted(edges):
        links[index[source]][index[target]] = links[index[target]][index[source]] = weight
    community_of = np.arange(len(names))
    while len(set(moved := _moved(links))) < len(links):
        numbers = {community: i for i, community in enumerate(dict.fromkeys(moved))}
        merged: list[dict[int, float]] = [defaultdict(float) for _ in numbers]
        for node, others in enumerate(links):
            for other, weight in others.items():
                merged[numbers[moved[node]]][numbers[moved[other]]] += weight
        links = merged
        community_of = np.array([numbers[community] for community in moved])[community_of]
    inside = [
        edge for edge in edges if community_of[index[edge[0]]] == community_of[index[edge[1]]]
    ]
    return [members for members, _ in components(names, inside)]


def _moved(links: _Links) -> list[int]:
    """Return the community of each node, after moving each to where modularity gains most."""
    degree = [sum(others.values()) for others in links]
    total = sum(degree)
    community, volume = list(range(len(links))), degree[:]
    for _ in range(_MOST_SWEEPS):
        n_moved = 0
        for node, others in enumerate(links):
            weight_to: dict[int, float] = defaultdict(float)
            for other, weight in others.items():
                if other != node:
                    weight_to[community[other]] += weight
            best = current = community[node]
            volume[current] -= degree[node]
            most = weight_to[current] * total - degree[node] * volume[current]
            for candidate in sorted(weight_to):
                gain = weight_to[candidate] * total - degree[node] * volume[candidate]
                if gain > most:
                    best, most = candidate, gain
            volume[best] += degree[node]
            community[node] = best
            n_moved += best != current
        if not n_moved:
            break
    return community


def components(names: Sequence[str], edges: Sequence[Edge]) -> list[tuple[list[str], list[Edge]]]:
    """Return the nodes and the edges of each connected component, both in order."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    index = {name: i for i, name in enumerate(names)}
    ends = np.array([[index[a], index[b]] for a, b, _ in edges], np.int64).reshape(-1, 2)
    shape = (len(names), len(names))
    joined = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape)
    n, component_of = connected_components(joined, directed=False)
    found: list[tuple[list[str], list[Edge]]] = [([], []) for _ in range(n)]
    for name, component in zip(names, component_of.tolist(), strict=True):
        found[component][0].append(name)
    for edge in edges:
        found[component_of[index[edge[0]]]][1].append(edge)
    return found
