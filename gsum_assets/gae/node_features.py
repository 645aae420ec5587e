"""Features of the nodes: words and embeddings, each reduced by PCA (paper, equations 1 to 3)."""

import numpy as np


def node_features(
    words: np.ndarray, embeddings: np.ndarray, dim: int, alpha: float, beta: float
) -> np.ndarray:
    """alpha PCA(words) + beta PCA(embeddings), float32 `(n_nodes, d)`.

    Parameters
    ----------
    words : TF-IDF vectors, `(n_nodes, n_words)`.
    embeddings : `(n_nodes, n_dimensions)`.
    dim : d; the rank where that is less. The narrower of both is filled up with zeros.
    """
    reduced = [_reduced(matrix, dim) for matrix in (words, embeddings)]
    width = max(matrix.shape[1] for matrix in reduced)
    both = [np.pad(matrix, ((0, 0), (0, width - matrix.shape[1]))) for matrix in reduced]
    return (alpha * both[0] + beta * both[1]).astype(np.float32)


def _reduced(matrix: np.ndarray, dim: int) -> np.ndarray:
    from sklearn.decomposition import PCA

    most = min(dim, *matrix.shape)
    return PCA(most, svd_solver="full").fit_transform(matrix)
