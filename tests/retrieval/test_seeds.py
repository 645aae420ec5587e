"""Seeds of the graph methods: what they add up, and whose words count twice."""

import numpy as np
import pytest

from gsum_assets.retrieval.bm25 import Bm25, Bm25Settings
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.hybrid import min_max
from gsum_assets.retrieval.seeds import Seeds, with_names_twice
from gsum_assets.retrieval.words import Words
from tests.retrieval.toys import collection, of_texts, toy_questions


def test_question_keeps_all_fields_except_its_text():
    questions = toy_questions(("Who saw Ann?", "boats", 1), ("who was it", None, 2))
    twice = with_names_twice(questions)
    assert twice.texts == ["Who saw Ann? Ann", "who was it"]
    assert (twice.ids, twice.document_ids) == (questions.ids, questions.document_ids)
    assert twice.embeddings is questions.embeddings


def test_name_outweighs_another_word():
    here = of_texts("the ferry of Ashby", "the clerk of Boston", "an unlike text")
    questions = toy_questions(
        ("did Ashby get a clerk?", None, 2), ("did a ferry get to Boston?", None, 2)
    )
    found = (
        Seeds(here, "en").scores(questions).documents[:, :2]
    )  # vectors speak for the third alone
    assert found.argmax(axis=1).tolist() == [0, 1]


def test_document_words_chunk_words_and_vectors_add_up():
    here = collection()
    questions = toy_questions(("the boat at the harbour", None, 1), ("red apples", None, 2))
    lexical = Bm25(here, Bm25Settings(words=Words("en", bigrams=True))).scores(questions)
    of_document = min_max(lexical.documents)[:, [0, 0, 1, 1, 2]]
    of_vector = min_max(Dense(here).scores(questions).nodes)
    found = Seeds(here, "en").scores(questions)
    expected = 0.4 * of_document + 0.2 * min_max(lexical.nodes) + 0.4 * of_vector
    assert found.nodes == pytest.approx(expected)
    assert found.documents == pytest.approx(
        np.stack([expected[:, :2].max(1), expected[:, 2:4].max(1), expected[:, 4]], axis=1)
    )


def test_phrase_of_common_words_is_found_word_for_word():
    here = of_texts("the garden in the town", "garden, in a garden", "In the Garden\nIt began.")
    questions = toy_questions(("What is the plot of IN THE GARDEN?", None, 0))
    plain = toy_questions(("What is the plot of in the garden?", None, 0))
    named, unnamed = (Seeds(here, "en").scores(asked).nodes[0] for asked in (questions, plain))
    assert named - unnamed == pytest.approx([0, 0, 0.4])


def test_best_chunk_of_each_part_scores_higher():
    here = of_texts("ferry price, ferry price", "lighthouse paint", "an unlike text", "a ferry")
    asked, other = (
        Seeds(here, "en").scores(toy_questions((text, None, 2))).nodes[0]
        for text in (
            "the ferry price, the lighthouse paint",
            "the ferry price the lighthouse paint",
        )
    )
    # ranks for the parts: 1, 3, 3, 2 and 2, 1, 2, 2; for the whole: 2, 1, 3, 4
    assert asked - other == pytest.approx([0.3, 0.3, 0.15, 0.15])
