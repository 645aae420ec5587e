"""Our method `passage_walk`: a random walk from good seeds ranks all passages.

Differences from LightPAL: PageRank ranks all passages instead of the last 40%; the restart
probability is 0.1 instead of 0.8, and restarts are concentrated on the best passages; edges are
undirected and weighted; seeds are lexical and dense; documents of one community are found together
(`communities.py`). `walk_trust` sets the weight of walk and communities, so that the result relies
on the seeds where the graph is misleading.
"""

from collections import Counter

import numpy as np

from gsum_assets.graphs.pagerank import DECIMALS, WalkGraph, personalized_pagerank
from gsum_assets.lightpal.communities import means_of
from gsum_assets.lightpal.passage_graph import ScopeGraphs
from gsum_assets.lightpal.settings import LightpalSettings, WalkSettings
from gsum_assets.retrieval.collection import Questions
from gsum_assets.retrieval.hybrid import min_max
from gsum_assets.retrieval.ranking import DEPTH, Retriever, Scores, first_of

_SPREAD_AMONG = 4 * DEPTH


class PassageWalk:
    """Retriever that combines seeds and a random walk from them, weighted by trust.

    Parameters
    ----------
    seeds : retriever whose scores the walk starts from.
    graphs : graphs with edges in both directions.
    trust : trust in the graph of chunks and in that of documents, 0 to 1.
    owners : document of each chunk, `(n_chunks,)`.
    community : community of each document, numbered from 0, `(n_documents,)`.
    """

    def __init__(
        self,
        seeds: Retriever,
        graphs: ScopeGraphs,
        trust: tuple[float, float],
        owners: np.ndarray,
        community: np.ndarray,
        settings: LightpalSettings,
    ) -> None:
        self._seeds = seeds
        self._graphs = graphs
        self._trust = trust
        self._owners = owners
        self._community = community
        self._settings = settings.walk
        self._spread = settings.communities.spread

    def scores(self, questions: Questions) -> Scores:
        """Return scores between 0 and 2; those of a community are added to its chunks, too."""
        found, settings = self._seeds.scores(questions), self._settings
        in_nodes, in_documents = self._trust
        nodes = walked(self._graphs.nodes, found.nodes, in_nodes, settings)
        weight = settings.most_trust * in_documents
        if not weight:
            return Scores(nodes, min_max(found.documents))
        walks = _walks(self._graphs.documents, found.documents, settings)
        means = means_of(walks, self._community)
        together = weight * means / means.max(axis=1, keepdims=True)
        documents = (1 - weight) * min_max(found.documents) + weight * walks + together
        nodes += together[:, self._owners]
        for row in nodes:
            spread_out(row, self._owners, self._spread * in_documents)
        return Scores(nodes, documents)


def spread_out(scores: np.ndarray, owners: np.ndarray, step: float) -> None:
    """Lower the scores of a document's passages in place, by a `step` for each better one.

    So the best passages are not all of one document where others of its community are as good.

    Parameters
    ----------
    scores : scores for one question, `(n_passages,)`; only the best few are looked at.
    owners : document of each passage, `(n_passages,)`.
    """
    n_better: Counter[int] = Counter()
    for passage in first_of(scores, _SPREAD_AMONG).tolist():
        owner = int(owners[passage])
        scores[passage] -= step * n_better[owner]
        n_better[owner] += 1


def walked(graph: WalkGraph, seeds: np.ndarray, trust: float, settings: WalkSettings) -> np.ndarray:
    """Return the weighted scores of seeds and walk, scaled to 0 to 1, `(n_questions, n_passages)`.

    Parameters
    ----------
    seeds : scores of the seeds, `(n_questions, n_passages)`.
    trust : 0 keeps the order of the seeds; 1 gives the walk its maximum weight.
    """
    weight = settings.most_trust * trust
    if not weight:
        return min_max(seeds)
    return (1 - weight) * min_max(seeds) + weight * _walks(graph, seeds, settings)


def _walks(graph: WalkGraph, seeds: np.ndarray, settings: WalkSettings) -> np.ndarray:
    """Return the walks of each question, scaled to at most 1, `(n_questions, n_passages)`."""
    walks = np.array([walk_from(graph, row, settings) for row in seeds]).reshape(seeds.shape)
    return walks / walks.max(axis=1, keepdims=True)


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
