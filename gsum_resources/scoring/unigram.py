"""`UnigramScorer`: how well one passage predicts another, by smoothed word frequencies."""

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from gsum_resources.protocols.models import OnRow
from gsum_resources.store.content_hash import hash_texts

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_WORD = re.compile(r"[^\W_]+")

# Function words; fragments such as "ll" remain after an apostrophe is removed.
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
    """Return the words of a text in lower case, without stop words."""
    return [word for word in _WORD.findall(text.lower()) if word not in STOP_WORDS]


@dataclass(frozen=True)
class UnigramScorer:
    """Scores passages by a Dirichlet-smoothed unigram model of the context.

    With tf the count of word w in context i, |d_i| its length and P(w|C) the word's share of the
    background, each word of candidate j contributes

        log P(w|d_i) - log P(w|C),   P(w|d_i) = (tf(w, d_i) + mu P(w|C)) / (|d_i| + mu)

    and the score is the mean over the words of j, weighted by inverse document frequency. It is
    the share of log P(d_j|d_i) in nats per token that the context explains, relative to the
    background, since rare words would otherwise lower the score of every context. Stop words are
    ignored. Smoothing: Zhai and Lafferty (2004), section 3, with their mu.

    The background of a context is the context and its candidates, unless one is given, so that
    an added or deleted document affects only contexts whose candidates change.

    Attributes
    ----------
    mu : weight of the background, in words.
    background : texts for the word frequencies; None: the texts of each row.
    """

    mu: float = 1000.0
    background: Sequence[str] | None = None

    @property
    def identity(self) -> str:
        """Identity of the values: mu, the stop words and the background."""
        common = hash_texts(sorted(STOP_WORDS), 4)
        background = f"/background={hash_texts(self.background, 8)}" if self.background else ""
        return f"unigram-2/mu={float(self.mu)!r}/stop={common}{background}"

    @property
    def is_pairwise(self) -> bool:
        """True only with a fixed background."""
        return self.background is not None

    def score(
        self,
        contexts: Sequence[str],
        candidates: Sequence[Sequence[str]],
        on_row: OnRow | None = None,
    ) -> list[np.ndarray]:
        """Return scores in nats per token, float64 `(n_candidates,)` for each context.

        A candidate that consists of stop words gets the score of one without a shared word: the
        lowest of its context.
        """
        texts = dict.fromkeys(chain(contexts, chain.from_iterable(candidates)))
        if not texts:
            return []
        import pandas

        number_of = {text: number for number, text in enumerate(texts)}
        bags, words = _bags(texts)
        scores = []
        for i, (context, row) in enumerate(zip(contexts, candidates, strict=True)):
            group = bags[[number_of[context], *(number_of[text] for text in row)]]
            columns, present = pandas.factorize(group.indices)  # np.unique sorts
            if self.background is None:
                counts = np.bincount(columns, group.data, len(present))
                n_texts_of = np.bincount(columns, minlength=len(present))
                totals = counts.sum(), len(present), 1 + len(row)
                share, rarity = _statistics(counts, n_texts_of, *totals)
            else:
                share, rarity = self._given_statistics(words[present].tolist())
            scores.append(self._row(group, columns, share, rarity))
            if on_row:
                on_row(i, scores[-1])
        return scores

    @cached_property
    def _counts(self) -> tuple[Counter[str], Counter[str]]:
        """How often each word occurs in the given background, and in how many of its texts."""
        bags = [content_words(text) for text in self.background or ()]
        words = (word for bag in bags for word in bag)
        return Counter(words), Counter(word for bag in bags for word in set(bag))

    def _given_statistics(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        occurrences, texts = self._counts
        return _statistics(
            np.array([occurrences[word] for word in words], float),
            np.array([texts[word] for word in words], float),
            occurrences.total(),
            len(occurrences),
            len(self.background or ()),
        )

    def _row(
        self, group: "csr_matrix", columns: np.ndarray, share: np.ndarray, rarity: np.ndarray
    ) -> np.ndarray:
        """Return the scores of a group's other bags by the first; `columns` index the words."""
        first, n_candidates = group.indptr[1], len(group.indptr) - 2
        words, counts = columns[:first], group.data[:first]
        gains = np.zeros(len(share))
        gains[words] = np.log1p(counts / (self.mu * share[words]))
        others = columns[first:]
        weights = group.data[first:] * rarity[others]
        owners = np.repeat(np.arange(n_candidates), np.diff(group.indptr[1:]))
        total = np.bincount(owners, weights, n_candidates)
        gained = np.bincount(owners, weights * gains[others], n_candidates)
        explained = np.divide(gained, total, out=np.zeros(total.shape), where=total > 0)
        # the remainder of log P(w|d_i) - log P(w|C), equal for every word
        return explained + np.log(self.mu / (counts.sum() + self.mu))


def _bags(texts: Iterable[str]) -> "tuple[csr_matrix, np.ndarray]":
    """Return counts of content words `(n_texts, n_words)`, and the words in alphabetical order."""
    from scipy.sparse import csr_matrix

    number_of, numbers, ends = dict[str, int](), array("i"), [0]
    for text in texts:
        numbers.extend(number_of.setdefault(w, len(number_of)) for w in content_words(text))
        ends.append(len(numbers))
    words = np.array(sorted(number_of), object)
    columns = np.argsort([number_of[word] for word in words])[np.frombuffer(numbers, np.int32)]
    bags = csr_matrix((np.ones(len(columns)), columns, ends), shape=(len(ends) - 1, len(words)))
    bags.sum_duplicates()  # sorts them, too
    return bags, words


def _statistics(
    counts: np.ndarray, n_texts_of: np.ndarray, n_words: float, n_distinct: int, n_texts: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return P(w|C) and inverse document frequency of words that occur in some of `n_texts`."""
    # add-one smoothing with one unseen word: no probability is zero
    share = (counts + 1) / (n_words + n_distinct + 1)
    return share, np.log((n_texts + 1) / (n_texts_of + 0.5))
