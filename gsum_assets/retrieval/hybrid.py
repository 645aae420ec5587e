"""Fusion of retrievers, of chunks and documents separately."""

from collections.abc import Callable, Sequence

import numpy as np

from gsum_assets.retrieval.bm25 import Bm25
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.ranking import Retriever, Scores
from gsum_assets.retrieval.words import Words

LEXICAL_WEIGHT = 0.6  # paper of graph-augmented ODMDS, appendix on settings
DENSE_WEIGHT = 0.4
RRF_K = 60  # Cormack, Clarke and Buettcher 2009


class Fusion:
    """Sum of several retrievers' scores by weight, each scaled per question over its scope.

    `scale` scales scores, `(n_questions, n_items)`: `min_max` or `reciprocal_ranks`.
    """

    def __init__(
        self,
        retrievers: Sequence[tuple[Retriever, float]],
        scale: Callable[[np.ndarray], np.ndarray],
    ) -> None:
        self._retrievers, self._scale = retrievers, scale

    def scores(self, questions: Questions) -> Scores:
        """Return scores between 0 and the sum of the weights."""
        weights = [weight for _, weight in self._retrievers]
        levels = zip(*(each.scores(questions) for each, _ in self._retrievers), strict=True)
        return Scores(*(self._fused(scores, weights) for scores in levels))

    def _fused(self, scores: Sequence[np.ndarray], weights: Sequence[float]) -> np.ndarray:
        total = np.zeros(scores[0].shape)  # float64, whatever the scores are
        for of_retriever, weight in zip(scores, weights, strict=True):
            total += weight * self._scale(of_retriever)
        return total


def hybrid(collection: Collection, words: Words | None = None) -> Fusion:
    """Return 0.6 BM25 + 0.4 dense."""
    weighted = [(Bm25(collection, words), LEXICAL_WEIGHT), (Dense(collection), DENSE_WEIGHT)]
    return Fusion(weighted, min_max)


def rrf(collection: Collection, words: Words | None = None) -> Fusion:
    """Return BM25 and dense, fused by their ranks."""
    return Fusion([(Bm25(collection, words), 1.0), (Dense(collection), 1.0)], reciprocal_ranks)


def min_max(scores: np.ndarray) -> np.ndarray:
    """Return each row of `(n, n_items)`, at least one item, scaled to 0..1; a constant one is 0."""
    low = scores.min(axis=1, keepdims=True)
    span = scores.max(axis=1, keepdims=True) - low
    return (scores - low) / np.where(span > 0, span, 1)


def reciprocal_ranks(scores: np.ndarray) -> np.ndarray:
    """Return 1 / (`RRF_K` + rank) of each item in its row."""
    return 1 / (RRF_K + ranks(scores))


def ranks(scores: np.ndarray) -> np.ndarray:
    """Return the rank of each item in its row, from 1; equal scores share the best rank."""
    from scipy.stats import rankdata

    return rankdata(-scores, method="min", axis=1)
