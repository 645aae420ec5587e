"""The published retrieval (paper, section 4.2): initial passages and their context by PageRank.

The best 60% of K, rounded up, are initial passages, the rest the best others by Personalized
PageRank. Both are interleaved, so that this holds for the first n of a ranking, for every n.
"""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from gsum_assets.graphs.pagerank import DECIMALS, WalkGraph, personalized_pagerank
from gsum_assets.lightpal.passage_graph import ScopeGraphs
from gsum_assets.retrieval.collection import Questions
from gsum_assets.retrieval.ranking import DEPTH, Retriever, Scores

INITIAL_SHARE = 0.6
"""Share of initial passages among K (5.1)."""

MOST_STARTS = 20
"""Most initial passages at which walks, and the paths of PromptRank, start (5.1)."""

ContextScores = Callable[[int, np.ndarray], np.ndarray]
"""Function from a question's number and its initial order to a score for every passage."""


class LightPal:
    """Retriever of `lightpal` and its variants: initial passages, and context by random walks.

    The graphs are directed, with equal weights; `alpha` is the probability of a step, 1 - alpha
    that of teleporting; `k` is K, the number of passages in a context.
    """

    def __init__(self, initial: Retriever, graphs: ScopeGraphs, alpha: float, k: int) -> None:
        self._initial, self._graphs = initial, graphs
        self._restart, self._n_starts = 1 - alpha, n_starts(k)

    def scores(self, questions: Questions) -> Scores:
        """Return 1 / rank; 0 beyond the maximum depth of a ranking."""
        first = self._initial.scores(questions)
        return Scores(
            with_context(first.nodes, partial(self._walk, self._graphs.nodes)),
            with_context(first.documents, partial(self._walk, self._graphs.documents)),
        )

    def _walk(self, graph: WalkGraph, _: int, order: np.ndarray) -> np.ndarray:
        starts = order[: self._n_starts]
        ranks = personalized_pagerank(graph, starts, np.ones(len(starts)), self._restart)
        return np.round(ranks, DECIMALS)


def n_initial(k: int) -> int:
    """Return the number of initial passages among K: a share of K, rounded up."""
    return math.ceil(INITIAL_SHARE * k - 1e-9)


def n_starts(k: int) -> int:
    """Return the number of initial passages from which walks or paths start, at least one."""
    return max(1, min(MOST_STARTS, n_initial(k)))


def with_context(first: np.ndarray, context: ContextScores) -> np.ndarray:
    """Return 1 / rank of interleaved passages, `(n_questions, n_passages)`; 0 beyond `DEPTH`.

    `first` has the scores by the initial retriever, `(n_questions, n_passages)`.
    """
    scores = np.zeros(first.shape)
    for question, row in enumerate(first):
        order = np.argsort(-row, kind="stable")
        by_context = order[np.argsort(-context(question, order)[order], kind="stable")]
        ranked = interleaved(order, by_context, min(DEPTH, len(order)))
        scores[question, ranked] = 1 / np.arange(1, len(ranked) + 1)
    return scores


def interleaved(first: np.ndarray, context: np.ndarray, depth: int) -> np.ndarray:
    """Return the union of two orders of the same items, `(depth,)`.

    Among the first K are `n_initial(K)` items of `first`, for every K.
    """
    in_order: dict[int, None] = {}
    others = iter(context.tolist())
    for k in range(1, depth + 1):
        n_first = n_initial(k)
        item = int(first[n_first - 1])
        if not n_first or item in in_order:
            item = next(other for other in others if other not in in_order)
        in_order[item] = None
    return np.fromiter(in_order, np.int64, depth)
