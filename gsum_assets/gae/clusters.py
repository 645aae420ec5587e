"""Clustering of passages by the graph (ours) or by their embeddings (paper, 3.1.2)."""

import numpy as np

from gsum_assets.gae.graph_edges import Edges
from gsum_assets.gae.methods import Clustering
from gsum_assets.gae.settings import ClusterSettings

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
        return leiden(n, edges, settings.resolution, settings.seed)
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


def leiden(n_nodes: int, edges: Edges, resolution: float, seed: int = 0) -> np.ndarray:
    """Return Leiden communities by modularity (Traag et al., 2019), `(n_nodes,)`, largest first.

    The result does not depend on the order of edges; weights of parallel edges add up.

    Parameters
    ----------
    resolution : higher gives more and smaller communities.
    """
    from graspologic_native import leiden as native  # pyright: ignore[reportAttributeAccessIssue]

    first, last = np.minimum(*edges[:2]), np.maximum(*edges[:2])
    pairs, inverse = np.unique(np.stack([first, last], 1), axis=0, return_inverse=True)
    total = np.bincount(inverse.ravel(), edges.weights)
    named = [(str(a), str(b), float(w)) for (a, b), w in zip(pairs.tolist(), total, strict=True)]
    communities = np.arange(n_nodes) + n_nodes  # a node without an edge is alone
    if named:
        _, community_of = native(
            edges=named,
            starting_communities=None,
            resolution=resolution,
            randomness=0.001,
            iterations=2,
            use_modularity=True,
            seed=seed,
            trials=1,
        )
        for node, community in community_of.items():
            communities[int(node)] = community
    return by_size(communities)


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


def by_size(clusters: np.ndarray) -> np.ndarray:
    """Return the clusters renumbered from 0, largest first, ties by their first node."""
    _, first, cluster_of, size = np.unique(
        clusters, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.lexsort((first, -size))
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    return number[cluster_of]


def named_by_members(clusters: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return the clusters named by the smallest number of their members, int64 `(n_nodes,)`.

    A cluster keeps its name when others change, or it gets or loses another member. Counted by
    size, almost half of all passages would be in another cluster after an edit.

    Parameters
    ----------
    numbers : of the nodes (`content_hash.numbers_of`).
    """
    distinct, cluster_of = np.unique(clusters, return_inverse=True)
    least = np.full(len(distinct), np.iinfo(np.int64).max)
    np.minimum.at(least, cluster_of, numbers)
    return least[cluster_of]
