"""An acyclic graph, built edge by edge (3.3): those that would close a cycle are left out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Acyclic:
    """An acyclic subgraph.

    Attributes
    ----------
    accepted : indices of the accepted edges, ascending.
    left_out : index of every other edge, ascending, and the nodes of a shortest cycle that it would
        have closed with edges accepted before it: its source, its target, and so on. The cycle of a
        self-loop is its node.
    order : all nodes in the lexicographically smallest topological order.
    """

    accepted: Sequence[int]
    left_out: Mapping[int, Sequence[int]]
    order: Sequence[int]


def without_cycles(n_nodes: int, edges: Sequence[tuple[int, int]]) -> Acyclic:
    """Accept each edge in turn unless it would close a cycle with those accepted before.

    Parameters
    ----------
    n_nodes : nodes are 0 … n_nodes - 1.
    edges : source and target of each edge, in order of preference.
    """
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from(range(n_nodes))
    accepted: list[int] = []
    left_out: dict[int, list[int]] = {}
    for index, (source, target) in enumerate(edges):
        try:
            way = nx.bidirectional_shortest_path(graph, target, source)
        except nx.NetworkXNoPath:
            accepted.append(index)
            graph.add_edge(source, target)
        else:
            left_out[index] = [source, *way[:-1]]
    return Acyclic(accepted, left_out, list(nx.lexicographical_topological_sort(graph)))
