"""Candidates gain by what others of their cluster scored (paper, section 3.1.3)."""

import numpy as np


def rerank(scores: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """R_i = S_i + sum over the other candidates of its cluster of S_j P_j F_j (equations 8 to 10).

    P_j = 1 / log2(1 + rank_j), ranks from 1; F_j = S_j / sum of S_k over the same candidates, i
    left out.

    Parameters
    ----------
    scores : S of a question's candidates, not negative, best first, `(n,)`.
    clusters : the cluster of each, `(n,)`.
    """
    weighted = scores**2 / np.log2(1 + np.arange(1, len(scores) + 1))
    _, cluster_of = np.unique(clusters, return_inverse=True)
    mass = np.bincount(cluster_of, scores)[cluster_of] - scores
    gain = np.bincount(cluster_of, weighted)[cluster_of] - weighted
    alone = np.bincount(cluster_of)[cluster_of] == 1
    return scores + np.divide(gain, mass, out=np.zeros(len(scores)), where=~alone & (mass > 0))
