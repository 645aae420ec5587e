"""Layered layout of an acyclic graph (Sugiyama, Tagawa and Toda, 1981)."""

from collections.abc import Mapping, Sequence

import networkx as nx
import numpy as np

_ALONE = 8  # most nodes without an edge in one layer
_SWEEPS = 8  # of the barycentre method, which converges after a few


def layers(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Return layers of nodes by longest path, ordered by the barycentre method against crossings.

    Every edge leads to a later layer. Nodes without incoming edges are in the layer before their
    first successor; nodes without edges fill up the shortest layers.

    Parameters
    ----------
    nodes : all nodes, in the order that breaks ties.
    edges : source and target of each edge; the graph must be acyclic.
    """
    graph = nx.DiGraph(edges)
    layer = {node: i for i, some in enumerate(nx.topological_generations(graph)) for node in some}
    for node in sorted(graph):
        if not graph.in_degree(node):
            layer[node] = min(layer[after] for after in graph.successors(node)) - 1
    node_ids_of: list[list[str]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for node in nodes:
        if node in layer:
            node_ids_of[layer[node]].append(node)
    for sweep in range(_SWEEPS):
        if sweep % 2 == 0:
            _order(node_ids_of, graph.pred)
        else:
            _order(node_ids_of[::-1], graph.succ)
    for node in nodes:
        if node not in layer:
            if min(map(len, node_ids_of), default=_ALONE) >= _ALONE:
                node_ids_of.append([])
            min(node_ids_of, key=len).append(node)
    return node_ids_of


def _order(layers: Sequence[list[str]], neighbours: Mapping[str, Mapping]) -> None:
    """Sort each layer by the mean height of its nodes' `neighbours` in earlier layers."""
    height: dict[str, float] = {}
    for some in layers:
        now = dict(zip(some, heights(len(some)), strict=True))
        for node in some:
            near = [height[other] for other in neighbours[node]]
            now[node] = float(np.mean(near)) if near else now[node]
        some.sort(key=now.__getitem__)
        height |= zip(some, heights(len(some)), strict=True)


def heights(n: int) -> np.ndarray:
    """Return the heights of `n` nodes of a layer, centred at 0, one apart."""
    return np.arange(n) - (n - 1) / 2
