"""Communities that stay where their edges stay: Louvain in the order of ids (Blondel et al., 2008).

Leiden visits the nodes of a graph in a random order that one more node changes everywhere, so that
an edit of one document moves entities all over the graph. Here the order is that of the ids, and
ties go to the first community. So whatever has the same edges around it is decided alike, and an
edit changes the communities near its edges, and few others: those for which the total weight of the
graph, which modularity compares with, makes the difference.
"""

from collections import defaultdict
from collections.abc import Sequence

_MOST_SWEEPS = 50  # over all nodes of a level; usually under ten

Edge = tuple[str, str, float]
_Links = list[dict[int, float]]


def louvain(edges: Sequence[Edge], resolution: float) -> list[list[str]]:
    """Return a partition of a graph by modularity: connected sets of nodes, each sorted.

    The result is the same for every order of edges; each pair of nodes has one.
    """
    names = sorted({end for edge in edges for end in edge[:2]})
    index = {name: i for i, name in enumerate(names)}
    links: _Links = [{} for _ in names]
    for source, target, weight in sorted(edges):
        links[index[source]][index[target]] = weight
        links[index[target]][index[source]] = weight
    total = sum(weight for *_, weight in sorted(edges)) * 2
    inside = [0.0] * len(names)  # twice the weight of the edges inside a node of this level
    groups = [[i] for i in range(len(names))]
    while True:
        joined = _moved(links, inside, total, resolution)
        if len(joined) == len(groups):
            break
        groups = [sorted(i for node in nodes for i in groups[node]) for nodes in joined]
        links, inside = _merged(links, inside, joined)
    neighbours: list[list[int]] = [[] for _ in names]
    for source, target, _ in edges:
        neighbours[index[source]].append(index[target])
        neighbours[index[target]].append(index[source])
    return [[names[i] for i in part] for group in groups for part in _connected(group, neighbours)]


def _moved(
    links: _Links, inside: Sequence[float], total: float, resolution: float
) -> list[list[int]]:
    """Return the nodes in communities, after moving each to where modularity gains most.

    Communities are ordered by their first node, so that the next level has an order of ids, too.
    """
    n = len(links)
    degree = [sum(links[i].values()) + inside[i] for i in range(n)]
    community, volume = list(range(n)), degree[:]
    for _ in range(_MOST_SWEEPS):
        n_moved = 0
        for node in range(n):
            current, weight = community[node], defaultdict[int, float](float)
            volume[current] -= degree[node]
            for other, w in links[node].items():
                weight[community[other]] += w
            best = current
            most = weight[best] * total - resolution * degree[node] * volume[best]
            for candidate in sorted(weight):
                gain = weight[candidate] * total - resolution * degree[node] * volume[candidate]
                if gain > most:
                    best, most = candidate, gain
            volume[best] += degree[node]
            community[node] = best
            n_moved += best != current
        if not n_moved:
            break
    nodes_of: dict[int, list[int]] = defaultdict(list)
    for node in range(n):
        nodes_of[community[node]].append(node)
    return list(nodes_of.values())


def _merged(
    links: _Links, inside: Sequence[float], joined: Sequence[Sequence[int]]
) -> tuple[_Links, list[float]]:
    """Return the graph with one node for each community, and the weight inside each."""
    number = {node: i for i, nodes in enumerate(joined) for node in nodes}
    merged: _Links = [{} for _ in joined]
    weights = [sum(inside[node] for node in nodes) for nodes in joined]
    for node, others in enumerate(links):
        group = number[node]
        for other, weight in others.items():
            if number[other] == group:
                weights[group] += weight
            else:
                of_group = merged[group]
                of_group[number[other]] = of_group.get(number[other], 0.0) + weight
    return merged, weights


def _connected(group: Sequence[int], neighbours: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the connected parts of a group, by their first node; Louvain may join others."""
    left, parts = set(group), []
    for first in group:
        if first not in left:
            continue
        left.remove(first)
        part = [first]
        for node in part:
            new = [other for other in neighbours[node] if other in left]
            left.difference_update(new)
            part += dict.fromkeys(new)
        parts.append(sorted(part))
    return parts
