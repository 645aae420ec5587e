"""Features of passages: TF-IDF and embeddings, each after PCA (paper, equations 1 to 3)."""

from typing import TYPE_CHECKING

import numpy as np

from gsum_assets.gae.settings import GraphSettings
from gsum_assets.gae.word_vectors import word_vectors
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.words import Words

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


def node_features(collection: Collection, language: str, settings: GraphSettings) -> np.ndarray:
    """Return alpha PCA(TF-IDF) + beta PCA(embeddings), float32 `(n_chunks, dim)`.

    The number of components is `settings.dim`, or less if there are fewer.

    Parameters
    ----------
    collection : two chunks or more, with embeddings.
    language : BCP 47 code.
    """
    from sklearn.decomposition import PCA

    assert collection.embeddings is not None
    words = word_vectors(collection.chunk_texts, Words(language))
    n, n_words = words.shape  # pyright: ignore[reportGeneralTypeIssues] - scipy allows None
    dim = max(1, min(settings.dim, n - 1, collection.embeddings.shape[1], n_words - 1))
    of_vectors = PCA(dim, svd_solver="covariance_eigh").fit_transform(
        collection.embeddings.astype(np.float64)
    )
    of_words = word_components(words, dim)
    return (settings.alpha * of_words + settings.beta * of_vectors).astype(np.float32)


def word_components(words: "csr_matrix", dim: int) -> np.ndarray:
    """Return the PCA of a sparse matrix by Lanczos iteration, which keeps it sparse, `(n, dim)`.

    scikit-learn's "arpack" is not deterministic: when the iteration restarts, as it does with few
    words, SciPy draws the next vector from the operating system unless it has a generator.
    """
    n, n_words = words.shape  # pyright: ignore[reportGeneralTypeIssues]
    if min(n, n_words) < 3 or not words.nnz:
        return np.zeros((n, dim))
    from scipy.sparse.linalg import LinearOperator, eigsh

    matrix = words.astype(np.float64)
    means = np.asarray(matrix.mean(axis=0)).ravel()

    def centred(right: np.ndarray) -> np.ndarray:
        return matrix @ right - means @ right

    def transposed(left: np.ndarray) -> np.ndarray:
        return matrix.T @ left - np.multiply.outer(means, left.sum(axis=0))

    of_passages = n <= n_words  # use the smaller of the two Gram matrices

    def square(vector: np.ndarray) -> np.ndarray:
        return centred(transposed(vector)) if of_passages else transposed(centred(vector))

    size = min(n, n_words)
    generator = np.random.default_rng(0)
    product = LinearOperator((size, size), matvec=square, dtype=np.float64)  # pyright: ignore
    start = generator.uniform(-1, 1, size)
    values, vectors = eigsh(product, k=min(dim, size - 1), v0=start, rng=generator)
    vectors = vectors[:, ::-1]  # the largest first
    lengths = np.sqrt(values[::-1].clip(0))
    # the sign of a component is arbitrary: its largest entry becomes positive
    vectors *= np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])])
    components = np.zeros((n, dim))
    components[:, : len(lengths)] = vectors * lengths if of_passages else centred(vectors)
    return components
