"""`UnigramScorer`: how well one passage predicts another, by smoothed word frequencies."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_WORD = re.compile(r"[^\W_]+")
_PAIRS_AT_ONCE = 65536

# Words that join rather than mean; fragments such as "ll" are what an apostrophe leaves behind.
_STOP_WORD_LINES = """
a about above after again against all also am an and any are as at be because been before
being below between both but by can could d did do does doing don down during each else ever
few for from further had has have having he her here hers herself him himself his how i if in
into is it its itself just ll m may me might mine more most much must my myself no nor not now
of off oh ok okay on once only or other our ours ourselves out over own re s same shall she
should so some such t than that the their theirs them themselves then there these they this
those through to too uh um under until up upon us ve very was we were what when where whether
which while who whom whose why will with would yeah yes yet you your yours yourself yourselves
"""
STOP_WORDS = frozenset(_STOP_WORD_LINES.split())


def content_words(text: str) -> list[str]:
    """Words of a text in lower case, stop words left out."""
    return [word for word in _WORD.findall(text.lower()) if word not in STOP_WORDS]


@dataclass(frozen=True)
class UnigramScorer:
    """Scores passages by a Dirichlet-smoothed unigram model of the context.

    With tf the count of word w in context i, |d_i| its length and P(w|C) the word's share of the
    background, each word of passage j is worth

        log P(w|d_i) - log P(w|C),   P(w|d_i) = (tf(w, d_i) + mu P(w|C)) / (|d_i| + mu)

    and the score is the mean over the words of j, weighted by inverse document frequency. It is
    the part of log P(d_j|d_i) in nats per token that the context explains: taken relative to the
    background, since rare words would otherwise make every context look bad. Stop words count
    nowhere. Smoothing: Zhai and Lafferty (2004), section 3, with their mu.

    Attributes
    ----------
    word_counts : occurrences of each content word in the background.
    document_counts : background texts that hold each word.
    n_texts : background texts.
    mu : weight of the background, in words.
    """

    word_counts: Mapping[str, int]
    document_counts: Mapping[str, int]
    n_texts: int
    mu: float = 1000.0

    def __post_init__(self) -> None:
        if not self.mu > 0:
            raise ValueError(f"mu = {self.mu}: must be positive, 1000 is usual")

    @classmethod
    def fit(cls, texts: Iterable[str], mu: float = 1000.0) -> "UnigramScorer":
        """A scorer whose background is `texts`, usually every passage of a corpus."""
        words: Counter[str] = Counter()
        documents: Counter[str] = Counter()
        n_texts = 0
        for text in texts:
            found = content_words(text)
            words.update(found)
            documents.update(set(found))
            n_texts += 1
        return cls(words, documents, n_texts, mu)

    @cached_property
    def identity(self) -> str:
        """What distinguishes the values: mu, the stop words and the background's counts."""
        digest = hashlib.sha256(" ".join(sorted(STOP_WORDS)).encode())
        for word in sorted(self.word_counts):
            row = f"\n{word} {self.word_counts[word]} {self.document_counts[word]}"
            digest.update(row.encode())
        return f"unigram:mu={float(self.mu)!r}:texts={self.n_texts}:{digest.hexdigest()[:16]}"

    def score(self, contexts: Sequence[str], passages: Sequence[str]) -> np.ndarray:
        """Scores of pairs in nats per token, float64 `(n_pairs,)`.

        A passage of stop words alone gets what a passage without one shared word gets: the
        least that its context gives.

        Parameters
        ----------
        contexts, passages : pair by pair; repeated texts are counted once.

        Raises
        ------
        ValueError
            If there are not as many contexts as passages.
        """
        if len(contexts) != len(passages):
            raise ValueError(
                f"{len(contexts)} contexts and {len(passages)} passages; give one of each a pair"
            )
        texts = list(dict.fromkeys([*contexts, *passages]))
        row_of = {text: row for row, text in enumerate(texts)}
        rows = np.fromiter((row_of[text] for text in contexts), np.int64, len(contexts))
        columns = np.fromiter((row_of[text] for text in passages), np.int64, len(passages))
        counts, words = _word_counts(texts)
        gains = self._gains(counts, words)
        weights = self._weights(counts, words)
        penalty = np.log(self.mu / (np.asarray(counts.sum(1)).ravel() + self.mu))
        return _row_dots(gains, rows, weights, columns) + penalty[rows]

    def _gains(self, counts: "csr_matrix", words: Sequence[str]) -> "csr_matrix":
        """log(1 + tf / (mu P(w|C))) for each word of each context, `(n_texts, n_words)`.

        The rest of log P(w|d_i) - log P(w|C) is log(mu / (|d_i| + mu)) for every word alike, so
        that words outside the context need no entry.
        """
        total = sum(self.word_counts.values())
        # One more of each word, and one word that was never seen: no probability is zero.
        share = 1 / (total + len(self.word_counts) + 1)
        background = np.array([(self.word_counts.get(word, 0) + 1) * share for word in words])
        gains = counts.copy()
        gains.data = np.log1p(counts.data / (self.mu * background[counts.indices]))
        return gains

    def _weights(self, counts: "csr_matrix", words: Sequence[str]) -> "csr_matrix":
        """tf times inverse document frequency, rows summing to 1, `(n_texts, n_words)`."""
        documents = np.array([self.document_counts.get(word, 0) for word in words], float)
        rarity = np.log((self.n_texts + 1) / (documents + 0.5))
        weights = counts.copy()
        weights.data = counts.data * rarity[counts.indices]
        totals = np.asarray(weights.sum(1)).ravel()
        weights.data /= np.repeat(totals, np.diff(weights.indptr))
        return weights


def _word_counts(texts: Sequence[str]) -> tuple["csr_matrix", list[str]]:
    """Counts `(n_texts, n_words)`, words of a row ascending, and the words of the columns."""
    from scipy.sparse import csr_matrix

    bags = [Counter(content_words(text)) for text in texts]
    # Sorted, so that sums run in the same order whatever texts come first.
    words = sorted({word for bag in bags for word in bag})
    column_of = {word: column for column, word in enumerate(words)}
    ends = np.cumsum([0, *(len(bag) for bag in bags)])
    columns = np.fromiter((column_of[w] for bag in bags for w in bag), np.int64, int(ends[-1]))
    values = np.fromiter((n for bag in bags for n in bag.values()), np.float64, int(ends[-1]))
    counts = csr_matrix((values, columns, ends), shape=(len(texts), len(words)))
    counts.sort_indices()
    return counts, words


def _row_dots(
    left: "csr_matrix", rows: np.ndarray, right: "csr_matrix", columns: np.ndarray
) -> np.ndarray:
    """Inner product of left[rows[k]] and right[columns[k]] for each k, in bounded memory."""
    products = np.empty(len(rows))
    for start in range(0, len(rows), _PAIRS_AT_ONCE):
        block = slice(start, start + _PAIRS_AT_ONCE)
        shared = left[rows[block]].multiply(right[columns[block]])
        products[block] = np.asarray(shared.sum(1)).ravel()
    return products
