"""Features of a toy document whose values are known by hand."""

import math

import numpy as np
import pytest

from gsum_assets.evidence.features import (
    GRAPH,
    OWN,
    Question,
    around,
    forms,
    graph_features,
    named,
    own_features,
    signals,
    smooth,
    walk_from,
)
from gsum_assets.evidence.scope import FURTHEST, Scope, ScopeIndex
from gsum_assets.evidence.sentence_index import SentenceIndex
from tests.evidence.toys import axis, index_of, random_units, sentences

TEXTS = {"a": ["apple tree", "apple pear", "plum"], "b": ["pear"]}
VECTORS = np.stack([axis(1, 0), axis(0, 1), axis(1, 1), axis(-1, 0)])
SPOKEN = sentences(
    [("a-00000", 0, "Marit Olsen", 3), ("a-00000", 1, "Teo", 1), ("a-00001", 0, "Teo", 2)],
    [axis(1, 0), axis(0, 1), axis(0, 1)],
)
QUESTION = Question("What did Olsen say about apples?", frozenset({"appl", "plum"}), axis(1, 0))


@pytest.fixture
def index() -> ScopeIndex:
    return index_of(TEXTS, VECTORS, SPOKEN)


def column(scope: Scope, name: str) -> list[float]:
    bm25, having = np.zeros(len(scope)), np.zeros((2, len(scope)), bool)
    features = own_features(scope, QUESTION, signals(scope, QUESTION, bm25, having))
    assert features.shape == (len(scope), len(OWN))
    return features[:, OWN.index(name)].round(5).tolist()


def test_speech_has_a_speaker_in_a_quarter_of_its_sentences() -> None:
    for speakers, expected in (
        (["Ann", "", "", ""], True),
        (["Ann", *[""] * 4], False),
        ([], False),
    ):
        rows = [("a-00000", i, speaker, 3) for i, speaker in enumerate(speakers)]
        vectors = list(random_units(len(rows), 2)) if rows else []
        assert index_of(TEXTS, VECTORS, sentences(rows, vectors)).scope().is_speech is expected


def test_signals_by_hand(index: ScopeIndex) -> None:
    found = signals(
        index.scope(),
        QUESTION,
        np.array([3.0, 2, 1, 0]),
        index.having(QUESTION.terms, np.arange(4)),
    )
    half = round(math.sqrt(0.5), 6)
    assert found["dense"].tolist() == pytest.approx([1, 0, half, -1])
    assert found["BM25"].tolist() == [3, 2, 1, 0]
    assert found["best sentence"].tolist() == [1, 0, 0, 0]
    assert found["best 3 sentences"].tolist() == [0.5, 0, 0, 0]  # of two: their mean
    # words weigh the sentences of a window: (3, 1) / sqrt(10)
    assert found["best window"].tolist() == pytest.approx([3 / math.sqrt(10), 0, 0, 0], abs=1e-5)
    # of four passages two have "appl" and one has "plum"
    two, one = math.log(1 + 2.5 / 2.5), math.log(1 + 3.5 / 1.5)
    shares = [two / (one + two)] * 2 + [one / (one + two), 0]
    assert found["words of the question"].tolist() == pytest.approx(shares)


def test_terms_are_those_that_passages_have(index: ScopeIndex) -> None:
    of_apple, of_pear = [True, True, False, False], [False, True, False, True]
    found = index.having(["pear", "appl", "wind"], np.arange(4))
    assert found.tolist() == [of_apple, of_pear, [False] * 4]
    assert index.having(["pear"], np.array([1, 2])).tolist() == [[True, False]]


def test_speakers_are_named_by_a_part_of_their_name(index: ScopeIndex) -> None:
    assert column(index.scope(), "named speaker") == [0.75, 0, 0, 0]
    sentences_of_two = index.scope(np.array([0, 2])).sentences
    assert named(sentences_of_two, "What did Marit Olsen and TEO say?").tolist() == [1.0, 0.0]


def test_positions_are_those_in_the_document(index: ScopeIndex) -> None:
    scope = index.scope()
    assert column(scope, "position") == [0, 0.5, 1, 0]
    assert column(scope, "position: from the nearer end") == [0, 0.5, 0, 0]
    assert scope.before.tolist() == [[-1] * 3, [0, -1, -1], [1, 0, -1], [-1] * 3]
    assert scope.behind.tolist() == [[1, 2, -1], [2, -1, -1], [-1] * 3, [-1] * 3]
    assert column(scope, "scope: log passages") == [round(math.log(4), 5)] * 4


