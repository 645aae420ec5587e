"""Re-ranking of candidates by the scores of their cluster (paper, section 3.1.3)."""

import numpy as np

from gsum_assets.gae.settings import RerankSettings


def rerank(scores: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Return R_i = S_i + sum of S_j P_j F_j over the rest of its cluster (equations 8 to 10).

    P_j = 1 / log(1 + rank_j), ranks from 1; F_j = S_j / sum of S_k over the same candidates,
    without i.

    Parameters
    ----------
    scores : S of a question's candidates, not negative, best first, `(n,)`.
    clusters : cluster of each candidate, `(n,)`.
    """
    weighted = scores**2 / np.log(1 + np.arange(1, len(scores) + 1))
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
        gain = rerank(values[best], clusters[best]) - values[best]
        reordered[row, best] = values[best] + weight * gain
    return reordered


def discounted(scores: np.ndarray, starts: np.ndarray, factor: float) -> np.ndarray:
    """Return scores multiplied by `factor` for each better passage of the same document (ours).

    The passages of the paper are up to 8,912 tokens long, about a document each. Of short ones,
    those of one document would crowd out the others that a question is about.

    Parameters
    ----------
    scores : S of every passage for each question, not negative, `(n_questions, n_passages)`.
    starts : index of each document's first passage, then `n_passages`, `(n_documents + 1,)`.
    """
    owners = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    factors = np.empty(scores.shape)
    for row, values in enumerate(scores):
        order = np.lexsort((-values, owners))  # by document, best first
        factors[row, order] = factor ** (np.arange(len(order)) - starts[owners])
    return scores * factors
