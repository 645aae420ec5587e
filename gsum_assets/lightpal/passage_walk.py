"""Our method `passage_walk`: a random walk from good seeds ranks all passages.

Differences from LightPAL: PageRank ranks all passages instead of the last 40%; the restart
probability is 0.1 instead of 0.8, and restarts are concentrated on the best passages; edges are
undirected and weighted; seeds are lexical and dense. `walk_trust` sets the weight of the walk, so
that the result relies on the seeds where the graph is misleading.
"""

import numpy as np

from gsum_assets.graphs.pagerank import DECIMALS, WalkGraph, personalized_pagerank
from gsum_assets.lightpal.passage_graph import ScopeGraphs
from gsum_assets.lightpal.settings import WalkSettings
from gsum_assets.retrieval.collection import Questions
from gsum_assets.retrieval.hybrid import min_max
from gsum_assets.retrieval.ranking import Retriever, Scores, first_of


class PassageWalk:
    """Retriever that combines seeds and a random walk from them, weighted by trust.

    Parameters
    ----------
    seeds : retriever whose scores the walk starts from.
    graphs : graphs with edges in both directions.
    trust : trust in the graph of chunks and in that of documents, 0 to 1.
    """

    def __init__(
        self,
        seeds: Retriever,
        graphs: ScopeGraphs,
        trust: tuple[float, float],
        settings: WalkSettings,
    ) -> None:
        self._seeds = seeds
        self._graphs = graphs
        self._trust = trust
        self._settings = settings

    def scores(self, questions: Questions) -> Scores:
        """Return scores between 0 and 1."""
        seed_scores = self._seeds.scores(questions)
        in_nodes, in_documents = self._trust
        return Scores(
            walked(self._graphs.nodes, seed_scores.nodes, in_nodes, self._settings),
            walked(self._graphs.documents, seed_scores.documents, in_documents, self._settings),
        )


def walked(graph: WalkGraph, seeds: np.ndarray, trust: float, settings: WalkSettings) -> np.ndarray:
    """Return the weighted scores of seeds and walk, scaled to 0 to 1, `(n_questions, n_passages)`.

    Parameters
    ----------
    seeds : scores of the seeds, `(n_questions, n_passages)`.
    trust : 0 keeps the order of the seeds; 1 gives the walk its maximum weight.
    """
    weight = settings.most_trust * trust
    scaled = min_max(seeds)
    if not weight:
        return scaled
    walks = np.array([walk_from(graph, row, settings) for row in seeds]).reshape(seeds.shape)
    walks /= walks.max(axis=1, keepdims=True)
    return (1 - weight) * scaled + weight * walks


def walk_from(graph: WalkGraph, seeds: np.ndarray, settings: WalkSettings) -> np.ndarray:
    """Return the PageRank with restarts at the best of `seeds`, `(n_passages,)`."""
    best, weights = peaked(seeds, settings.n_teleport, settings.power)
    return np.round(personalized_pagerank(graph, best, weights, settings.restart), DECIMALS)


def peaked(scores: np.ndarray, n: int, power: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the best `n` passages and their restart weights.

    The weights are the scores scaled to 0 to 1 over these passages, raised to `power`.

    Parameters
    ----------
    scores : scores for one question, `(n_passages,)`.
    """
    best = first_of(scores, n)
    best_scores = scores[best].astype(np.float64)
    span = best_scores[0] - best_scores[-1]
    weights = (
        ((best_scores - best_scores[-1]) / span) ** power if span > 0 else np.ones(len(best_scores))
    )
    return best, weights
