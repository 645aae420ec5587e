"""Layers of a graph without cycles, as it is drawn (Sugiyama, Tagawa and Toda, 1981)."""

from collections.abc import Mapping, Sequence

import networkx as nx
import numpy as np

_ALONE = 8  # nodes without an edge that stand above one another
_SWEEPS = 8  # of the barycentre method: it settles after a few


def layers(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Return nodes by longest path, ordered within a layer so that few edges cross (barycentre method).

    Every edge leads on to a later layer. What no edge leads to stands just before what it leads
    to; nodes without an edge fill up the shortest layers.

    Parameters
    ----------
    nodes : all of them, those first that come first where nothing else decides.
    edges : source and target of each; they close no cycle.
    """
    graph = nx.DiGraph(edges)
    layer = {node: i for i, some in enumerate(nx.topological_generations(graph)) for node in some}
    for node in sorted(graph):
        if not graph.in_degree(node):
            layer[node] = min(layer[after] for after in graph.successors(node)) - 1
    found: list[list[str]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for node in nodes:
        if node in layer:
            found[layer[node]].append(node)
    for sweep in range(_SWEEPS):
        if sweep % 2 == 0:
            _order(found, graph.pred)
        else:
            _order(found[::-1], graph.succ)
    for node in nodes:
        if node not in layer:
            if min(map(len, found), default=_ALONE) >= _ALONE:
                found.append([])
            min(found, key=len).append(node)
    return found


def _order(layers: Sequence[list[str]], neighbours: Mapping[str, Mapping]) -> None:
    """Order each layer by the mean height of what its nodes come from, their `neighbours`."""
    height: dict[str, float] = {}
    for some in layers:
        now = dict(zip(some, heights(len(some)), strict=True))
        for node in some:
            near = [height[other] for other in neighbours[node]]
            now[node] = float(np.mean(near)) if near else now[node]
        some.sort(key=now.__getitem__)
        height |= zip(some, heights(len(some)), strict=True)


def heights(n: int) -> np.ndarray:
    """Return heights of the nodes of a layer, around 0, one apart."""
    return np.arange(n) - (n - 1) / 2
