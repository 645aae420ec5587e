"""Personalized PageRank: closed forms, networkx, a direct solver, what does not matter to it."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_matrix, identity
from scipy.sparse.linalg import spsolve

from gsum_assets.graphs.pagerank import TOLERANCE, WalkGraph, personalized_pagerank


def graph(n_nodes: int, *edges: tuple[int, int, float]) -> WalkGraph:
    rows = np.array(edges, dtype=float).reshape(-1, 3)
    return WalkGraph(n_nodes, rows[:, 0].astype(int), rows[:, 1].astype(int), rows[:, 2])


def both_ways(edges: list[tuple[int, int, float]]) -> list[tuple[int, int, float]]:
    return [*edges, *((target, source, weight) for source, target, weight in edges)]


CYCLE = [(0, 1, 1.0), (1, 2, 1.0), (2, 0, 1.0)]
STAR = both_ways([(0, 1, 3.0), (0, 2, 1.0)])
CENTRE = 0.1 / (1 - 0.81)


@pytest.mark.parametrize(
    ("edges", "seeds", "restart", "expected"),
    [
        # x0 = r + (1 - r) x2, x1 = (1 - r) x0, x2 = (1 - r) x1
        (CYCLE, {0: 1}, 0.5, [4 / 7, 2 / 7, 1 / 7]),
        (CYCLE, {0: 1, 1: 1, 2: 1}, 0.1, [1 / 3] * 3),
        # x0 = r + (1 - r) x1, x1 = (1 - r) x0
        (both_ways([(0, 1, 7.0)]), {0: 1}, 0.2, [1 / 1.8, 0.8 / 1.8]),
        # x0 = (1 - r)(x1 + x2) + r, x1 = (1 - r) 3/4 x0, x2 = (1 - r) 1/4 x0
        (STAR, {0: 1}, 0.1, [CENTRE, 0.675 * CENTRE, 0.225 * CENTRE]),
        ([(0, 1, 3.0), (0, 2, 1.0)], {0: 1}, 0.2, [1 / 1.8, 0.6 / 1.8, 0.2 / 1.8]),
        ([], {1: 3, 3: 1}, 0.1, [0, 0.75, 0, 0.25]),  # seeds without edges keep the walk
        (CYCLE, {2: 1}, 1.0, [0, 0, 1]),
        (both_ways(CYCLE), {2: 1}, 1.0, [0, 0, 1]),
    ],
)
def test_closed_forms(edges, seeds, restart, expected):
    weights = np.array(list(seeds.values()), float)
    found = personalized_pagerank(graph(len(expected), *edges), list(seeds), weights, restart)
    assert found == pytest.approx(expected, abs=1e-9)


def test_equal_reverse_edges_make_a_graph_symmetric():
    assert graph(3, *both_ways(CYCLE)).is_symmetric
    assert graph(3, (0, 1, 1.0), (0, 1, 2.0), (1, 0, 3.0)).is_symmetric
    assert not graph(3, *CYCLE).is_symmetric
    assert not graph(3, (0, 1, 1.0), (1, 0, 2.0)).is_symmetric


@pytest.mark.parametrize("restart", [0.0, -0.1, 1.5])
def test_invalid_restart_raises(restart):
    with pytest.raises(ValueError, match=f"restart = {restart}"):
        personalized_pagerank(graph(3, *CYCLE), [0], np.ones(1), restart)


def test_seeds_without_weight_raise():
    with pytest.raises(ValueError, match="none of 2 seeds has weight"):
        personalized_pagerank(graph(3, *CYCLE), [0, 1], np.zeros(2), 0.5)


edges = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11), st.floats(0.1, 5)), max_size=40)
seeds = st.dictionaries(st.integers(0, 11), st.floats(0.1, 3), min_size=1)


@settings(deadline=None)
@given(edges | edges.map(both_ways), seeds, st.floats(0.02, 0.95), st.randoms())
def test_equals_networkx_in_any_order_of_edges(edges, seeds, restart, random):
    other = nx.DiGraph()
    other.add_nodes_from(range(12))
    for source, target, weight in edges:
        before = other.get_edge_data(source, target, {"weight": 0.0})["weight"]
        other.add_edge(source, target, weight=before + weight)
    scores = nx.pagerank(other, 1 - restart, personalization=seeds, tol=1e-13, max_iter=5000)
    shuffled = random.sample(edges, len(edges))
    weights = np.array(list(seeds.values()))
    found = personalized_pagerank(graph(12, *shuffled), list(seeds), weights, restart)
    assert found == pytest.approx([scores[i] for i in range(12)], abs=1e-8)


N_NODES = 1000


@pytest.mark.parametrize("restart", [0.1, 0.8])
@pytest.mark.parametrize("symmetric", [True, False])
def test_error_stays_within_the_tolerance(symmetric, restart):
    """Five edges a node, some to hubs, weights over four powers of ten, a tenth without edges."""
    random = np.random.default_rng(0)
    pairs = (0.9 * N_NODES * random.random((2, 5 * N_NODES)) ** [[1], [3]]).astype(int)
    weights = 10 ** random.uniform(-2, 2, pairs.shape[1])
    if symmetric:
        pairs, weights = np.hstack([pairs, pairs[::-1]]), np.append(weights, weights)
    walked = WalkGraph(N_NODES, *pairs, weights)
    assert walked.is_symmetric == symmetric
    # by elimination: where walks that die at an end are, over their number
    steps = walked.weights / np.bincount(walked.sources, walked.weights)[walked.sources]
    shape = (N_NODES, N_NODES)
    transitions = csc_matrix((steps, (walked.targets, walked.sources)), shape=shape)
    system = csc_matrix(identity(N_NODES) - (1 - restart) * transitions)
    for n_seeds in (1, 20, N_NODES):
        seeds, weights = random.choice(N_NODES, n_seeds, replace=False), random.random(n_seeds)
        walks = spsolve(system, np.bincount(seeds, weights / weights.sum(), N_NODES))
        found = personalized_pagerank(walked, seeds, weights, restart)
        assert np.abs(found - walks / walks.sum()).max() <= TOLERANCE
