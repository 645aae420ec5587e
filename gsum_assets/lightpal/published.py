"""The published retrieval (paper, section 4.2): initial passages and their context by PageRank.

For K passages the paper takes the best 60% of K from the initial retrieval (rounded up here), and
the rest from Personalized PageRank, which teleports uniformly to at most the best 20 of the former.
Both lists are interleaved, so that the ranking continues beyond K: among the first n, for every n,
60% come from the initial retriever, the others are PageRank's best remaining passages.
"""

import math
from collections.abc import Callable

import numpy as np

from gsum_assets.graphs.pagerank import DECIMALS, WalkGraph, personalized_pagerank
from gsum_assets.lightpal.passage_graph import ScopeGraphs
from gsum_assets.lightpal.settings import RetrievalSettings
from gsum_assets.retrieval.collection import Questions
from gsum_assets.retrieval.ranking import DEPTH, Retriever, Scores

ContextScores = Callable[[int, np.ndarray], np.ndarray]
"""Function from a question's number and its initial order to a score for every passage."""


class LightPal:
    """Retriever of `lightpal` and its variants: initial passages, and context by random walks.

    Parameters
    ----------
    initial : retriever of the initial passages.
    graphs : directed graphs with equal weights.
    k : K, number of passages in a context.
    """

    def __init__(
        self, initial: Retriever, graphs: ScopeGraphs, settings: RetrievalSettings, k: int
    ) -> None:
        self._initial = initial
        self._graphs = graphs
        self._settings = settings
        self._n_seeds = n_starts(settings.n_teleport, settings.initial_share, k)

    def scores(self, questions: Questions) -> Scores:
        """Return 1 / rank; 0 beyond the maximum depth of a ranking."""
        first = self._initial.scores(questions)
        return Scores(
            self._level(first.nodes, self._graphs.nodes),
            self._level(first.documents, self._graphs.documents),
        )

    def _level(self, first: np.ndarray, graph: WalkGraph) -> np.ndarray:
        chosen, restart = self._settings, 1 - self._settings.alpha

        def walk(_: int, order: np.ndarray) -> np.ndarray:
            seeds = order[: self._n_seeds]
            probabilities = personalized_pagerank(graph, seeds, np.ones(len(seeds)), restart)
            return np.round(probabilities, DECIMALS)

        return with_context(first, walk, chosen.initial_share)


def n_initial(share: float, k: int) -> int:
    """Return the number of initial passages among K: `share` of K, rounded up."""
    return math.ceil(share * k - 1e-9)


def n_starts(most: int, share: float, k: int) -> int:
    """Return the number of initial passages from which walks or paths start, at least one."""
    return max(1, min(most, n_initial(share, k)))


def with_context(first: np.ndarray, context: ContextScores, share: float) -> np.ndarray:
    """Return the scores of rankings that interleave initial and context passages.

    Parameters
    ----------
    first : scores by the initial retriever, `(n_questions, n_passages)`.
    context : scores the context passages of a question.
    share : share of initial passages among the K best, for every K.

    Returns
    -------
    np.ndarray
        1 / rank, `(n_questions, n_passages)`; 0 beyond the maximum depth of a ranking.
    """
    scores = np.zeros(first.shape)
    for question, row in enumerate(first):
        order = np.argsort(-row, kind="stable")
        by_context = order[np.argsort(-context(question, order)[order], kind="stable")]
        ranked = interleaved(order, by_context, share, min(DEPTH, len(order)))
        scores[question, ranked] = 1 / np.arange(1, len(ranked) + 1)
    return scores


def interleaved(first: np.ndarray, context: np.ndarray, share: float, depth: int) -> np.ndarray:
    """Return the union of two orders, with `share` K items of `first` among the first K.

    Parameters
    ----------
    first, context : the same items, best first.

    Returns
    -------
    np.ndarray
        The items in order, `(depth,)`.
    """
    in_order: dict[int, None] = {}
    others = iter(context.tolist())
    for k in range(1, depth + 1):
        n_first = n_initial(share, k)
        item = int(first[n_first - 1])
        if not n_first or item in in_order:
            item = next(other for other in others if other not in in_order)
        in_order[item] = None
    return np.fromiter(in_order, np.int64, depth)
