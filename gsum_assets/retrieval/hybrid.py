"""Fusion of retrievers by a weighted sum of scaled scores, and by reciprocal ranks.

Both fuse chunks and documents separately, so that a document's BM25 score is that of the whole
document.
"""

from collections.abc import Sequence

import numpy as np

from gsum_assets.retrieval.bm25 import Bm25, Bm25Settings
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.ranking import Retriever, Scores

LEXICAL_WEIGHT = 0.6  # paper of graph-augmented ODMDS, appendix on settings
DENSE_WEIGHT = 0.4
RRF_K = 60  # Cormack, Clarke and Buettcher 2009


class WeightedSum:
    """Sum of several retrievers' scores, each scaled to 0..1 per question over its scope."""

    def __init__(self, retrievers: Sequence[tuple[Retriever, float]]) -> None:
        self._retrievers = retrievers

    def scores(self, questions: Questions) -> Scores:
        """Return scores between 0 and the sum of the weights."""
        of_retrievers = [retriever.scores(questions) for retriever, _ in self._retrievers]
        weights = [weight for _, weight in self._retrievers]
        return Scores(
            _weighted([min_max(scores.nodes) for scores in of_retrievers], weights),
            _weighted([min_max(scores.documents) for scores in of_retrievers], weights),
        )


class ReciprocalRankFusion:
    """Sum of 1 / (k + rank) over several retrievers; equal scores share a rank."""

    def __init__(self, retrievers: Sequence[Retriever], k: int = RRF_K) -> None:
        self._retrievers = retrievers
        self._k = k

    def scores(self, questions: Questions) -> Scores:
        """Return scores between 0 and `len(retrievers) / (k + 1)`."""
        of_retrievers = [retriever.scores(questions) for retriever in self._retrievers]
        weights = [1.0] * len(of_retrievers)
        return Scores(
            _weighted([1 / (self._k + ranks(scores.nodes)) for scores in of_retrievers], weights),
            _weighted(
                [1 / (self._k + ranks(scores.documents)) for scores in of_retrievers], weights
            ),
        )


def hybrid(collection: Collection, settings: Bm25Settings | None = None) -> WeightedSum:
    """Return 0.6 BM25 + 0.4 dense."""
    return WeightedSum(
        [(Bm25(collection, settings), LEXICAL_WEIGHT), (Dense(collection), DENSE_WEIGHT)]
    )


def rrf(collection: Collection, settings: Bm25Settings | None = None) -> ReciprocalRankFusion:
    """Return BM25 and dense, fused by their ranks."""
    return ReciprocalRankFusion([Bm25(collection, settings), Dense(collection)])


def min_max(scores: np.ndarray) -> np.ndarray:
    """Return each row scaled to 0..1; a constant row becomes 0.

    Parameters
    ----------
    scores : `(n_questions, n_items)`, `n_items` at least 1.
    """
    low = scores.min(axis=1, keepdims=True)
    span = scores.max(axis=1, keepdims=True) - low
    return (scores - low) / np.where(span > 0, span, 1)


def ranks(scores: np.ndarray) -> np.ndarray:
    """Return the rank of each item in its row, from 1; equal scores share the best rank."""
    from scipy.stats import rankdata

    return rankdata(-scores, method="min", axis=1)


def _weighted(scores: Sequence[np.ndarray], weights: Sequence[float]) -> np.ndarray:
    total = np.zeros_like(scores[0], dtype=np.float64)
    for term, weight in zip(scores, weights, strict=True):
        total += weight * term
    return total
