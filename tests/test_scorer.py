"""`UnigramScorer` against a hand-computed example, a slow oracle and what must not matter."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gsum_resources.protocols import PassageScorer
from gsum_resources.scorer import UnigramScorer, content_words

# 4 texts, 8 words: boat 3, engine 2, budget 2, harbour 1. In texts: boat 3, engine 2, budget 1,
# harbour 1.
BACKGROUND = ["boat engine", "boat engine", "boat harbour", "budget budget"]


def slow_score(scorer: UnigramScorer, context: str, passage: str) -> float:
    """The docstring's formula, word by word, without sparse matrices."""
    total = sum(scorer.word_counts.values()) + len(scorer.word_counts) + 1
    tf = Counter(content_words(context))
    length = sum(tf.values())
    weighted, weights = 0.0, 0.0
    for word in content_words(passage):
        background = (scorer.word_counts.get(word, 0) + 1) / total
        given_context = (tf[word] + scorer.mu * background) / (length + scorer.mu)
        idf = math.log((scorer.n_texts + 1) / (scorer.document_counts.get(word, 0) + 0.5))
        weighted += idf * (math.log(given_context) - math.log(background))
        weights += idf
    return weighted / weights


def test_one_pair_by_hand():
    scorer = UnigramScorer.fit(BACKGROUND, mu=2.0)
    # P(engine|C) = (2+1)/(8+4+1) = 3/13, P(budget|C) = 3/13. Context: |d| = 2, tf(engine) = 2.
    # P(engine|d) = (2 + 6/13)/4 = 8/13, ratio 8/3; P(budget|d) = (6/13)/4 = 1.5/13, ratio 1/2.
    # idf(engine) = ln(5/2.5), idf(budget) = ln(5/1.5); the passage holds each once.
    engine, budget = math.log(2.0), math.log(10 / 3)
    expected = (engine * math.log(8 / 3) + budget * math.log(0.5)) / (engine + budget)
    got = scorer.score(["The engine! Engine."], ["engine and the budget"])
    assert got == pytest.approx([expected], abs=1e-12)


def test_keeps_the_protocol_and_pairs_in_order():
    scorer = UnigramScorer.fit(BACKGROUND)
    assert isinstance(scorer, PassageScorer)
    contexts = ["boat engine", "budget", "boat engine"]
    passages = ["engine", "budget", "budget"]
    scores = scorer.score(contexts, passages)
    assert scores.shape == (3,)
    assert scores == pytest.approx(
        [slow_score(scorer, c, p) for c, p in zip(contexts, passages, strict=True)]
    )
    assert scores[0] > 0 > scores[2]
    assert scorer.score([], []).shape == (0,)


def test_nothing_in_common_is_the_penalty_of_length():
    scorer = UnigramScorer.fit(BACKGROUND, mu=10.0)
    floor = math.log(10 / (10 + 3))
    context = "boat engine harbour"
    scores = scorer.score([context, context, context], ["budget", "zebra quagga", "the of and"])
    assert scores == pytest.approx([floor] * 3)
    assert scorer.score(["the of"], ["boat"]) == pytest.approx([0.0])


def test_a_rarer_shared_word_is_worth_more():
    scorer = UnigramScorer.fit(BACKGROUND, mu=5.0)
    context = "boat harbour"
    rare, common = scorer.score([context] * 2, ["harbour", "boat"])
    assert rare > common > 0


def test_identity_follows_background_and_mu():
    one = UnigramScorer.fit(BACKGROUND)
    assert one.identity == UnigramScorer.fit(list(reversed(BACKGROUND))).identity
    others = [
        UnigramScorer.fit(BACKGROUND, mu=999.0),
        UnigramScorer.fit([*BACKGROUND, "boat"]),
        UnigramScorer.fit(["boat", "engine boat", "engine boat harbour", "budget budget zebra"]),
        # The same words as often, spread over the texts in another way.
        UnigramScorer.fit(["boat engine", "boat engine", "boat harbour budget", "budget"]),
    ]
    assert len({one.identity, *(other.identity for other in others)}) == 5


def test_errors_say_what_is_wrong():
    with pytest.raises(ValueError, match="1 contexts and 2 passages"):
        UnigramScorer.fit(BACKGROUND).score(["boat"], ["boat", "engine"])
    with pytest.raises(ValueError, match="mu = 0"):
        UnigramScorer.fit(BACKGROUND, mu=0)


word = st.sampled_from(["boat", "engine", "budget", "harbour", "zebra", "the", "quay", "Engine"])
text = st.lists(word, min_size=1, max_size=12).map(" ".join).filter(lambda t: content_words(t))


@settings(max_examples=60)
@given(st.lists(st.tuples(text, text), min_size=1, max_size=8), st.sampled_from([0.5, 20.0, 1000]))
def test_equals_the_slow_formula_pair_by_pair(pairs, mu):
    scorer = UnigramScorer.fit(BACKGROUND, mu=mu)
    contexts, passages = (list(side) for side in zip(*pairs, strict=True))
    scores = scorer.score(contexts, passages)
    expected = [slow_score(scorer, c, p) for c, p in pairs]
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-12)
    alone = np.concatenate([scorer.score([c], [p]) for c, p in pairs])
    np.testing.assert_array_equal(scores, alone)  # a pair's score ignores its neighbours
