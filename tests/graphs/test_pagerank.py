"""Personalized PageRank: closed forms, networkx, a direct solver, what does not matter to it."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_matrix, identity
from scipy.sparse.linalg import spsolve
from threadpoolctl import threadpool_limits

from gsum_assets.graphs import pagerank
from gsum_assets.graphs.pagerank import WalkGraph, personalized_pagerank


def graph(n_nodes: int, *edges: tuple[int, int, float]) -> WalkGraph:
    rows = np.array(edges, dtype=float).reshape(-1, 3)
    return WalkGraph(n_nodes, rows[:, 0].astype(int), rows[:, 1].astype(int), rows[:, 2])


def both_ways(edges: list[tuple[int, int, float]]) -> list[tuple[int, int, float]]:
    return [*edges, *((target, source, weight) for source, target, weight in edges)]


CYCLE = [(0, 1, 1.0), (1, 2, 1.0), (2, 0, 1.0)]


def test_cycle_multiplies_probability_by_the_damping():
    # x0 = r + (1 - r) x2, x1 = (1 - r) x0, x2 = (1 - r) x1, with r = 1/2
    found = personalized_pagerank(graph(3, *CYCLE), [0], np.ones(1), 0.5)
    assert found == pytest.approx([4 / 7, 2 / 7, 1 / 7], abs=1e-6)


def test_equal_seeds_share_a_cycle_equally():
    found = personalized_pagerank(graph(3, *CYCLE), [0, 1, 2], np.ones(3), 0.1)
    assert found == pytest.approx([1 / 3] * 3, abs=1e-6)


def test_two_nodes_alternate():
    # x0 = r + (1 - r) x1, x1 = (1 - r) x0
    found = personalized_pagerank(graph(2, *both_ways([(0, 1, 7.0)])), [0], np.ones(1), 0.2)
    assert found == pytest.approx([1 / 1.8, 0.8 / 1.8], abs=1e-6)


def test_star_with_unequal_weights():
    # x0 = (1 - r)(x1 + x2) + r, x1 = (1 - r) 3/4 x0, x2 = (1 - r) 1/4 x0
    star = graph(3, *both_ways([(0, 1, 3.0), (0, 2, 1.0)]))
    centre = 0.1 / (1 - 0.81)
    found = personalized_pagerank(star, [0], np.ones(1), 0.1)
    assert found == pytest.approx([centre, 0.675 * centre, 0.225 * centre], abs=1e-6)


def test_seeds_without_edges_keep_the_walk():
    found = personalized_pagerank(graph(4), [1, 3], np.array([3.0, 1.0]), 0.1)
    assert found == pytest.approx([0, 0.75, 0, 0.25])


@pytest.mark.parametrize("edges", [CYCLE, both_ways(CYCLE)])
def test_restart_of_one_gives_the_seeds(edges):
    found = personalized_pagerank(graph(3, *edges), [2], np.ones(1), 1.0)
    assert found == pytest.approx([0, 0, 1])


def test_heavier_edges_are_taken_more_often():
    found = personalized_pagerank(graph(3, (0, 1, 3.0), (0, 2, 1.0)), [0], np.ones(1), 0.2)
    assert found[1] == pytest.approx(3 * found[2])


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


def of_networkx(edges, seeds, restart):
    """Return the scores of the twelve nodes by networkx."""
    other = nx.DiGraph()
    other.add_nodes_from(range(12))
    for source, target, weight in edges:
        before = other.get_edge_data(source, target, {"weight": 0.0})["weight"]
        other.add_edge(source, target, weight=before + weight)
    scores = nx.pagerank(other, 1 - restart, personalization=seeds, tol=1e-13, max_iter=5000)
    return [scores[i] for i in range(12)]


@settings(deadline=None)
@given(edges | edges.map(both_ways), seeds, st.floats(0.02, 0.95))
def test_equals_networkx(edges, seeds, restart):
    walked = graph(12, *edges)
    found = personalized_pagerank(walked, list(seeds), np.array(list(seeds.values())), restart)
    truth = of_networkx(edges, seeds, restart)
    assert found == pytest.approx(truth, abs=1e-6)
    assert found.sum() == pytest.approx(1, abs=12e-6)


N_NODES = 1000


def drawn(symmetric: bool) -> WalkGraph:
    """Five edges a node, some to hubs, weights over four powers of ten, a tenth without edges."""
    random = np.random.default_rng(0)
    pairs = (0.9 * N_NODES * random.random((2, 5 * N_NODES)) ** [[1], [3]]).astype(int)
    weights = 10 ** random.uniform(-2, 2, pairs.shape[1])
    if symmetric:
        pairs, weights = np.hstack([pairs, pairs[::-1]]), np.append(weights, weights)
    return WalkGraph(N_NODES, *pairs, weights)


def solved(walked: WalkGraph, jumps: np.ndarray, restart: float) -> np.ndarray:
    """By elimination: where walks that die at an end are, over their number."""
    leaving = np.bincount(walked.sources, walked.weights, walked.n_nodes)
    steps = walked.weights / leaving[walked.sources]
    shape = (walked.n_nodes, walked.n_nodes)
    transitions = csc_matrix((steps, (walked.targets, walked.sources)), shape=shape)
    walks = spsolve(csc_matrix(identity(walked.n_nodes) - (1 - restart) * transitions), jumps)
    return walks / walks.sum()


@pytest.mark.parametrize("tolerance", [1e-6, 1e-11])
@pytest.mark.parametrize("restart", [0.1, 0.8])
@pytest.mark.parametrize("symmetric", [True, False])
def test_error_stays_within_the_tolerance(symmetric, restart, tolerance):
    walked, random = drawn(symmetric), np.random.default_rng(1)
    assert walked.is_symmetric == symmetric
    for n_seeds in (1, 20, N_NODES):
        seeds, weights = random.choice(N_NODES, n_seeds, replace=False), random.random(n_seeds)
        jumps = np.bincount(seeds, weights / weights.sum(), N_NODES)
        found = personalized_pagerank(walked, seeds, weights, restart, tolerance)
        assert np.abs(found - solved(walked, jumps, restart)).max() <= tolerance


def test_symmetric_graph_takes_few_steps(monkeypatch):
    walked, weights = drawn(symmetric=True), np.ones(20)
    truth = personalized_pagerank(walked, range(20), weights, 0.1, 1e-11)
    monkeypatch.setattr("gsum_assets.graphs.pagerank._MOST_STEPS", 30)
    found = personalized_pagerank(walked, range(20), weights, 0.1)
    assert found == pytest.approx(truth, abs=1e-6)


@pytest.mark.parametrize("symmetric", [True, False])
def test_thread_count_does_not_matter(symmetric):
    random = np.random.default_rng(0)
    pairs = random.integers(30_000, size=(2, 90_000))
    pairs = np.hstack([pairs, pairs[::-1]]) if symmetric else pairs
    walked = WalkGraph(30_000, *pairs, np.ones(pairs.shape[1]))
    answers = set()
    for threads in (1, 2):
        with threadpool_limits(threads):
            answers.add(personalized_pagerank(walked, range(20), np.ones(20), 0.1).tobytes())
    assert len(answers) == 1


@settings(deadline=None)
@given(edges | edges.map(both_ways), st.randoms())
def test_edge_order_does_not_matter(edges, random):
    shuffled = list(edges)
    random.shuffle(shuffled)
    one, other = (
        personalized_pagerank(graph(12, *rows), [0, 5], np.ones(2), 0.1, 1e-12)
        for rows in (edges, shuffled)
    )
    assert one == pytest.approx(other, abs=1e-11)


@settings(deadline=None)
@given(edges.map(both_ways), seeds, st.floats(0.02, 0.95), st.sampled_from([1e-2, 1e-4]))
def test_pushes_are_below_networkx_by_at_most_their_bound(edges, seeds, restart, tolerance):
    walked = graph(12, *edges)
    jumps = np.zeros(12)
    jumps[walked.positions[list(seeds)]] = list(seeds.values())
    found = pagerank._local_push(walked, jumps / jumps.sum(), restart, tolerance)
    truth = of_networkx(edges, seeds, restart)
    error = np.array(truth) - found[walked.positions]
    with_edges = walked.leaving[walked.n_ends :]
    mean = with_edges.mean() if len(with_edges) else 1.0
    assert (error >= -1e-9).all()
    assert (error <= tolerance * walked.leaving[walked.positions] / mean + 1e-9).all()


def test_a_large_symmetric_graph_is_walked_near_the_seeds(monkeypatch):
    n = 20_000
    path = graph(n, *both_ways([(i, i + 1, 1.0) for i in range(n - 1)]))
    exact = personalized_pagerank(path, [n // 2], np.ones(1), 0.1)
    monkeypatch.setattr(pagerank, "LARGE", n)
    monkeypatch.setattr(WalkGraph, "transitions", None)  # the exact solution reads them
    found = personalized_pagerank(path, [n // 2], np.ones(1), 0.1)
    assert found == pytest.approx(exact, abs=1.1 * pagerank.PUSH_TOLERANCE)
    assert 10 < np.count_nonzero(found) < 100


def test_large_graphs_are_solved_exactly_unless_symmetric_with_few_seeds(monkeypatch):
    monkeypatch.setattr(pagerank, "LARGE", 0)
    monkeypatch.setattr(pagerank, "_local_push", None)
    cycle = [(i, (i + 1) % 2000, 1.0) for i in range(2000)]
    personalized_pagerank(graph(2000, *cycle), [0], np.ones(1), 0.5)
    personalized_pagerank(graph(2000, *both_ways(cycle)), [0, 1, 2], np.ones(3), 0.5)
    with pytest.raises(TypeError):
        personalized_pagerank(graph(2000, *both_ways(cycle)), [0], np.ones(1), 0.5)
