"""Layers: every edge leads on, and simple graphs are drawn without crossings."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.jerr.layers import heights, layers

NODES = [f"n{i}" for i in range(12)]
PAIRS = st.lists(st.sampled_from(list(combinations(NODES, 2))), unique=True, max_size=30)


@given(PAIRS)
def test_each_node_has_one_position_and_edges_point_to_later_layers(edges):
    found = layers(NODES, edges)
    assert sorted(node for some in found for node in some) == sorted(NODES)
    assert all(found)
    layer = {node: i for i, some in enumerate(found) for node in some}
    assert all(layer[source] < layer[target] for source, target in edges)


@given(PAIRS, st.randoms(use_true_random=False))
def test_edge_order_does_not_matter(edges, random):
    assert layers(NODES, random.sample(edges, len(edges))) == layers(NODES, edges)


def test_parallel_edges_do_not_cross():
    edges = [("a", "z"), ("b", "y"), ("c", "x")]
    assert layers(list("abcxyz"), edges) == [["a", "b", "c"], ["z", "y", "x"]]


def test_node_without_predecessors_stands_just_before_its_successors():
    assert layers(list("abcd"), [("a", "b"), ("b", "c"), ("d", "c")]) == [["a"], ["b", "d"], ["c"]]


def test_isolated_nodes_fill_the_shortest_layers():
    assert layers(list("abcde"), [("a", "c"), ("b", "c")]) == [["a", "b", "e"], ["c", "d"]]
    assert [len(some) for some in layers(NODES, [])] == [8, 4]


def test_heights_are_centred_at_0_with_unit_distance():
    assert heights(3).tolist() == [-1, 0, 1]
    assert heights(2).tolist() == [-0.5, 0.5]
