"""Personalized PageRank: closed forms, networkx, and what does not matter to it."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gsum_assets.graphs.pagerank import WalkGraph, personalized_pagerank


def graph(n_nodes: int, *edges: tuple[int, int, float]) -> WalkGraph:
    rows = np.array(edges, dtype=float).reshape(-1, 3)
    return WalkGraph(n_nodes, rows[:, 0].astype(int), rows[:, 1].astype(int), rows[:, 2])


CYCLE = [(0, 1, 1.0), (1, 2, 1.0), (2, 0, 1.0)]


def test_a_cycle_halves_the_chance_with_every_step():
    # x0 = r + (1 - r) x2, x1 = (1 - r) x0, x2 = (1 - r) x1, with r = 1/2
    found = personalized_pagerank(graph(3, *CYCLE), [0], np.ones(1), 0.5)
    assert found == pytest.approx([4 / 7, 2 / 7, 1 / 7], abs=1e-6)


def test_equal_seeds_of_a_cycle_share_it():
    found = personalized_pagerank(graph(3, *CYCLE), [0, 1, 2], np.ones(3), 0.1)
    assert found == pytest.approx([1 / 3] * 3, abs=1e-6)


def test_seeds_without_edges_keep_the_walk():
    found = personalized_pagerank(graph(4), [1, 3], np.array([3.0, 1.0]), 0.1)
    assert found == pytest.approx([0, 0.75, 0, 0.25])


def test_certain_restart_gives_the_seeds():
    found = personalized_pagerank(graph(3, *CYCLE), [2], np.ones(1), 1.0)
    assert found == pytest.approx([0, 0, 1])


def test_heavier_edges_are_taken_more_often():
    found = personalized_pagerank(graph(3, (0, 1, 3.0), (0, 2, 1.0)), [0], np.ones(1), 0.2)
    assert found[1] == pytest.approx(3 * found[2])


@pytest.mark.parametrize("restart", [0.0, -0.1, 1.5])
def test_a_restart_that_is_no_probability_is_told(restart):
    with pytest.raises(ValueError, match=f"restart = {restart}"):
        personalized_pagerank(graph(3, *CYCLE), [0], np.ones(1), restart)


def test_seeds_without_weight_are_told():
    with pytest.raises(ValueError, match="none of 2 seeds has weight"):
        personalized_pagerank(graph(3, *CYCLE), [0, 1], np.zeros(2), 0.5)


edges = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11), st.floats(0.1, 5)), max_size=40)
seeds = st.dictionaries(st.integers(0, 11), st.floats(0.1, 3), min_size=1)


@settings(deadline=None)
@given(edges, seeds, st.floats(0.05, 0.95))
def test_equal_to_networkx(edges, seeds, restart):
    walked = graph(12, *edges)
    found = personalized_pagerank(walked, list(seeds), np.array(list(seeds.values())), restart)
    other = nx.DiGraph()
    other.add_nodes_from(range(12))
    for source, target, weight in edges:
        before = other.get_edge_data(source, target, {"weight": 0.0})["weight"]
        other.add_edge(source, target, weight=before + weight)
    truth = nx.pagerank(other, 1 - restart, personalization=seeds, tol=1e-12, max_iter=5000)
    assert found == pytest.approx([truth[i] for i in range(12)], abs=1e-6)
    assert found.sum() == pytest.approx(1)


@settings(deadline=None)
@given(edges, st.randoms())
def test_the_order_of_edges_does_not_matter(edges, random):
    shuffled = list(edges)
    random.shuffle(shuffled)
    one, other = (
        personalized_pagerank(graph(12, *rows), [0, 5], np.ones(2), 0.1)
        for rows in (edges, shuffled)
    )
    assert one == pytest.approx(other, abs=1e-12)
