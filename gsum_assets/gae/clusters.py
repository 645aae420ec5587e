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

_SEED = 0  # of Leiden and K-Means
_LEAST_SAMPLES = 2  # passages within eps (C.3)
# Comparing all pairs of more nodes takes minutes.
_MOST_EXACT = 2**14 - 1
_BATCH, _PASSES = 4096, 10  # of mini-batch K-Means: nodes per batch, passes over the nodes
_PROBES = 300  # held-out passages
_JUDGED_AT = 5  # K for held-out passages: 50 candidates are re-ranked
_BY_CHANCE = 2.0  # t value that chance exceeds in one of twenty cases


def clustered(
    name: Clustering, edges: Edges, embeddings: np.ndarray, settings: ClusterSettings
) -> np.ndarray:
    """Return the cluster of each node, `(n_nodes,)`, largest first.

    Leiden clusters the edges, K-Means the directions of embeddings `(n_nodes, dim)`, and DBSCAN the
    embeddings; a noise point is a cluster of its own. Raises ValueError for DBSCAN of more than
    16,383 nodes.
    """
    n = len(embeddings)
    if n < 2:
        return np.arange(n)
    if name == "leiden":
        return leiden(n, *edges, settings.resolution, _SEED)
    if name == "k_means":
        lengths = np.linalg.norm(embeddings, axis=1, keepdims=True)
        scaled = embeddings / np.where(lengths > 0, lengths, 1)
        return k_means(scaled, max(1, round(n / settings.k_means_size)))
    if n > _MOST_EXACT:
        raise ValueError(
            f"gae/clusters: DBSCAN of {n:,} passages would compare all pairs; at most "
            f"{_MOST_EXACT:,} are clustered by it, use the method gae or gae-autoencoder instead"
        )
    from sklearn.cluster import DBSCAN

    dbscan = DBSCAN(eps=settings.dbscan_eps, min_samples=_LEAST_SAMPLES)
    clusters = dbscan.fit_predict(embeddings)
    noise = clusters < 0
    clusters[noise] = clusters.max(initial=-1) + 1 + np.arange(noise.sum())
    return by_size(clusters)


def k_means(embeddings: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return K-Means clusters, `(n_nodes,)`, of many nodes by mini-batches (Sculley, 2010)."""
    from sklearn.cluster import KMeans, MiniBatchKMeans

    n_clusters = min(n_clusters, len(np.unique(embeddings, axis=0)))
    if len(embeddings) <= _MOST_EXACT:
        model = KMeans(n_clusters, n_init=3, random_state=_SEED)  # pyright: ignore[reportArgumentType]
    else:
        model = MiniBatchKMeans(
            n_clusters,
            init="random",  # k-means++ takes quadratic time
            n_init=1,  # pyright: ignore[reportArgumentType]
            batch_size=_BATCH,
            max_iter=_PASSES,
            random_state=_SEED,
        )
    return by_size(model.fit_predict(embeddings))


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
