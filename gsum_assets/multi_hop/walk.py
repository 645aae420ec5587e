"""Personalized PageRank over passages and entities."""

import numpy as np

from gsum_assets.graphs.pagerank import WalkGraph, personalized_pagerank

_TOLERANCE = 1e-10  # a corpus has thousands of passages, whose probabilities are small
_DECIMALS = 8


def passage_graph(
    n_passages: int, n_entities: int, edges: np.ndarray, weights: np.ndarray
) -> WalkGraph:
    """Return an undirected graph whose nodes are the passages, then the entities.

    Parameters
    ----------
    edges : both nodes of each edge, `(n_edges, 2)`; parallel edges add up.
    weights : `(n_edges,)`, positive.
    """
    sources, targets = edges.T
    return WalkGraph(
        n_passages + n_entities,
        np.concatenate([sources, targets]),
        np.concatenate([targets, sources]),
        np.concatenate([weights, weights]).astype(np.float64),
    )


def passage_scores(graph: WalkGraph, restart: np.ndarray, damping: float, n: int) -> np.ndarray:
    """Return the probability of each of the first `n` nodes, 0 where no node has weight, `(n,)`.

    Parameters
    ----------
    restart : weights of the nodes to which the walk returns, `(n_nodes,)`, not negative.
    damping : probability of a step along an edge.
    """
    seeds = np.flatnonzero(restart)
    if not len(seeds):
        return np.zeros(n)
    walk = personalized_pagerank(graph, seeds, restart[seeds], 1 - damping, _TOLERANCE)
    return np.round(walk[:n], _DECIMALS)
