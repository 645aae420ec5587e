"""Seeds of a walk: what they add up, whose words count twice, how peaked jumps are."""

import numpy as np
import pytest

from gsum_assets.lightpal.seeds import Seeds, names, peaked, with_names_twice
from gsum_assets.retrieval.bm25 import Bm25, Bm25Settings
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.hybrid import min_max
from gsum_assets.retrieval.words import Words
from tests.retrieval.toys import collection, of_texts, questions


def test_names_are_capitalized_words_after_the_first():
    assert names("Where did Ann-Marie and Émile meet the clerk of Ashby?") == [
        "Ann",
        "Marie",
        "Émile",
        "Ashby",
    ]
    assert names("Boats") == names("") == names("what is it?") == []


def test_a_question_keeps_all_but_its_text():
    asked = questions(("Who saw Ann?", "boats", 1), ("who was it", None, 2))
    twice = with_names_twice(asked)
    assert twice.texts == ["Who saw Ann? Ann", "who was it"]
    assert (twice.ids, twice.document_ids) == (asked.ids, asked.document_ids)
    assert twice.embeddings is asked.embeddings


def test_a_name_outweighs_another_word():
    here = of_texts("the ferry of Ashby", "the clerk of Boston", "an unlike text")
    asked = questions(("did Ashby get a clerk?", None, 2), ("did a ferry get to Boston?", None, 2))
    found = Seeds(here, "en").scores(asked).documents[:, :2]  # vectors speak for the third alone
    assert found.argmax(axis=1).tolist() == [0, 1]


def test_words_of_a_document_and_of_a_chunk_and_vectors_add_up():
    here = collection()
    asked = questions(("the boat at the harbour", None, 1), ("red apples", None, 2))
    lexical = Bm25(here, Bm25Settings(words=Words("en", bigrams=True))).scores(asked)
    of_document = min_max(lexical.documents)[:, [0, 0, 1, 1, 2]]
    of_vector = min_max(Dense(here).scores(asked).nodes)
    found = Seeds(here, "en").scores(asked)
    expected = 0.4 * of_document + 0.2 * min_max(lexical.nodes) + 0.4 * of_vector
    assert found.nodes == pytest.approx(expected)
    assert found.documents == pytest.approx(
        np.stack([expected[:, :2].max(1), expected[:, 2:4].max(1), expected[:, 4]], axis=1)
    )


def test_jumps_are_peaked_by_the_power():
    scores = np.array([0.1, 0.9, 0.5, 0.3])
    best, weights = peaked(scores, 3, 2.0)  # 0.9, 0.5, 0.3 scaled: 1, 1/3, 0
    assert best.tolist() == [1, 2, 3]
    assert weights == pytest.approx([1, 1 / 9, 0])
    assert peaked(scores, 3, 0.0)[1] == pytest.approx([1, 1, 1])
    assert peaked(scores, 100, 1.0)[1] == pytest.approx([1, 1 / 2, 1 / 4, 0])


@pytest.mark.parametrize("n", [1, 3])
def test_equal_scores_are_jumped_to_alike(n):
    best, weights = peaked(np.full(3, 0.5, np.float32), n, 3.0)
    assert best.tolist() == [*range(n)]
    assert weights.tolist() == [1.0] * n
