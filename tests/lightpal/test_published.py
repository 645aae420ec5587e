"""The published retrieval: which passages are among the first K, for every K."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.lightpal.passage_graph import ScopeGraphs
from gsum_assets.lightpal.published import LightPal, interleaved, n_starts, with_context
from gsum_assets.lightpal.settings import RetrievalSettings
from gsum_assets.retrieval.ranking import DEPTH
from tests.lightpal.toys import Fixed, walk_graph
from tests.retrieval.toys import toy_question

FALLING = -np.arange(6.0)  # scores of a retriever that prefers passage 0, then 1, …


def ranked(scores: np.ndarray) -> list[int]:
    """The passages of the one question that have a rank, best first."""
    return [int(i) for i in np.argsort(-scores[0], kind="stable") if scores[0, i] > 0]


def paper_union(first: list[int], context: list[int], percent: int, k: int) -> set[int]:
    """The best `percent` of K of the first list, rounded up, and the best others."""
    head = first[: -(-percent * k // 100)]
    return {*head, *[item for item in context if item not in head][: k - len(head)]}


orders = st.integers(1, 25).flatmap(
    lambda n: st.tuples(st.permutations(range(n)), st.permutations(range(n)))
)


@given(orders, st.sampled_from([0, 10, 33, 50, 60, 75, 100]))
def test_first_k_equal_the_paper_for_every_k(lists, percent):
    first, context = lists
    n = len(first)
    found = interleaved(np.array(first), np.array(context), percent / 100, n).tolist()
    for k in range(1, n + 1):
        assert set(found[:k]) == paper_union(first, context, percent, k)


def test_context_passage_in_the_first_list_makes_room_for_another():
    found = interleaved(np.array([0, 1, 2, 3]), np.array([1, 3, 2, 0]), 0.5, 4)
    assert found.tolist() == [0, 1, 3, 2]  # at K = 3 the halves are {0, 1} and {3}


def test_six_passages_known_values():
    # the walk reaches 5 alone; what it does not reach comes in the order of the first list
    graph = walk_graph(6, (0, 5))
    settings = RetrievalSettings(n_teleport=1)
    found = LightPal(Fixed(FALLING), ScopeGraphs(graph, graph), settings, 6).scores(
        toy_question("?")
    )
    assert ranked(found.nodes) == [0, 1, 5, 2, 3, 4]
    assert found.nodes[0, [0, 1, 5]] == pytest.approx([1, 1 / 2, 1 / 3])
    np.testing.assert_array_equal(found.nodes, found.documents)


@pytest.mark.parametrize(("alpha", "second"), [(0.2, 1), (0.8, 3)])
def test_published_restart_is_four_fifths(alpha, second):
    # 0, 1 and 2 lead to 3. Jumping back at 0.8 leaves each of them with 0.28 and 3 with 0.17; at
    # 0.2 it leaves them with 0.19 and 3 with 0.44.
    graph = walk_graph(6, (0, 3), (1, 3), (2, 3))
    settings = RetrievalSettings(n_teleport=3, alpha=alpha, initial_share=0.25)
    found = LightPal(Fixed(FALLING), ScopeGraphs(graph, graph), settings, 12).scores(
        toy_question("?")
    )
    assert ranked(found.nodes)[:2] == [0, second]
    assert RetrievalSettings().alpha == 0.2


def test_walks_start_at_the_initial_passages_and_reach_others():
    # 30 passages; each of the first 20 leads to one of the last ten, two to each of these
    first = -np.arange(30.0)
    graph = walk_graph(30, *((i, 20 + i % 10) for i in range(20)))
    graphs = ScopeGraphs(graph, graph)

    def others(k: int, published_k: int) -> set[int]:
        method = LightPal(Fixed(first), graphs, RetrievalSettings(), published_k)
        return set(ranked(method.scores(toy_question("?")).nodes)[:k]) - {*range(20)}

    for k, n_seeds in ((6, 4), (10, 6), (20, 12)):
        assert n_starts(20, 0.6, k) == n_seeds
        assert len(others(k, published_k=k)) == min(k - n_seeds, 10)
        assert not others(k, published_k=40)  # 20 seeds: each outranks all that it leads to
    assert n_starts(20, 0.6, 40) == 20
    assert n_starts(20, 0.0, 10) == 1


def test_unreached_passages_follow_in_the_initial_order():
    rising = np.arange(6.0)
    graph = walk_graph(6, (5, 1))
    settings = RetrievalSettings(n_teleport=1, initial_share=0.5)
    found = LightPal(Fixed(rising), ScopeGraphs(graph, graph), settings, 6).scores(
        toy_question("?")
    )
    assert ranked(found.nodes) == [5, 1, 4, 3, 2, 0]


def test_initial_share_of_one_equals_the_initial_retriever():
    random = np.random.default_rng(0)
    first = random.random((3, 40))
    found = with_context(first, lambda question, order: random.random(40), 1.0)
    np.testing.assert_array_equal(np.argsort(-found), np.argsort(-first))


def test_scores_end_at_the_ranking_depth():
    first = np.random.default_rng(0).random((2, DEPTH + 50))
    found = with_context(first, lambda question, order: first[question], 0.6)
    assert (np.count_nonzero(found, axis=1) == DEPTH).all()
    np.testing.assert_allclose(
        np.sort(found)[:, : -DEPTH - 1 : -1], [1 / np.arange(1, DEPTH + 1)] * 2
    )


def test_context_is_computed_for_each_question():
    calls = []

    def context(question: int, order: np.ndarray) -> np.ndarray:
        calls.append((question, order.tolist()))
        return np.zeros(3)

    with_context(np.array([[1, 2, 3], [3, 3, 4]]), context, 0.6)
    assert calls == [(0, [2, 1, 0]), (1, [2, 0, 1])]
