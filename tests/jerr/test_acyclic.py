"""Edges that close no cycle: which are taken, the cycles that others would close, and the order."""

from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gsum_assets.jerr.acyclic import Acyclic, without_cycles

N_NODES = 9
NODES = st.integers(0, N_NODES - 1)
EDGES = st.lists(st.tuples(NODES, NODES), max_size=60)


def taken_edges(edges: list[tuple[int, int]], found: Acyclic) -> list[tuple[int, int]]:
    return [edges[index] for index in found.accepted]


def greedy(n_nodes: int, edges: list[tuple[int, int]]) -> tuple[list[int], dict[int, int]]:
    """Return the kept edges, and for each other edge the length of its shortest cycle."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n_nodes))
    taken, lengths = [], {}
    for index, (source, target) in enumerate(edges):
        if nx.has_path(graph, target, source):
            lengths[index] = 1 + nx.shortest_path_length(graph, target, source)
        else:
            taken.append(index)
            graph.add_edge(source, target)
    return taken, lengths


@given(EDGES)
@example([(1, 0), (2, 1), (3, 2), (0, 3)])
@example([(0, 1), (1, 0), (0, 1), (2, 2)])
def test_edge_is_dropped_only_if_it_closes_a_cycle_of_minimum_length(edges):
    found = without_cycles(N_NODES, edges)
    taken, lengths = greedy(N_NODES, edges)
    assert found.accepted == taken
    assert {index: len(cycle) for index, cycle in found.left_out.items()} == lengths


@given(EDGES)
def test_cycle_consists_of_its_edge_and_earlier_edges(edges):
    found = without_cycles(N_NODES, edges)
    for index, cycle in found.left_out.items():
        before = {edges[other] for other in found.accepted if other < index}
        closing, *way = pairwise([*cycle, cycle[0]])
        assert closing == edges[index]
        assert len(set(cycle)) == len(cycle)
        assert before.issuperset(way)


@given(EDGES)
def test_kept_edges_point_forward_and_ties_use_the_smallest_node(edges):
    found = without_cycles(N_NODES, edges)
    taken = taken_edges(edges, found)
    left, order = set(range(N_NODES)), []
    while left:
        order.append(min(left - {target for source, target in taken if source in left}))
        left.remove(order[-1])
    assert found.order == order


@given(EDGES, st.randoms(use_true_random=False))
def test_acyclic_edges_give_one_order_in_any_input_order(edges, random):
    taken = taken_edges(edges, found := without_cycles(N_NODES, edges))
    again = without_cycles(N_NODES, random.sample(taken, len(taken)))
    assert not again.left_out
    assert again.order == found.order


@given(EDGES.filter(len))
def test_first_edge_is_kept_unless_it_is_a_loop(edges):
    source, target = edges[0]
    assert (without_cycles(N_NODES, edges).left_out.get(0) == [source]) == (source == target)


@pytest.mark.parametrize("is_from_end", [True, False])
@pytest.mark.parametrize("leads_up", [True, False])
def test_chain_grown_at_both_ends_and_its_closing_edge(leads_up, is_from_end):
    n_nodes = 2_500  # more than there are numbers between two levels
    chain = [(i, i + 1) if leads_up else (i + 1, i) for i in range(n_nodes - 1)]
    edges = chain[::-1] if is_from_end else chain
    first, last = (0, n_nodes - 1) if leads_up else (n_nodes - 1, 0)
    found = without_cycles(n_nodes, [*edges, (last, first)])
    way = list(range(n_nodes)) if leads_up else list(range(n_nodes))[::-1]
    assert found.order == way
    assert found.left_out == {n_nodes - 1: [last, *way[:-1]]}


@given(st.randoms(use_true_random=False))
def test_random_larger_graph(random):
    n_nodes = random.randrange(2, 60)
    ends = [random.randrange(n_nodes) for _ in range(random.randrange(400))]
    edges = list(pairwise(ends))
    taken, lengths = greedy(n_nodes, edges)
    found = without_cycles(n_nodes, edges)
    assert found.accepted == taken
    assert {index: len(cycle) for index, cycle in found.left_out.items()} == lengths


def test_no_nodes_and_no_edges():
    assert without_cycles(0, []) == Acyclic([], {}, [])
    assert without_cycles(3, []) == Acyclic([], {}, [0, 1, 2])
