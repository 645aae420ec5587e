import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.retrieval.bm25 import Bm25, Bm25Index, Bm25Settings
from gsum_assets.retrieval.words import Words
from tests.retrieval.toys import of_texts, toy_question

PLAIN = Words(language="tlh")  # no stop words, no stems: terms are the words
word = st.sampled_from(["ore", "sun", "fox", "elm", "ivy"])
text = st.lists(word, max_size=8).map(" ".join)


def formula(query, texts, k1, b, words):
    """BM25 as Lucene has it, term by term."""
    counts = [Counter(words.split(t)) for t in texts]
    mean_length = sum(sum(c.values()) for c in counts) / len(texts)
    row = []
    for count in counts:
        total = 0.0
        for term in words.split(query):
            n = sum(term in c for c in counts)
            idf = math.log(1 + (len(texts) - n + 0.5) / (n + 0.5))
            norm = k1 * (1 - b + b * sum(count.values()) / mean_length) if mean_length else k1
            total += idf * count[term] / (count[term] + norm) if count[term] else 0.0
        row.append(total)
    return row


@given(
    texts=st.lists(text, min_size=1, max_size=6),
    query=text,
    k1=st.sampled_from([0.9, 1.5]),
    b=st.sampled_from([0.0, 0.4, 1.0]),
    words=st.sampled_from([PLAIN, replace(PLAIN, bigrams=True)]),
)
def test_scores_equal_the_formula(texts, query, k1, b, words):
    found = Bm25Index(texts, Bm25Settings(k1=k1, b=b, words=words)).scores([query, query])
    expected = [formula(query, texts, k1, b, words)] * 2
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("query", ["", "zyzzyva", "the of and"])
def test_query_of_unknown_words_scores_zero(query):
    found = Bm25(of_texts("red fox", "grey wolf")).scores(toy_question(query, "fox"))
    assert found.nodes[0].tolist() == [0, 0]
    assert found.nodes[1, 0] > 0 == found.nodes[1, 1]


def test_word_in_every_text_still_counts():
    found = Bm25(of_texts("fox fox", "fox wolf", "fox owl")).scores(toy_question("fox")).nodes[0]
    assert found[0] > found[1] == found[2] > 0


def test_documents_are_scored_as_texts_of_their_own():
    one = of_texts("fox", "wolf")
    joined = type(one)(["d"], ["fox wolf"], ["c0", "c1"], ["fox", "wolf"], np.array([0, 2]))
    found = Bm25(joined).scores(toy_question("fox wolf"))
    single = Bm25Index(["fox wolf"], Bm25Settings()).scores(["fox wolf"])
    np.testing.assert_array_equal(found.documents, single)


def test_unknown_query_words_do_not_affect_known_ones():
    retriever = Bm25(of_texts("fox", "wolf", "owl"))
    found = retriever.scores(toy_question("fox", "fox zyzzyva")).nodes
    np.testing.assert_array_equal(found[0], found[1])
