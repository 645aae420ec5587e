"""ROUGE-1, ROUGE-2 and ROUGE-L F1 with stemming, equal to the `rouge-score` package, but faster.

The package computes the words of Latin text, runs of a-z and 0-9 ("café" is "caf"), so that figures
compare with published ones; it drops all other letters. Here words of other scripts are tokens too,
and each character of a script without blanks, such as Chinese.
"""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import regex

from gsum_resources.text.vocabulary import CHARACTER, lowered

METRICS = ("rouge1", "rouge2", "rougeL")
_LETTER = r"[\p{L}--[\p{Latin}\p{Common}\p{Inherited}]]"  # of other scripts than Latin
_TOKEN = regex.compile(
    rf"[a-z0-9]+|{CHARACTER}|{_LETTER}(?:(?!{CHARACTER})[{_LETTER}\p{{M}}])*|[\p{{Nd}}--[0-9]]+",
    regex.VERSION1,
)


def rouge(prediction: str, references: Sequence[str]) -> dict[str, float]:
    """Return `{"rouge1": .., "rouge2": .., "rougeL": ..}`, 0 to 1: the maxima over references.

    Raises `ValueError` if there is no reference: such a question has no ROUGE, rather than one of
    0.
    """
    if not references:
        raise ValueError("rouge: no reference to compare with; leave this question out")
    predicted = counted(prediction)
    rows = [_scores(counted(reference), predicted) for reference in references]
    return {metric: max(row[metric] for row in rows) for metric in METRICS}


class Counted(NamedTuple):
    """A text's stemmed tokens, with the counts of tokens and of pairs."""

    tokens: Sequence[str]
    unigrams: Counter[str]
    bigrams: Counter[tuple[str, str]]


def counted(text: str) -> Counted:
    """Return the tokens of a text with their counts."""
    tokens = tokens_of(text)
    return Counted(tokens, Counter(tokens), Counter(pairwise(tokens)))


class _CachedStemmer:
    """The stemmer of the package, with a cache."""

    def __init__(self) -> None:
        from nltk.stem.porter import PorterStemmer

        self.stem = lru_cache(maxsize=2**18)(PorterStemmer().stem)


_stemmer = lru_cache(_CachedStemmer)


@lru_cache(maxsize=2**13)  # references recur with every method; about 10 kB each
def tokens_of(text: str) -> Sequence[str]:
    """Return the tokens of a text; those of Latin letters and digits as the package has them."""
    from rouge_score.tokenize import tokenize

    if text.isascii():
        return tokenize(text, _stemmer())
    tokens = []
    for token in _TOKEN.findall(lowered(text)):
        tokens += tokenize(token, _stemmer()) if token.isascii() else [token]
    return tokens


def _scores(reference: Counted, predicted: Counted) -> dict[str, float]:
    """Return F1 by metric."""
    from rouge_score.scoring import fmeasure

    n_reference, n_predicted = len(reference.tokens), len(predicted.tokens)
    shared = {  # shared units, and how many fewer than tokens a text has of them
        "rouge1": ((predicted.unigrams & reference.unigrams).total(), 0),
        "rouge2": ((predicted.bigrams & reference.bigrams).total(), 1),
        "rougeL": (lcs_length(reference.tokens, predicted.tokens), 0),
    }
    return {
        metric: float(fmeasure(n / max(n_predicted - less, 1), n / max(n_reference - less, 1)))
        for metric, (n, less) in shared.items()
    }


def lcs_length(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence, with bit operations (Hyyrö 2004).

    `row` has one column of the usual table as bits: bit i is 0 if the table grows by one between
    `first[:i]` and `first[:i + 1]`. An integer addition updates all cells at once.
    """
    positions: dict[str, int] = {}
    for i, token in enumerate(first):
        positions[token] = positions.get(token, 0) | 1 << i
    full = (1 << len(first)) - 1
    row = full
    for token in second:
        matches = row & positions.get(token, 0)
        row = ((row + matches) | (row - matches)) & full
    return len(first) - row.bit_count()
