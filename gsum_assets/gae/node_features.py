"""Features of passages: TF-IDF and embeddings, each after PCA (paper, equations 1 to 3).

The bases of both PCA are fitted when the auto-encoder is trained, and applied to all passages.
Products are those of sparse matrices, which sum each row in one order: the features of a passage
do not depend on the other passages, to the last bit.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.gae.levels import levels, vector_rows
from gsum_assets.gae.settings import GraphSettings
from gsum_assets.gae.word_vectors import WordStatistics, word_statistics, word_vectors
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.words import Words

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_NEGLIGIBLE = 1e-6  # of the longest component: noise of the training passages, not of others


class Bases(NamedTuple):
    """Fitted statistics and bases of one level; a basis maps a vector to its components.

    Attributes
    ----------
    hashes, idf : see `WordStatistics`.
    word_basis : `(n_words, dim)`, float16, since it is by far the largest array of a model.
    word_mean : components of the mean TF-IDF vector, `(dim,)`.
    vector_basis : `(n_dimensions, dim)`.
    vector_mean : components of the mean embedding, `(dim,)`.
    """

    hashes: np.ndarray
    idf: np.ndarray
    word_basis: np.ndarray
    word_mean: np.ndarray
    vector_basis: np.ndarray
    vector_mean: np.ndarray

    @property
    def words(self) -> WordStatistics:
        """The statistics of words."""
        return WordStatistics(self.hashes, self.idf)


def fitted_bases(
    collection: Collection, language: str, settings: GraphSettings
) -> dict[str, Bases]:
    """Return the bases of each level that has two passages or more."""
    bases = {}
    for level, vectors in zip(levels(collection), level_embeddings(collection), strict=True):
        if len(level.ids) > 1:
            words = Words(language)
            statistics = word_statistics(level.texts, words)
            bases[level.name] = bases_of(
                statistics, word_vectors(level.texts, words, statistics), vectors, settings
            )
    return bases


def level_embeddings(collection: Collection) -> tuple[np.ndarray, np.ndarray]:
    """Return the embeddings of documents, means of those of their chunks, and of chunks."""
    assert collection.embeddings is not None
    lengths = np.diff(collection.starts)[:, None]
    sums = np.add.reduceat(collection.embeddings, collection.starts[:-1], axis=0)
    return sums / lengths, collection.embeddings


def node_features(
    collection: Collection, language: str, settings: GraphSettings, known: Mapping[str, Bases]
) -> pa.Table:
    """Return the rows of `gae.node_features`; a document's embedding is the mean of its chunks'.

    The features of the level with fewer of them are padded with zeros, so that all vectors of the
    table have one length. A level without bases has zeros only.

    Parameters
    ----------
    collection : with embeddings.
    language : BCP 47 code.
    known : bases by level.
    """
    width = max([1, *(len(bases.word_mean) for bases in known.values())])
    tables = []
    for level, vectors in zip(levels(collection), level_embeddings(collection), strict=True):
        padded = np.zeros((len(level.ids), width), np.float32)
        if bases := known.get(level.name):
            words = word_vectors(level.texts, Words(language), bases.words)
            vectors_of_level = features(bases, words, vectors, settings)
            padded[:, : vectors_of_level.shape[1]] = vectors_of_level
        tables.append(vector_rows(level.name, level.ids, padded))
    return pa.concat_tables(tables).combine_chunks()


def features(
    bases: Bases, words: "csr_matrix", embeddings: np.ndarray, settings: GraphSettings
) -> np.ndarray:
    """Return alpha PCA(words) + beta PCA(embeddings), float32 `(n_nodes, dim)`.

    Parameters
    ----------
    words : TF-IDF vectors, `(n_nodes, n_words)`.
    embeddings : embeddings of the nodes, `(n_nodes, n_dimensions)`.
    """
    from scipy.sparse import csr_matrix

    of_words = words @ bases.word_basis.astype(np.float32) - bases.word_mean
    of_vectors = csr_matrix(embeddings.astype(np.float64)) @ bases.vector_basis - bases.vector_mean
    return (settings.alpha * of_words + settings.beta * of_vectors).astype(np.float32)


def bases_of(
    known: WordStatistics, words: "csr_matrix", embeddings: np.ndarray, settings: GraphSettings
) -> Bases:
    """Return the bases of the PCA of TF-IDF vectors and of embeddings of at least two nodes.

    The number of components is `settings.dim`, or less if a matrix has fewer.
    """
    from sklearn.decomposition import PCA

    n, n_words = words.shape  # pyright: ignore[reportGeneralTypeIssues] - scipy allows None
    dim = max(1, min(settings.dim, n - 1, embeddings.shape[1], n_words - 1))
    word_mean, word_basis = _word_basis(words, dim)
    pca = PCA(dim, svd_solver="covariance_eigh").fit(embeddings.astype(np.float64))
    vector_basis = _without_noise(np.asarray(pca.components_), pca.singular_values_).T
    stored = word_basis.astype(np.float16)
    return Bases(
        *known, stored, word_mean @ stored.astype(float), vector_basis, pca.mean_ @ vector_basis
    )


def _word_basis(words: "csr_matrix", dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and PCA basis of a sparse matrix by Lanczos iteration, which keeps it sparse.

    scikit-learn's "arpack" is not deterministic: when the iteration restarts, as it does with few
    words, SciPy draws the next vector from the operating system unless it has a generator.
    """
    n, n_words = words.shape  # pyright: ignore[reportGeneralTypeIssues] - scipy allows None
    if min(n, n_words) < 3 or not words.nnz:
        return np.zeros(n_words), np.zeros((n_words, dim))
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
    _, right = svd_flip(left, right, u_based_decision=False)
    return means, _without_noise(np.asarray(right), lengths).T


def _without_noise(components: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the components with zeros for those along which the passages do not differ."""
    return components * (lengths > _NEGLIGIBLE * lengths.max(initial=0))[:, None]
