"""Edges that close no cycle: which are taken, the cycles that others would close, and the order."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from gsum_assets.jerr.acyclic import Acyclic, without_cycles
from gsum_assets.jerr.order import ByLineChunks, Overlapping
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.ranking import Scores

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


def test_no_nodes_and_no_edges():
    assert without_cycles(0, []) == Acyclic([], {}, [])
    assert without_cycles(3, []) == Acyclic([], {}, [0, 1, 2])


# Passages in the order in which nodes point to their line chunks.


def spans(**slices: tuple[str, int, int]) -> pa.Table:
    columns = ("chunk_id", "document_id", "start", "end")
    rows = [dict(zip(columns, (i, *values), strict=True)) for i, values in slices.items()]
    return pa.Table.from_pylist(rows)


def test_passage_belongs_to_the_line_chunk_with_most_overlap() -> None:
    found = Overlapping(
        spans(one=("d", 0, 60), both=("d", 50, 150), equal=("d", 90, 110), other=("e", 0, 10)),
        spans(first=("d", 0, 100), second=("d", 100, 200)),
    ).span_of
    assert found == {"one": "first", "both": "first", "equal": "first"}


def test_line_chunks_rank_first_and_another_retriever_orders_their_passages() -> None:
    class Given:
        def scores(self, questions: Questions) -> Scores:
            return Scores(np.array([[0.1, 0.2, 0.3, 0.9]] * len(questions)), np.zeros((2, 2)))

    collection = Collection(
        ["d", "e"], ["", ""], ["a", "b", "c", "x"], [""] * 4, np.array([0, 3, 4])
    )
    span_of = {"a": "first", "b": "second", "c": "second"}  # x lies in none
    retriever = ByLineChunks(collection, span_of, {"q": ["second", "first"]}, Given())
    found = retriever.scores(Questions(["q", "r"], ["", ""], [None, None]))
    assert found.nodes.tolist() == [
        [1 / 3, 1 / 2, 1, 1 / 4],  # c, b, a, and what nothing points to
        [1 / 4, 1 / 3, 1 / 2, 1],  # as the other retriever has it
    ]
    assert found.documents.tolist() == [[1, 1 / 4], [1 / 2, 1]]
