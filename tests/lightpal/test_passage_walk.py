"""`passage_walk` between its seeds and its walk."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.graphs.pagerank import personalized_pagerank
from gsum_assets.lightpal.passage_graph import ScopeGraphs
from gsum_assets.lightpal.passage_walk import PassageWalk, peaked, walk_from, walked
from gsum_assets.lightpal.settings import WalkSettings
from gsum_assets.retrieval.hybrid import min_max
from tests.lightpal.toys import Fixed, walk_graph
from tests.retrieval.toys import toy_question

# 0 is the best seed and leads to 3, which no seed names; 1 and 2 are seeds, too
GRAPH = walk_graph(6, (0, 3), (1, 2), both_ways=True)
SEEDS = np.array([[1.0, 0.5, 0.4, 0.0, 0.0, 0.0]])
WHOLE = WalkSettings(most_trust=1.0)


def order(scores: np.ndarray) -> list[int]:
    return np.argsort(-scores[0], kind="stable").tolist()


def test_walk_known_values():
    # All jumps go to 0: x0 = r + (1 - r) x3, x3 = (1 - r) x0
    found = walk_from(GRAPH, SEEDS[0], WalkSettings(n_teleport=1, restart=0.2))
    assert found == pytest.approx([1 / 1.8, 0, 0, 0.8 / 1.8, 0, 0], abs=2e-6)


@given(st.lists(st.floats(-3, 3), min_size=6, max_size=6))
def test_zero_trust_gives_the_order_of_the_seeds(scores):
    seeds = np.array([scores])
    np.testing.assert_array_equal(walked(GRAPH, seeds, 0.0, WHOLE), min_max(seeds))


def test_full_trust_gives_the_order_of_the_walk():
    found = walked(GRAPH, SEEDS, 1.0, WHOLE)
    walk = walk_from(GRAPH, SEEDS[0], WHOLE)
    assert found[0] == pytest.approx(walk / walk.max())
    assert order(found)[:4] == [0, 3, 1, 2]


def test_passage_reached_only_by_the_graph_is_found():
    assert order(walked(GRAPH, SEEDS, 1.0, WalkSettings()))[1] == 3
    assert order(walked(GRAPH, SEEDS, 0.0, WalkSettings()))[:3] == [0, 1, 2]


def test_trust_weights_the_walk():
    settings = WalkSettings(most_trust=0.8)
    walk = walk_from(GRAPH, SEEDS[0], settings)
    found = walked(GRAPH, SEEDS, 0.5, settings)
    assert found[0] == pytest.approx(0.6 * SEEDS[0] + 0.4 * walk / walk.max())


def test_restarts_favour_the_best_seeds_by_power():
    settings = WalkSettings(n_teleport=3, power=2.0, restart=0.3)
    expected = personalized_pagerank(GRAPH, [0, 1, 2], np.array([1, 1 / 36, 0]), 0.3)
    assert walk_from(GRAPH, SEEDS[0], settings) == pytest.approx(expected, abs=2e-6)


def test_each_level_has_its_own_trust_and_graph():
    other = walk_graph(6, (0, 5), both_ways=True)
    for trust, expected in (((1.0, 0.0), ([0, 3], [0, 1])), ((0.0, 1.0), ([0, 1], [0, 5]))):
        walk = PassageWalk(Fixed(SEEDS[0]), ScopeGraphs(GRAPH, other), trust, WalkSettings())
        found = walk.scores(toy_question("?"))
        assert (order(found.nodes)[:2], order(found.documents)[:2]) == expected


def test_graph_without_edges_keeps_the_seed_order():
    found = walked(walk_graph(6), SEEDS, 1.0, WalkSettings())
    assert order(found) == order(SEEDS)


def test_equal_seeds_and_no_questions():
    assert np.isfinite(walked(GRAPH, np.zeros((1, 6)), 1.0, WHOLE)).all()
    assert walked(GRAPH, SEEDS[:0], 1.0, WHOLE).shape == (0, 6)


def test_power_sharpens_the_restarts():
    scores = np.array([0.1, 0.9, 0.5, 0.3])
    best, weights = peaked(scores, 3, 2.0)  # 0.9, 0.5, 0.3 scaled: 1, 1/3, 0
    assert best.tolist() == [1, 2, 3]
    assert weights == pytest.approx([1, 1 / 9, 0])
    assert peaked(scores, 3, 0.0)[1] == pytest.approx([1, 1, 1])
    assert peaked(scores, 100, 1.0)[1] == pytest.approx([1, 1 / 2, 1 / 4, 0])


@pytest.mark.parametrize("n", [1, 3])
def test_equal_scores_restart_equally(n):
    best, weights = peaked(np.full(3, 0.5, np.float32), n, 3.0)
    assert best.tolist() == [*range(n)]
    assert weights.tolist() == [1.0] * n
