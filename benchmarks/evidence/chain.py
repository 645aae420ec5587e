"""A chain over neighbours: evidence is contiguous, so that equal neighbours are more likely."""

import numpy as np


def chained(probabilities: np.ndarray, odds_of_equal: float) -> np.ndarray:
    """Return marginals of a chain in which every two equal neighbours multiply the odds, `(n,)`.

    The weight of an assignment is the product of p or 1 - p of each passage, times
    `odds_of_equal` for every two neighbours that both hold evidence or both do not.

    Parameters
    ----------
    probabilities : of the passages of a document in reading order, each judged alone.
    """
    p = np.clip(probabilities, 1e-6, 1 - 1e-6)
    own = np.stack([1 - p, p], axis=1)  # (n, 2)
    step = np.where(np.eye(2, dtype=bool), odds_of_equal, 1.0)
    forward, backward = own.copy(), np.ones_like(own)
    for i in range(1, len(p)):
        forward[i] *= forward[i - 1] @ step
        forward[i] /= forward[i].sum()
    for i in range(len(p) - 2, -1, -1):
        backward[i] = step @ (own[i + 1] * backward[i + 1])
        backward[i] /= backward[i].sum()
    both = forward * backward
    return both[:, 1] / both.sum(axis=1)
