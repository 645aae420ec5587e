"""Nodes to clusters: by their embeddings, or by the graph itself (paper, 3.1.2, and ours)."""

import numpy as np


def leiden(
    n_nodes: int,
    sources: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    resolution: float,
    seed: int = 0,
) -> np.ndarray:
    """Communities by modularity (Traag et al., 2019), `(n_nodes,)`; the largest is 0.

    The same graph in any order of its edges gives the same communities.

    Parameters
    ----------
    sources, targets, weights : edges, either way alike; parallel ones add up.
    resolution : higher gives more and smaller communities.
    """
    from graspologic_native import leiden as native

    first, last = np.minimum(sources, targets), np.maximum(sources, targets)
    pairs, places = np.unique(np.stack([first, last], 1), axis=0, return_inverse=True)
    total = np.bincount(places.ravel(), weights)
    edges = [(str(a), str(b), float(w)) for (a, b), w in zip(pairs.tolist(), total, strict=True)]
    found = np.arange(n_nodes) + n_nodes  # a node without an edge is alone
    if edges:
        _, community_of = native(
            edges=edges,
            starting_communities=None,
            resolution=resolution,
            randomness=0.001,
            iterations=2,
            use_modularity=True,
            seed=seed,
            trials=1,
        )
        for node, community in community_of.items():
            found[int(node)] = community
    return by_size(found)


def dbscan(embeddings: np.ndarray, eps: float, min_samples: int = 2) -> np.ndarray:
    """DBSCAN (Ester et al., 1996); noise points are clusters of their own, `(n_nodes,)`."""
    from sklearn.cluster import DBSCAN

    return by_size(_without_noise(DBSCAN(eps=eps, min_samples=min_samples).fit_predict(embeddings)))


def hdbscan(embeddings: np.ndarray, min_cluster_size: int = 3) -> np.ndarray:
    """HDBSCAN (Campello et al., 2013); noise points are clusters of their own, `(n_nodes,)`."""
    from sklearn.cluster import HDBSCAN

    found = HDBSCAN(min_cluster_size=min_cluster_size, copy=True).fit_predict(embeddings)
    return by_size(_without_noise(found))


def k_means(embeddings: np.ndarray, n_clusters: int, seed: int = 0) -> np.ndarray:
    """K-Means (MacQueen, 1967), `(n_nodes,)`; at most as many clusters as nodes."""
    from sklearn.cluster import KMeans

    n_clusters = min(n_clusters, len(embeddings))
    return by_size(KMeans(n_clusters, n_init=3, random_state=seed).fit_predict(embeddings))


def by_size(clusters: np.ndarray) -> np.ndarray:
    """The same clusters numbered from 0, largest first, equal ones by their first node."""
    _, first, cluster_of, size = np.unique(
        clusters, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.lexsort((first, -size))
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    return number[cluster_of]


def _without_noise(clusters: np.ndarray) -> np.ndarray:
    noise = clusters < 0
    alone = clusters.max(initial=0) + 1 + np.arange(noise.sum())
    found = clusters.copy()
    found[noise] = alone
    return found
