"""Statistics of the Graph of Records benchmark, on known answers."""

import numpy as np
import pytest

from benchmarks.gor.crossed import difference
from benchmarks.gor.runs import with_nodes_of, with_questions_of
from gsum.statistics import compare
from tests.gor.toy_graphs import toy_graph


def test_compare_equals_compare_methods_for_one_row():
    values, control = np.array([[0.3, 0.9, 0.4, 0.8]]), [0.1, 0.5, 0.5, 0.2]
    found, wanted = difference(values, control), compare(list(values[0]), control)
    assert found == (wanted.difference, wanted.low, wanted.high, wanted.p_value)


def test_interval_covers_both_questions_and_seeds():
    random, n_covered, n_false, n_trials = np.random.default_rng(0), 0, 0, 600
    for _ in range(n_trials):
        seeds = 0.1 * random.standard_normal((5, 1))  # as large as what 100 questions leave
        questions = random.standard_normal((1, 100))
        rest = 0.5 * random.standard_normal((5, 100))
        found = difference(seeds + questions + rest, np.zeros(100))
        n_covered += found.low <= 0 <= found.high
        n_false += found.p_value <= 0.05
    assert 0.93 <= n_covered / n_trials <= 0.98
    assert n_false == n_trials - n_covered


def test_equal_gains_have_zero_width_and_no_gain_is_none():
    control = np.arange(4.0)
    assert difference(np.stack([control + 1, control + 1]), control).p_value == 0
    assert difference(np.stack([control, control]), control) == (0, 0, 0, 1)


def test_trimmed_graph_equals_graph_of_fewer_rounds():
    whole = toy_graph("d", n_chunks=6, n_queries=4)
    cut = with_questions_of(with_nodes_of(whole, 3), 3)
    assert (cut.n_nodes, cut.n_queries) == (9, 3)
    assert cut.edges.max() == 8
    for ranking, before in zip(cut.rankings, whole.rankings, strict=False):
        assert ranking.tolist() == [node for node in before if node < 9]
    same = with_questions_of(with_nodes_of(whole, 9), 9)
    for name in ("features", "edges", "rankings", "sources"):
        np.testing.assert_array_equal(getattr(same, name), getattr(whole, name))


@pytest.mark.parametrize("n_rounds", [0, 1])
def test_trimming_nodes_keeps_questions(n_rounds):
    cut = with_nodes_of(toy_graph("d", n_chunks=6, n_queries=4), n_rounds)
    assert (cut.n_nodes, cut.n_queries) == (6 + n_rounds, 4)
    assert cut.rankings.shape == (4, 6 + n_rounds)
