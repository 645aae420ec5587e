"""Terms looked up in texts against terms counted one by one."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.retrieval import postings
from gsum_assets.retrieval.bm25 import Bm25Index, Bm25Settings
from gsum_assets.retrieval.postings import NumberedTexts
from gsum_assets.retrieval.words import Words

word = st.sampled_from(["ore", "sun", "suns", "the", "fox", "elm"])
texts_of_words = st.lists(st.lists(word, max_size=6).map(" ".join), min_size=1, max_size=6)


@given(texts_of_words, st.lists(word, max_size=5).map(" ".join), st.booleans())
def test_equal_to_counting(texts, query, bigrams):
    words = Words(bigrams=bigrams)
    numbered = NumberedTexts(texts, words)
    counts = [Counter(words.split(text)) for text in texts]
    assert numbered.lengths.tolist() == [count.total() for count in counts]
    codes = np.unique(np.array(numbered.codes(query), np.int64))
    found = numbered.postings(codes)
    entries = sorted(zip(found.texts.tolist(), found.counts.tolist(), strict=True))
    asked = set(words.split(query))
    expected = [(i, n) for i, count in enumerate(counts) for t, n in count.items() if t in asked]
    assert entries == sorted(expected)
    assert np.lexsort((found.texts, found.terms)).tolist() == [*range(len(found.terms))]


def test_a_pair_does_not_reach_into_the_next_text():
    numbered = NumberedTexts(["red fox", "", "fox red"], Words(bigrams=True))
    pair = np.array(numbered.codes("fox fox")[2:], np.int64)
    assert numbered.postings(pair).texts.tolist() == []


@pytest.mark.parametrize("bigrams", [False, True])
def test_bm25_is_that_of_bm25s_to_the_last_bit(bigrams):
    import bm25s

    random = np.random.default_rng(0)
    names = np.array([f"w{i}" for i in range(40)])
    texts = [" ".join(random.choice(names, n)) for n in random.integers(0, 60, 50)]
    words = Words(bigrams=bigrams)
    numbers: dict[str, int] = {}
    tokens = [[numbers.setdefault(t, len(numbers)) for t in words.split(x)] for x in texts]
    index = bm25s.BM25(k1=1.5, b=0.75)
    index.index((tokens, numbers), create_empty_token=False, show_progress=False)
    asked = [numbers[term] for term in words.split("w3 w5 w7 w3") if term in numbers]
    expected = index.get_scores_from_ids(asked)
    found = Bm25Index(texts, Bm25Settings(words=words)).scores(["w3 w5 w7 w3"])
    np.testing.assert_array_equal(found[0], expected)


def test_long_texts_are_numbered_once(monkeypatch):
    monkeypatch.setattr(postings, "_LONG", 10)
    texts = ["red foxes and owls", "an owl"]
    numbered = [NumberedTexts(texts, Words(bigrams=bigrams)) for bigrams in (False, True)]
    assert numbered[0]._numbers is numbered[1]._numbers
    assert [one.lengths.tolist() for one in numbered] == [[3, 1], [5, 1]]
    assert NumberedTexts(texts, Words("de"))._numbers is not numbered[0]._numbers
    NumberedTexts(["others, as long"], Words())
    assert len(postings._kept) == 2