def test_forms_of_a_signal() -> None:
    value, scaled, rank, gap = forms(np.array([1.0, 3.0, 3.0, 1.0]))
    assert value.tolist() == [1, 3, 3, 1]
    assert scaled == pytest.approx([-1, 1, 1, -1], abs=1e-5)
    assert rank == pytest.approx(np.log1p([2, 0, 0, 2]))  # equal values share a rank
    assert gap.tolist() == [2, 0, 0, 2]


def test_candidates_are_the_best_with_their_neighbours_in_the_document(index: ScopeIndex) -> None:
    bm25 = np.array([0.0, 0, 0, 9])
    assert index.candidates(axis(-1, 0), bm25, 1).tolist() == [3]
    assert index.candidates(axis(1, 0), np.zeros(4), 1).tolist() == [0, 1]
    assert index.candidates(axis(1, 0), bm25, 4).tolist() == [0, 1, 2, 3]
    scope = index.scope(np.array([0, 2]))
    assert scope.before.tolist() == [[-1] * 3, [-1, 0, -1]]  # the one between was not taken


def test_scores_around_a_passage(index: ScopeIndex) -> None:
    scores = np.array([1.0, 2.0, 4.0, 8.0])
    scope = index.scope()
    found = np.stack(around(scope, scores), axis=1)
    assert found[1, : 2 * FURTHEST].tolist() == [-1, -1, 1, 4, -1, -1]
    assert found[3, : 2 * FURTHEST].tolist() == [-1] * 6
    assert found[0, -3] == pytest.approx((2 + 4 + 8) / 3)  # all others are nearest
    assert found[0, -2] == 8
    assert smooth(scope, scores)[1] == pytest.approx(0.4 * 2 + 0.2 * (1 + 4) + 0.1 * (1 + 4))
    assert smooth(scope, scores)[3] == pytest.approx(8)


def test_a_walk_from_equal_scores_is_a_distribution(index: ScopeIndex) -> None:
    connected = index.scope(np.array([0, 1, 2]))  # nothing leads to the fourth, or from it
    walked = walk_from(connected, np.zeros(3))
    assert walked.sum() == pytest.approx(1, abs=1e-3)
    assert (walked > 0).all()
    start = walk_from(index.scope(), np.array([9.0, 0, 0, 0]))
    assert start.argmax() == 0


def test_features_of_one_passage_are_finite() -> None:
    scope = index_of({"a": [""]}, axis(1, 0)[None], sentences([], [])).scope()
    question = Question("?", frozenset(), axis(0, 1))
    found = signals(scope, question, np.zeros(1), np.zeros((0, 1), bool))
    own, graph = own_features(scope, question, found), graph_features(scope, found)
    assert own.shape == (1, len(OWN))
    assert graph.shape == (1, len(GRAPH))
    assert np.isfinite(own).all()
    assert np.isfinite(graph).all()


def test_graph_features_of_random_passages_have_their_names() -> None:
    texts = {"a": [f"word{i}" for i in range(9)]}
    index = index_of(texts, random_units(9), sentences([], []))
    scope = index.scope()
    question = Question("word3?", frozenset({"word3"}), random_units(1, seed=1)[0])
    found = signals(scope, question, np.arange(9.0), index.having(question.terms, np.arange(9)))
    features = graph_features(scope, found)
    before = features[:, GRAPH.index("neighbours by BM25: -1")]
    scaled = (np.arange(9) - 4) / np.arange(9.0).std()
    assert before[1:] == pytest.approx(scaled[:-1], abs=1e-5)


@pytest.mark.parametrize("seed", range(90, 94))
def test_best_windows_are_those_of_summed_vectors(seed: int) -> None:
    lengths = {"a": 2, "b": 0, "c": 7, "d": 1, "e": 3, "f": 12}
    rows = [(name, i, "", i % 5 + 1) for name, n in lengths.items() for i in range(n)]
    index = SentenceIndex.of_rows(sentences(rows, random_units(len(rows))))
    question, passages = random_units(1, 8, seed=seed)[0], index.of(list(lengths))
    expected = []
    for number, n in enumerate(lengths.values()):
        spans = {(i, i + k) for k in (3, 6) for i in range(n - k + 1)}
        spans |= {(0, n) for k in (3, 6) if 0 < n < k}
        vectors, n_words = passages.vectors_of(number), np.arange(n) % 5 + 1
        sums = [(vectors[a:b] * n_words[a:b, None]).sum(axis=0) for a, b in spans]
        expected.append(max((v @ question / np.linalg.norm(v) for v in sums), default=0))
    np.testing.assert_allclose(passages.best_windows(question), expected, atol=2e-6)
