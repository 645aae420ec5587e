"""The published retrieval and PromptRank: which passages are among the first K, for every K."""

from collections.abc import Mapping
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.graphs.pagerank import WalkGraph
from gsum_assets.lightpal import promptrank, published
from gsum_assets.lightpal.passage_graph import ScopeGraphs
from gsum_assets.lightpal.promptrank import PromptRank
from gsum_assets.lightpal.published import LightPal, interleaved, n_starts
from gsum_assets.retrieval.collection import Collection
from tests.lightpal.toys import Fixed, TableScorer, walk_graph
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
    with patch.object(published, "INITIAL_SHARE", percent / 100):
        found = interleaved(np.array(first), np.array(context), n).tolist()
    for k in range(1, n + 1):
        assert set(found[:k]) == paper_union(first, context, percent, k)


def test_six_passages_known_values():
    # the walk reaches 5 alone; what it does not reach comes in the order of the first list
    graph = walk_graph(6, (0, 5))
    found = LightPal(Fixed(FALLING), ScopeGraphs(graph, graph), 0.2, 1).scores(toy_question("?"))
    assert ranked(found.nodes) == [0, 1, 5, 2, 3, 4]
    assert found.nodes[0, [0, 1, 5]] == pytest.approx([1, 1 / 2, 1 / 3])
    np.testing.assert_array_equal(found.nodes, found.documents)


@pytest.mark.parametrize(("alpha", "third"), [(0.2, 2), (0.8, 3)])
def test_published_restart_is_four_fifths(alpha, third):
    # 0, 1 and 2 lead to 3. Jumping back at 0.8 leaves each of them with 0.28 and 3 with 0.17; at
    # 0.2 it leaves them with 0.19 and 3 with 0.44.
    graph = walk_graph(6, (0, 3), (1, 3), (2, 3))
    method = LightPal(Fixed(FALLING), ScopeGraphs(graph, graph), alpha, k=5)
    assert ranked(method.scores(toy_question("?")).nodes)[:3] == [0, 1, third]


def test_walks_start_at_the_initial_passages_and_reach_others():
    # 30 passages; each of the first 20 leads to one of the last ten, two to each of these
    first = -np.arange(30.0)
    graph = walk_graph(30, *((i, 20 + i % 10) for i in range(20)))
    graphs = ScopeGraphs(graph, graph)

    def others(k: int, published_k: int) -> set[int]:
        method = LightPal(Fixed(first), graphs, 0.2, published_k)
        return set(ranked(method.scores(toy_question("?")).nodes)[:k]) - {*range(20)}

    for k, n_seeds in ((6, 4), (10, 6), (20, 12)):
        assert n_starts(k) == n_seeds
        assert len(others(k, published_k=k)) == min(k - n_seeds, 10)
        assert not others(k, published_k=40)  # 20 seeds: each outranks all that it leads to
    assert n_starts(40) == 20


# PromptRank over a table of what each path is worth.

TEXTS = [*"abcdef"]
COLLECTION = Collection(TEXTS, TEXTS, TEXTS, TEXTS, np.arange(7))
# a, the first passage, leads to d and e; b leads to f, f to c
GRAPH = walk_graph(6, (0, 3), (0, 4), (1, 5), (5, 2))
WORTH = {"a": -4.0, "b": -5.0, "ad": -3.0, "ae": -6.0, "bf": -1.0, "bfc": -0.5}


def read(
    worth: Mapping[str, float] = WORTH,
    graph: WalkGraph = GRAPH,
    share: float = 0.0,
    beam: int = 2,
    hops: int = 2,
) -> tuple[str, list[str]]:
    """Passages as they are ranked, and the paths that were read, one letter a passage."""
    scorer = TableScorer(lambda context, _: worth.get(context.replace("\n\n", ""), -9.0))
    initial = Fixed(-np.arange(6.0))
    # of three passages two are initial ones
    method = PromptRank(COLLECTION, initial, ScopeGraphs(graph, graph), scorer, 3)
    with (
        patch.multiple(promptrank, BEAM=beam, HOPS=hops),
        patch.object(published, "INITIAL_SHARE", share),
    ):
        found = method.scores(toy_question("what?"))
    np.testing.assert_array_equal(found.nodes, found.documents)
    paths = [context.replace("\n\n", "") for context in scorer.contexts]
    assert paths[: len(paths) // 2] == paths[len(paths) // 2 :]  # for chunks, then for documents
    return "".join(TEXTS[i] for i in np.argsort(-found.nodes[0])), paths[: len(paths) // 2]


def test_passage_scores_as_its_best_path():
    # b, f: -1 by b-f; a, d: -3 by a-d; e: -6 by a-e; c is on no path
    assert read() == ("bfadec", ["a", "b", "ad", "ae", "bf"])


def test_more_hops_score_longer_paths():
    assert read(hops=3) == ("bcfade", ["a", "b", "ad", "ae", "bf", "bfc"])


def test_paths_outside_the_beam_are_not_extended():
    assert read(beam=1) == ("adbecf", ["a", "b", "ad", "ae"])  # a is better than b


def test_path_visits_no_passage_twice():
    there_and_back = walk_graph(6, (0, 1), both_ways=True)
    assert read(graph=there_and_back, hops=4)[1] == ["a", "b", "ab", "ba"]


def test_initial_share_is_kept():
    assert read(share=1.0)[0] == "abcdef"
    # K = 1: a; 2: and b, the best by paths; 3: two of the first, and f; 4: and d
    assert read(share=0.6)[0][:4] == "abfc"


def test_path_without_a_score_ranks_last_in_its_hop():
    # b is worth one less than a, -5, and b-f one less than a-e, -7
    assert read({**WORTH, "b": np.nan, "bf": np.nan})[0] == "adbefc"
    assert read(dict.fromkeys(WORTH, np.nan))[0][-1] == "c"


def test_questions_are_scored_after_the_texts_of_the_path():
    pairs = []
    scorer = TableScorer(lambda context, text: pairs.append((context, text)) or -1.0)
    graphs = ScopeGraphs(GRAPH, walk_graph(6))
    method = PromptRank(COLLECTION, Fixed([3, 2, 1, 0, 0, 0]), graphs, scorer, 1)
    method.scores(toy_question("who?"))
    assert pairs == [("a", "who?"), ("a\n\nd", "who?"), ("a\n\ne", "who?"), ("a", "who?")]


@pytest.mark.parametrize("n", [1, 6])
def test_few_passages(n):
    here = Collection(TEXTS[:n], TEXTS[:n], TEXTS[:n], TEXTS[:n], np.arange(n + 1))
    scorer, graph = TableScorer(lambda context, text: -1.0), walk_graph(n)
    found = PromptRank(here, Fixed(np.arange(n)), ScopeGraphs(graph, graph), scorer, 40)
    assert np.argsort(-found.scores(toy_question("?")).nodes[0]).tolist() == [*range(n)][::-1]
