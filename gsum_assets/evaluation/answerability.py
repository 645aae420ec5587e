"""Whether the documents answer a question: a probability from what they hold and what was read.

Three features, none of which needs labels of the corpus at hand:

- `surprise`: the sum over the question's words of ln((n + ½') / (expected + ½')), where n counts a word in
  the document that the question is about, or else in the passages read, and `expected` is its count in
  as much text of the other documents, or of general English where there are none;
- `missing`: the mean of -ln p over the question's words, where p is a word's frequency in general
  English and words that occur count 0, so that a rare word that occurs nowhere weighs most;
- `similarity`: cosine of the question and the most similar passage read.

A question is not judged, and therefore answered, if it has no words of its own ("Summarize the
meeting"), or if hardly any of its words occurs, as where it is in another language.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gsum_assets.corpus.chunk import default_tokenizer
from gsum_resources.text.reading import CONTENTLESS, question_aspects
from gsum_resources.text.scripts import is_plain
from gsum_resources.text.vocabulary import content_stems, stem, words

_WORD = re.compile(r"[^\W_]+")
_SMOOTHING = 0.3  # of a count
_FIRST_WORD = (
    1996  # id of the packaged tokenizer's most frequent word; the ids are ordered by frequency
)
_RAREST = 2e-6  # frequency of a word that this vocabulary lacks
_LEAST_SHARED = 0.25  # of a question's words, else it is in another language
MIN_WORDS = 5_000  # of other documents, to be a background
MAX_BACKGROUND = 2_000  # passages of other documents that are counted


@dataclass(frozen=True)
class Weights:
    """Logistic regression of the features: `intercept + weights · features`, natural logarithms.

    `threshold`: probability from which a question is answered.
    """

    intercept: float
    surprise: float
    missing: float
    similarity: float
    threshold: float


@dataclass(frozen=True)
class WordCounts:
    """How often stems occur in some texts.

    Attributes
    ----------
    counts : by stem.
    n_words : all words of the texts, those without a count included.
    """

    counts: Mapping[str, int]
    n_words: int

    @classmethod
    def of(cls, texts: Iterable[str]) -> "WordCounts":
        """Count the words of texts."""
        spelled: Counter[str] = Counter()
        for text in texts:
            lower = text.lower()
            spelled.update(_WORD.findall(lower) if is_plain(lower) else words(lower))
        counts: Counter[str] = Counter()
        for word, n in spelled.items():
            counts[stem(word)] += n
        return cls(counts, spelled.total())

    def __add__(self, other: "WordCounts") -> "WordCounts":
        return WordCounts(
            Counter(self.counts) + Counter(other.counts), self.n_words + other.n_words
        )


@dataclass(frozen=True)
class Features:
    """What speaks for and against an answer; see the module."""

    surprise: float
    missing: float
    similarity: float


def features(
    question: str,
    scope: WordCounts,
    background: WordCounts | None,
    similarity: float,
) -> Features | None:
    """Return the features of a question; None if it is not judged.

    Parameters
    ----------
    scope : of the question's document, or of the passages read.
    background : of other documents; None or fewer than `MIN_WORDS` words: general English.
    similarity : cosine to the most similar passage read.
    """
    wanted = [w for w in dict.fromkeys(content_stems(question)) if w not in CONTENTLESS]
    if not wanted or not question_aspects(question):
        return None
    every = {stem(word) for word in words(question)}
    if sum(word in scope.counts for word in every) < _LEAST_SHARED * len(every):
        return None
    usual = background if background and background.n_words >= MIN_WORDS else None

    def expected(word: str) -> float:
        if usual is None:
            return scope.n_words * frequency(word)
        return scope.n_words * usual.counts.get(word, 0) / usual.n_words

    return Features(
        sum(
            math.log((scope.counts.get(w, 0) + _SMOOTHING) / (expected(w) + _SMOOTHING))
            for w in wanted
        ),
        sum(-math.log(frequency(w)) for w in wanted if not scope.counts.get(w)) / len(wanted),
        similarity,
    )


def probability(found: Features, weights: Weights) -> float:
    """Return the probability that the documents answer a question."""
    logit = (
        weights.intercept
        + weights.surprise * found.surprise
        + weights.missing * found.missing
        + weights.similarity * found.similarity
    )
    return round(float(1 / (1 + np.exp(-logit))), 6)


def frequency(word: str) -> float:
    """Return the approximate share of a stem among the words of general English, by Zipf's law."""
    return max(_frequencies().get(word, 0.0), _RAREST)


@lru_cache(maxsize=1)
def _frequencies() -> Mapping[str, float]:
    vocabulary = default_tokenizer().get_vocab()
    n = len(vocabulary) - _FIRST_WORD
    harmonic = math.log(n) + 0.5772
    shares: Counter[str] = Counter()
    for word, number in vocabulary.items():
        if number >= _FIRST_WORD and word.isalpha():
            shares[stem(word)] += 1 / ((number - _FIRST_WORD + 1) * harmonic)
    return shares


def sampled(texts: Sequence[str], n: int = MAX_BACKGROUND) -> Sequence[str]:
    """Return at most n texts, evenly spread."""
    if len(texts) <= n:
        return texts
    return [texts[i] for i in np.linspace(0, len(texts) - 1, n).astype(int).tolist()]
