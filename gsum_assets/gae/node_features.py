"""Features of passages: words and embeddings, each reduced by PCA (paper, equations 1 to 3)."""

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from gsum_assets.gae.levels import levels, vector_rows
from gsum_assets.gae.settings import GraphSettings
from gsum_assets.gae.word_vectors import word_vectors
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.words import Words

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


def node_features(collection: Collection, language: str, settings: GraphSettings) -> pa.Table:
    """Rows of `gae.node_features`; a document's embedding is the mean of its chunks'.

    The features of a level that has fewer than the other end in zeros: a table's vectors are of
    one length.

    Parameters
    ----------
    collection : with embeddings.
    language : BCP 47 code.
    """
    assert collection.embeddings is not None
    lengths = np.diff(collection.starts)[:, None]
    means = np.add.reduceat(collection.embeddings, collection.starts[:-1], axis=0) / lengths
    found = [
        features(word_vectors(level.texts, Words(language)), vectors, settings)
        for level, vectors in zip(levels(collection), (means, collection.embeddings), strict=True)
    ]
    width = max(matrix.shape[1] for matrix in found)
    parts = [
        vector_rows(level.name, level.ids, np.pad(matrix, ((0, 0), (0, width - matrix.shape[1]))))
        for level, matrix in zip(levels(collection), found, strict=True)
    ]
    return pa.concat_tables(parts).combine_chunks()


def features(words: "csr_matrix", embeddings: np.ndarray, settings: GraphSettings) -> np.ndarray:
    """alpha PCA(words) + beta PCA(embeddings), float32 `(n_nodes, d)`.

    Parameters
    ----------
    words : `(n_nodes, n_words)`.
    embeddings : `(n_nodes, n_dimensions)`.

    Returns
    -------
    d is `settings.dim`, or as many as both matrices can give.
    """
    n, n_words = words.shape  # pyright: ignore[reportGeneralTypeIssues] - scipy allows None
    dim = max(1, min(settings.dim, n - 1, embeddings.shape[1], n_words - 1))
    both = settings.alpha * _of_words(words, dim) + settings.beta * _of_vectors(embeddings, dim)
    return both.astype(np.float32)


def _of_words(words: "csr_matrix", dim: int) -> np.ndarray:
    """By Lanczos iteration, which leaves the matrix sparse."""
    n, n_words = words.shape  # pyright: ignore[reportGeneralTypeIssues] - scipy allows None
    if min(n, n_words) < 3 or not words.nnz:
        return np.zeros((n, dim))
    from sklearn.decomposition import PCA

    return PCA(dim, svd_solver="arpack", random_state=0).fit_transform(words)


def _of_vectors(vectors: np.ndarray, dim: int) -> np.ndarray:
    if len(vectors) < 2:
        return np.zeros((len(vectors), dim))
    from sklearn.decomposition import PCA

    return PCA(dim, svd_solver="covariance_eigh").fit_transform(vectors.astype(np.float64))
