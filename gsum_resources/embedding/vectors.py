"""Text vectors from window vectors: weighted means, unit length."""

import numpy as np


def weighted_means(
    vectors: np.ndarray, owner: np.ndarray, weights: np.ndarray, n_texts: int
) -> np.ndarray:
    """Return the weighted mean vector of each text's windows, float64 `(n_texts, dim)`.

    Parameters
    ----------
    vectors : of windows, `(n_windows, dim)`.
    owner : index of each window's text, `(n_windows,)`; every text has a window.
    weights : positive, `(n_windows,)`, such as tokens.
    """
    totals = np.bincount(owner, weights, minlength=n_texts)
    shares = weights / totals[owner]
    means = np.zeros((n_texts, vectors.shape[1]))
    np.add.at(means, owner, vectors * shares[:, None])
    return means


def unit_length(vectors: np.ndarray, model: str) -> np.ndarray:
    """Return rows divided by their Euclidean length, float32; `model` is named in the error.

    Raises
    ------
    ValueError
        If a row is zero or not finite, which means that the model is damaged.
    """
    wide = vectors.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    broken = np.flatnonzero(~(np.isfinite(lengths) & (lengths > 0)))
    if len(broken):
        raise ValueError(
            f"embedding model '{model}': {len(broken)} of {len(vectors)} vectors are zero or not "
            f"finite (first: row {broken[0]}); its weights are damaged or do not suit the "
            "precision; try precision='float32' or download the model again"
        )
    return (wide / lengths).astype(np.float32)
