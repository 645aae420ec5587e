"""Re-ranking of candidates by the scores of their cluster (paper, section 3.1.3)."""

import numpy as np

from gsum_assets.gae.settings import RerankSettings


def rerank(scores: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Return R_i = S_i + sum of S_j P_j F_j over the rest of its cluster (equations 8 to 10).

    P_j = 1 / log2(1 + rank_j), ranks from 1; F_j = S_j / sum of S_k over the same candidates,
    without i.

    Parameters
    ----------
    scores : S of a question's candidates, not negative, best first, `(n,)`.
    clusters : cluster of each candidate, `(n,)`.
    """
    weighted = scores**2 / np.log2(1 + np.arange(1, len(scores) + 1))
    _, cluster_of = np.unique(clusters, return_inverse=True)
    mass = np.bincount(cluster_of, scores)[cluster_of] - scores
    gain = np.bincount(cluster_of, weighted)[cluster_of] - weighted
    alone = np.bincount(cluster_of)[cluster_of] == 1
    return scores + np.divide(gain, mass, out=np.zeros(len(scores)), where=~alone & (mass > 0))


def reranked(
    scores: np.ndarray,
    clusters: np.ndarray,
    k: int,
    settings: RerankSettings,
    weight: float = 1.0,
) -> np.ndarray:
    """Return scores with the best candidates of each row re-ranked, all others after them.

    Parameters
    ----------
    scores : S of every passage for each question, 0 to 1, `(n_questions, n_passages)`.
    clusters : cluster of each passage, `(n_passages,)`.
    k : K, number of passages in a context.
    weight : weight of a candidate's gain; 1 is the published formula.

    Returns
    -------
    np.ndarray
        `(n_questions, n_passages)`; scores of candidates are not negative, all others are.
    """
    reordered = scores.astype(np.float64) - 2  # below every candidate
    for row, values in enumerate(scores.astype(np.float64)):
        best = np.argsort(-values, kind="stable")[: settings.candidates_per_k * k]
        best_values = values[best]
        if settings.scores == "normalized":
            span = best_values[0] - best_values[-1]
            best_values = (
                (best_values - best_values[-1]) / span if span > 0 else np.ones(len(best_values))
            )
        reordered[row, best] = best_values + weight * (
            rerank(best_values, clusters[best]) - best_values
        )
    return reordered
