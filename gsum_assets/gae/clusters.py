"""Clustering of passages by the graph (ours) or by their embeddings (paper, 3.1.2)."""

import numpy as np

from gsum_assets.gae.graph_edges import Edges
from gsum_assets.gae.methods import Clustering
from gsum_assets.gae.settings import ClusterSettings
from gsum_assets.graphs.clusters import by_size, leiden

# Comparing all pairs of more nodes takes minutes.
_MOST_EXACT = 2**14 - 1
_BATCH, _PASSES = 4096, 10  # of mini-batch K-Means: nodes per batch, passes over the nodes


def clustered(
    name: Clustering, edges: Edges, embeddings: np.ndarray, settings: ClusterSettings
) -> np.ndarray:
    """Return the cluster of each node, `(n_nodes,)`, largest first.

    Parameters
    ----------
    edges : edges of the graph, for Leiden.
    embeddings : embeddings of the auto-encoder, `(n_nodes, dim)`; `dim` may be 0 for Leiden.

    Raises
    ------
    ValueError
        For DBSCAN of more than 16,383 nodes.
    """
    n = len(embeddings)
    if n < 2:
        return np.arange(n)
    if name == "leiden":
        return leiden(n, *edges, settings.resolution, settings.seed)
    if name == "k_means":
        lengths = np.linalg.norm(embeddings, axis=1, keepdims=True)
        scaled = embeddings / np.where(lengths > 0, lengths, 1)
        return k_means(scaled, max(1, round(n / settings.k_means_size)), settings.seed)
    if n > _MOST_EXACT:
        raise ValueError(
            f"gae/clusters: DBSCAN of {n:,} passages would compare all pairs; at most "
            f"{_MOST_EXACT:,} are clustered by it, use the method gae or gae-autoencoder instead"
        )
    return dbscan(embeddings, settings.dbscan_eps, settings.dbscan_min_samples)


def dbscan(embeddings: np.ndarray, eps: float, min_samples: int = 2) -> np.ndarray:
    """Return DBSCAN clusters (Ester et al., 1996), `(n_nodes,)`; noise points are single."""
    from sklearn.cluster import DBSCAN

    clusters = DBSCAN(eps=eps, min_samples=min_samples).fit_predict(embeddings)
    noise = clusters < 0
    clusters[noise] = clusters.max(initial=-1) + 1 + np.arange(noise.sum())
    return by_size(clusters)


def k_means(embeddings: np.ndarray, n_clusters: int, seed: int = 0) -> np.ndarray:
    """Return K-Means clusters (MacQueen, 1967), `(n_nodes,)`, at most one per distinct embedding.

    Beyond 16,383 nodes it is mini-batch K-Means (Sculley, 2010).
    """
    from sklearn.cluster import KMeans, MiniBatchKMeans

    n_clusters = min(n_clusters, len(np.unique(embeddings, axis=0)))
    if len(embeddings) <= _MOST_EXACT:
        model = KMeans(n_clusters, n_init=3, random_state=seed)  # pyright: ignore[reportArgumentType]
    else:
        model = MiniBatchKMeans(
            n_clusters,
            init="random",  # k-means++ takes quadratic time
            n_init=1,  # pyright: ignore[reportArgumentType]
            batch_size=_BATCH,
            max_iter=_PASSES,
            random_state=seed,
        )
    return by_size(model.fit_predict(embeddings))
