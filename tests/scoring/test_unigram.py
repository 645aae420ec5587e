"""`UnigramScorer` against hand-computed examples, a slow oracle and what must not matter."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gsum_resources.protocols.models import PassageScorer
from gsum_resources.scoring.unigram import UnigramScorer, content_words

BACKGROUND = ["boat engine", "boat engine", "boat harbour", "budget budget"]


def slow_scores(scorer: UnigramScorer, context: str, row: Sequence[str]) -> list[float]:
    """The docstring's formula, word by word, without sparse matrices."""
    background = [content_words(text) for text in scorer.background or [context, *row]]
    counts = Counter(word for words in background for word in words)
    total = counts.total() + len(counts) + 1
    given_words = Counter(content_words(context))
    scores = []
    for text in row:
        gained, weights = [], []
        for word in content_words(text) or ["a word that nothing holds"]:
            share = (counts[word] + 1) / total
            smoothed = (given_words[word] + scorer.mu * share) / (given_words.total() + scorer.mu)
            n_texts = sum(word in words for words in background)
            weights.append(math.log((len(background) + 1) / (n_texts + 0.5)))
            gained.append(math.log(smoothed) - math.log(share))
        scores.append(np.average(gained, weights=weights))
    return scores


def test_one_row_known_values():
    # The background is the row itself: boat 3, engine 2, quay 1, so P(w|C) is (3+1)/(6+3+1) = .4,
    # .3, .2; idf of boat and engine, in 2 of 3 texts, is the same. Context: |d| = 2, tf(boat) = 2.
    # P(boat|d) = (2 + 2 * .4)/(2 + 2) = .7, ratio 1.75; of a word that d lacks 2/4.
    (got,) = UnigramScorer(mu=2.0).score(
        ["The boat. Boat!"], [["a boat, an engine", "engine quay"]]
    )
    assert got == pytest.approx([(math.log(1.75) + math.log(0.5)) / 2, math.log(0.5)], abs=1e-12)


def test_implements_the_protocol():
    scorer = UnigramScorer()
    assert isinstance(scorer, PassageScorer)
    assert not scorer.is_pairwise
    assert UnigramScorer(background=BACKGROUND).is_pairwise
    assert scorer.score([], []) == []
    rows = scorer.score(["boat", "budget"], [[], ["boat", "budget", "engine"]])
    assert [(row.shape, row.dtype) for row in rows] == [((0,), float), ((3,), float)]


def test_identity_follows_background_and_mu():
    scorers = [
        UnigramScorer(),
        UnigramScorer(mu=999.0),
        UnigramScorer(background=BACKGROUND),
        UnigramScorer(background=[*BACKGROUND, "boat"]),
        UnigramScorer(mu=999.0, background=BACKGROUND),
    ]
    assert len({scorer.identity for scorer in scorers}) == len(scorers)
    assert UnigramScorer(mu=1000).identity == scorers[0].identity
    assert UnigramScorer(background=tuple(BACKGROUND)).identity == scorers[2].identity


WORDS = ["boat", "engine", "budget", "harbour", "zebra", "the", "quay", "Engine"]
text = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
row = st.tuples(text, st.lists(text, max_size=5))
scorer = st.builds(
    UnigramScorer,
    mu=st.sampled_from([0.5, 20.0, 1000.0]),
    background=st.none() | st.lists(text, min_size=1, max_size=4),
)


@settings(max_examples=100)
@given(scorer, st.lists(row, min_size=1, max_size=5))
def test_equals_the_slow_formula(scorer, rows):
    contexts, candidates = zip(*rows, strict=True)
    for found, (context, row) in zip(scorer.score(contexts, candidates), rows, strict=True):
        assert found == pytest.approx(slow_scores(scorer, context, row), rel=1e-9, abs=1e-12)


@settings(max_examples=60)
@given(scorer, st.lists(row, min_size=1, max_size=5), st.randoms())
def test_no_row_depends_on_others_or_on_any_order(scorer, rows, random):
    contexts, candidates = zip(*rows, strict=True)
    together = scorer.score(contexts, candidates)
    for found, (context, row) in zip(together, rows, strict=True):
        order = random.sample(range(len(row)), len(row))
        (alone,) = scorer.score([context], [[row[i] for i in order]])
        np.testing.assert_array_equal(alone, found[order])  # bit by bit
