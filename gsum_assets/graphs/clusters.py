"""Leiden communities of a graph, and the names of clusters."""

import numpy as np


def leiden(
    n_nodes: int,
    sources: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    resolution: float,
    seed: int = 0,
) -> np.ndarray:
    """Return Leiden communities by modularity (Traag et al., 2019), `(n_nodes,)`, largest first.

    Edges, `(n_edges,)`, have no direction or order; weights of parallel ones add up. A higher
    resolution gives more and smaller communities.
    """
    from graspologic_native import leiden as native  # pyright: ignore[reportAttributeAccessIssue]

    first, last = np.minimum(sources, targets), np.maximum(sources, targets)
    pairs, inverse = np.unique(np.stack([first, last], 1), axis=0, return_inverse=True)
    total = np.bincount(inverse.ravel(), weights)
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

    The numbers of the nodes are `content_hash.numbers_of`. A cluster keeps its name when others
    change, or it gets or loses another member.
    """
    distinct, cluster_of = np.unique(clusters, return_inverse=True)
    least = np.full(len(distinct), np.iinfo(np.int64).max)
    np.minimum.at(least, cluster_of, numbers)
    return least[cluster_of]
