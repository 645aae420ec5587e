import numpy as np
import pytest

from gsum_assets.retrieval.tfidf import TfIdf, TfIdfIndex
from gsum_assets.retrieval.words import Words
from tests.retrieval.toys import of_texts, toy_question


def test_text_is_most_similar_to_itself():
    texts = ["red fox", "grey wolf and fox", "owl owl owl"]
    found = TfIdfIndex(texts, Words()).scores(texts)
    np.testing.assert_allclose(np.diag(found), 1, rtol=1e-6)
    assert (found.argmax(axis=1) == [0, 1, 2]).all()
    np.testing.assert_allclose(found, found.T, rtol=1e-6)


def test_score_known_value():
    # "fox" is in both texts: idf = ln(3/3) + 1 = 1; "owl" in one: ln(3/2) + 1.
    # The first text has it e times (damped: 1 + ln 3 for three) next to one "fox".
    idf = np.log(1.5) + 1
    damped = (1 + np.log(3)) * idf
    found = TfIdfIndex(["owl owl owl fox", "fox"], Words()).scores(["owl"])
    np.testing.assert_allclose(found, [[damped / np.hypot(damped, 1), 0]], rtol=1e-6)


@pytest.mark.parametrize("query", ["", "zyzzyva", "the of and"])
def test_query_of_unknown_words_scores_zero(query):
    assert TfIdf(of_texts("red fox", "grey wolf")).scores(toy_question(query)).nodes.tolist() == [
        [0, 0]
    ]
