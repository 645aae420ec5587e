"""Clustering of passages by the graph (ours) or by their embeddings (paper, 3.1.2), and its weight.

The weight of re-ranking follows from held-out passages that serve as queries: an independent
retriever values the results that re-ranking moves up.
"""

import numpy as np

from gsum_assets.gae.graph import Edges
from gsum_assets.gae.methods import Clustering
from gsum_assets.gae.rank import reranked
from gsum_assets.gae.settings import ClusterSettings
from gsum_assets.graphs.clusters import by_size, leiden
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.held_out import held_out, held_out_within, joined, t_value
from gsum_assets.retrieval.hybrid import min_max

_SEED = 0  # of Leiden
_LEAST_SAMPLES = 2  # passages within eps (C.3)
_MOST_COMPARED = 2**14 - 1  # passages: all pairs of more take minutes
_PROBES = 300  # held-out passages
_JUDGED_AT = 5  # K for held-out passages: 50 candidates are re-ranked
_BY_CHANCE = 2.0  # t value that chance exceeds in one of twenty cases


def clustered(
    name: Clustering, edges: Edges, embeddings: np.ndarray, settings: ClusterSettings
) -> np.ndarray:
    """Return the cluster of each node, `(n_nodes,)`, largest first.

    Leiden clusters the edges, DBSCAN the embeddings `(n_nodes, dim)`; a noise point is a cluster of
    its own. Raises ValueError for DBSCAN of more than 16,383 nodes.
    """
    n = len(embeddings)
    if n < 2:
        return np.arange(n)
    if name == "leiden":
        return leiden(n, *edges, settings.resolution, _SEED)
    if n > _MOST_COMPARED:
        raise ValueError(
            f"gae/clusters: DBSCAN of {n:,} passages would compare all pairs; at most "
            f"{_MOST_COMPARED:,} are clustered by it, use the method gae instead"
        )
    from sklearn.cluster import DBSCAN

    dbscan = DBSCAN(eps=settings.dbscan_eps, min_samples=_LEAST_SAMPLES)
    clusters = dbscan.fit_predict(embeddings)
    noise = clusters < 0
    clusters[noise] = clusters.max(initial=-1) + 1 + np.arange(noise.sum())
    return by_size(clusters)


def agreements(collection: Collection, clusters: np.ndarray, language: str) -> dict[str, float]:
    """Return the paired t of results after re-ranking and before, by scope of questions (ours).

    It is 0 without evidence. `clusters` has the cluster of each chunk, `(n_chunks,)`.
    """

    def rerank_by(labels: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return reranked(min_max(scores), labels, _JUDGED_AT)

    whole = [
        probes.of_nodes(lambda scores: rerank_by(clusters, scores))
        for probes in held_out(collection, language, _PROBES)
    ]
    within = [
        probes.of_nodes(lambda scores, chunks=chunks: rerank_by(clusters[chunks], scores))
        for _, chunks, probes in held_out_within(collection, language, _PROBES)
    ]
    return {
        scope: float(t_value(joined(evidence)))
        for scope, evidence in (("corpus", whole), ("document", within))
    }


def weight_of(agreement: float) -> float:
    """Return max(0, 1 - (2 / t)^2), or 0 if t is not positive: effects within chance weigh 0."""
    return max(0.0, 1 - (_BY_CHANCE / agreement) ** 2) if agreement > 0 else 0.0
