"""ROUGE-1, ROUGE-2 and ROUGE-L F1 with stemming, equal to the `rouge-score` package, but faster.

Words, stems and final scores are computed by the package. Only the counting is ours: texts are
split once and cached, and the longest common subsequence is found with bit operations (Hyyrö 2004)
instead of a table of len(a) x len(b) cells.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

METRICS = ("rouge1", "rouge2", "rougeL")


def rouge(prediction: str, references: Sequence[str]) -> dict[str, float]:
    """Return ROUGE F1 of a prediction, for each metric the maximum over the references.

    Parameters
    ----------
    prediction : an empty text scores 0.
    references : at least one.

    Returns
    -------
    `{"rouge1": .., "rouge2": .., "rougeL": ..}`, each 0 to 1.

    Raises
    ------
    ValueError
        If there is no reference: such a question has no ROUGE, rather than one of 0.
    """
    if not references:
        raise ValueError("rouge: no reference to compare with; leave this question out")
    predicted = counted(prediction)
    rows = [_scores(counted(reference), predicted) for reference in references]
    return {metric: max(row[metric] for row in rows) for metric in METRICS}


@dataclass(frozen=True)
class Counted:
    """A text's stemmed tokens, with the counts of tokens and of pairs."""

    tokens: tuple[str, ...]
    unigrams: Mapping[str, int]
    bigrams: Mapping[tuple[str, str], int]


class _CachedStemmer:
    """The stemmer of the package, with a cache."""

    def __init__(self) -> None:
        from nltk.stem.porter import PorterStemmer

        self.stem = lru_cache(maxsize=2**18)(PorterStemmer().stem)


@lru_cache
def _stemmer() -> _CachedStemmer:
    return _CachedStemmer()


@lru_cache(maxsize=512)  # references recur with every method; about 50 kB each
def counted(text: str) -> Counted:
    """Return the tokens of a text, split and stemmed by the package."""
    from rouge_score.tokenize import tokenize

    tokens = tuple(tokenize(text, _stemmer()))
    return Counted(tokens, Counter(tokens), Counter(pairwise(tokens)))


def _scores(reference: Counted, predicted: Counted) -> dict[str, float]:
    n_reference, n_predicted = len(reference.tokens), len(predicted.tokens)
    return {
        "rouge1": _f1(_shared(reference.unigrams, predicted.unigrams), n_reference, n_predicted),
        "rouge2": _f1(
            _shared(reference.bigrams, predicted.bigrams), n_reference - 1, n_predicted - 1
        ),
        "rougeL": _f1(lcs_length(reference.tokens, predicted.tokens), n_reference, n_predicted),
    }


def _shared(reference: Mapping, predicted: Mapping) -> int:
    """Return the number of common occurrences."""
    return sum(min(count, predicted.get(gram, 0)) for gram, count in reference.items())


def _f1(shared: int, n_reference: int, n_predicted: int) -> float:
    from rouge_score.scoring import fmeasure

    return float(fmeasure(shared / max(n_predicted, 1), shared / max(n_reference, 1)))


def lcs_length(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence.

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
