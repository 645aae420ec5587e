"""Quality of a ranking: P, R, F1 and nDCG at K, and MRR.

Relevance is binary. Cases that libraries treat differently:

* nothing is relevant to the question: there is no score, rather than one of 0;
* fewer than K items were retrieved: the missing ranks count as misses, P@K divides by K;
* fewer than K items are relevant: R@K and nDCG@K can reach 1, P@K cannot.

F1@K is computed for each question. Papers often give the harmonic mean of the averaged P and R
instead (graph-augmented ODMDS does, table 2): `harmonic_mean` of two averages.
"""

from collections.abc import Collection, Sequence

import numpy as np


def retrieval_metrics(
    ranked: Sequence[str], relevant: Collection[str], ks: Sequence[int] = (3, 8, 10)
) -> dict[str, float] | None:
    """Return all metrics of one ranking.

    Parameters
    ----------
    ranked : ids, best first, each once.
    relevant : ids of relevant items.
    ks : cut-offs, each at least 1.

    Returns
    -------
    `p@K`, `r@K`, `f1@K`, `ndcg@K` for each K, and `mrr` over the whole ranking, each 0 to 1;
    None if nothing is relevant.

    Raises
    ------
    ValueError
        If an id is ranked twice, or a cut-off is below 1.
    """
    if len(set(ranked)) < len(ranked):
        twice = next(item for i, item in enumerate(ranked) if item in ranked[:i])
        raise ValueError(f"retrieval_metrics: '{twice}' is ranked twice; rank each item once")
    if min(ks, default=1) < 1:
        raise ValueError(f"retrieval_metrics: cut-off {min(ks)}; cut-offs begin at 1")
    relevant_ids = set(relevant)
    if not relevant_ids:
        return None
    hits = np.array([item in relevant_ids for item in ranked], dtype=bool)
    values = {"mrr": reciprocal_rank(hits)}
    for k in ks:
        precision, recall = hits[:k].sum() / k, hits[:k].sum() / len(relevant_ids)
        values |= {
            f"p@{k}": float(precision),
            f"r@{k}": float(recall),
            f"f1@{k}": harmonic_mean(precision, recall),
            f"ndcg@{k}": ndcg(hits, len(relevant_ids), k),
        }
    return values


def reciprocal_rank(hits: np.ndarray) -> float:
    """Return 1 / rank of the first hit; 0 without one. `hits` bool, `(n_ranked,)`."""
    return float(1 / (1 + np.argmax(hits))) if hits.any() else 0.0


def ndcg(hits: np.ndarray, n_relevant: int, k: int) -> float:
    """Return the discounted gain of the first K, relative to the best possible one.

    A hit at rank r gains 1 / log2(1 + r) (Järvelin and Kekäläinen 2002).
    """
    gains = 1 / np.log2(np.arange(2, k + 2))  # (k,)
    gain = gains[: len(hits)][hits[:k]].sum()
    return float(gain / gains[:n_relevant].sum())


def harmonic_mean(first: float, second: float) -> float:
    """Return 2ab / (a + b), or 0 if both are 0."""
    return float(2 * first * second / (first + second)) if first + second > 0 else 0.0
