"""Features of passages: TF-IDF and embeddings, each after PCA (paper, equations 1 to 3)."""

from collections.abc import Callable
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
    """Return the rows of `gae.node_features`; a document's embedding is the mean of its chunks'.

    The features of the level with fewer of them are padded with zeros, so that all vectors of the
    table have one length.

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
    tables = [
        vector_rows(level.name, level.ids, np.pad(matrix, ((0, 0), (0, width - matrix.shape[1]))))
        for level, matrix in zip(levels(collection), found, strict=True)
    ]
    return pa.concat_tables(tables).combine_chunks()


def features(words: "csr_matrix", embeddings: np.ndarray, settings: GraphSettings) -> np.ndarray:
    """Return alpha PCA(words) + beta PCA(embeddings), float32 `(n_nodes, d)`.

    Parameters
    ----------
    words : TF-IDF vectors, `(n_nodes, n_words)`.
    embeddings : embeddings of the nodes, `(n_nodes, n_dimensions)`.

    Returns
    -------
    np.ndarray
        d is `settings.dim`, or less if a matrix has fewer components.
    """
    n, n_words = words.shape  # pyright: ignore[reportGeneralTypeIssues] - scipy allows None
    dim = max(1, min(settings.dim, n - 1, embeddings.shape[1], n_words - 1))
    both = settings.alpha * _word_components(words, dim) + settings.beta * _vector_components(
        embeddings, dim
    )
    return both.astype(np.float32)


def _word_components(words: "csr_matrix", dim: int) -> np.ndarray:
    """Return the PCA of a sparse matrix by Lanczos iteration, which keeps it sparse.

    scikit-learn's "arpack" is not deterministic: when the iteration restarts, as it does with few
    words, SciPy draws the next vector from the operating system unless it has a generator.
    """
    n, n_words = words.shape  # pyright: ignore[reportGeneralTypeIssues] - scipy allows None
    if min(n, n_words) < 3 or not words.nnz:
        return np.zeros((n, dim))
    from scipy.sparse.linalg import LinearOperator, eigsh
    from sklearn.utils.extmath import svd_flip

    matrix = words.astype(np.float64)
    means = np.asarray(matrix.mean(axis=0)).ravel()

    def centred(right: np.ndarray) -> np.ndarray:
        return matrix @ right - means @ right

    def transposed(left: np.ndarray) -> np.ndarray:
        return matrix.T @ left - np.multiply.outer(means, left.sum(axis=0))

    of_passages = n <= n_words  # use the smaller of the two Gram matrices
    square: Callable[[np.ndarray], np.ndarray] = (
        (lambda v: centred(transposed(v))) if of_passages else (lambda v: transposed(centred(v)))
    )
    size = min(n, n_words)
    generator = np.random.default_rng(0)
    product = LinearOperator((size, size), matvec=square, dtype=np.float64)  # pyright: ignore
    _, basis = eigsh(product, k=dim, v0=generator.uniform(-1, 1, size), rng=generator)
    small = transposed(basis).T if of_passages else centred(basis)
    left, lengths, right = np.linalg.svd(small, full_matrices=False)
    left, right = (basis @ left, right) if of_passages else (left, right @ basis.T)
    left, _ = svd_flip(left, right, u_based_decision=False)
    return left * lengths


def _vector_components(vectors: np.ndarray, dim: int) -> np.ndarray:
    if len(vectors) < 2:
        return np.zeros((len(vectors), dim))
    from sklearn.decomposition import PCA

    return PCA(dim, svd_solver="covariance_eigh").fit_transform(vectors.astype(np.float64))
