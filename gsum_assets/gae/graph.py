"""The graph of passages: its edges and the features of its nodes (paper, 3.1.1).

Edges to the nearest passages by words, which are ours, join passages of different documents.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.graphs.nearest import nearest_by_product
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.words import Words
from gsum_resources.engine.blocks import LOCAL, Engine
from gsum_resources.store.arrow import pc, repeated, taken

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

FEATURES = 500  # of a passage, after PCA (C.1)
_OF_WORDS = _OF_VECTORS = 0.5  # alpha and beta of equation 3
_COMMON = 0.3  # share of the passages from which on a word does not discriminate


class Edges(NamedTuple):
    """Undirected edges: indices of their ends, int64, and weights from 0 to 1, `(n_edges,)`."""

    sources: np.ndarray
    targets: np.ndarray
    weights: np.ndarray


def graph_edges(
    collection: Collection,
    cites: Mapping[str, Sequence[str]],
    language: str,
    n_nearest: int,
    engine: Engine = LOCAL,
) -> pa.Table:
    """Return the rows of `gae.graph_edges`; `cites` has the cited documents of each, by id."""
    words = word_vectors(collection.chunk_texts, Words(language))
    edges = {
        "citation": citations(collection, cites),
        "nearest": nearest_by_words(words, n_nearest, engine),
        "neighbour": neighbours(collection.starts),
    }
    ids = pa.array(collection.chunk_ids, pa.string())
    schema = TABLES["gae.graph_edges"].schema
    tables = [
        pa.table(
            {
                "kind": repeated(kind, len(of_kind.sources)),
                "source_id": taken(ids, of_kind.sources),
                "target_id": taken(ids, of_kind.targets),
                "weight": of_kind.weights,
            },
            schema=schema,
        )
        for kind, of_kind in edges.items()
    ]
    return pa.concat_tables(tables).combine_chunks()


def neighbours(starts: np.ndarray) -> Edges:
    """Return the edges between adjacent chunks of a document, from `Collection.starts`."""
    first = np.setdiff1d(np.arange(starts[-1] - 1), starts[1:] - 1)
    return Edges(first, first + 1, np.ones(len(first)))


def citations(collection: Collection, cites: Mapping[str, Sequence[str]]) -> Edges:
    """Return an edge between the first chunks of two documents for each citation in the corpus."""
    index = {document_id: i for i, document_id in enumerate(collection.document_ids)}
    pairs = {
        (index[source], index[target])
        for source, targets in cites.items()
        for target in targets
        if source in index and target in index and source != target
    }
    ends = collection.starts[np.array(sorted(pairs), np.int64).reshape(-1, 2)]
    return Edges(ends[:, 0], ends[:, 1], np.ones(len(ends)))


def nearest_by_words(words: "csr_matrix", k: int, engine: Engine = LOCAL) -> Edges:
    """Return edges from each TF-IDF vector to the `k` of greatest positive cosine (ours)."""
    nearest = nearest_by_product(words, k, engine)
    row, column = np.nonzero(nearest.similarities > 0)
    weights = nearest.similarities[row, column].astype(np.float64)
    return Edges(row, nearest.indices[row, column].astype(np.int64), weights)


def edges_of(rows: pa.Table, ids: Sequence[str]) -> Edges:
    """Return rows of `gae.graph_edges` as indices into `ids`; raise ValueError for another end."""
    value_set = pa.array(ids, pa.string())
    ends = []
    for name in ("source_id", "target_id"):
        indices = pc.index_in(rows[name], value_set=value_set)
        if indices.null_count:
            first = rows[name].filter(pc.is_null(indices))[0].as_py()
            raise ValueError(
                f"gae/graph_edges: {indices.null_count} passages are not in the corpus (first: "
                f"'{first}'); materialize gae/graph_edges again"
            )
        ends.append(indices.to_numpy().astype(np.int64))
    weights = rows["weight"].to_numpy()
    order = np.lexsort((weights, ends[1], ends[0]))
    return Edges(ends[0][order], ends[1][order], weights[order])


def word_vectors(texts: Sequence[str], words: Words) -> "csr_matrix":
    """Return unit TF-IDF vectors without very rare and common words, `(n_texts, n_words)`."""
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import TfidfVectorizer

    terms = [words.split(text) for text in texts]
    n_texts = Counter(chain.from_iterable(map(dict.fromkeys, terms)))
    most = max(_COMMON * len(texts), 2)
    vocabulary = [word for word, n in n_texts.items() if 2 <= n <= most]
    if not vocabulary:  # scikit-learn refuses an empty one
        return csr_matrix((len(texts), 0), dtype=np.float32)
    vectorizer = TfidfVectorizer(
        analyzer=list,  # pyright: ignore[reportArgumentType]
        vocabulary=vocabulary,
        sublinear_tf=True,
    )
    return csr_matrix(vectorizer.fit_transform(terms).astype(np.float32))


def node_features(collection: Collection, language: str) -> np.ndarray:
    """Return alpha PCA(TF-IDF) + beta PCA(embeddings), float32 `(n_chunks, dim)`, equations 1 to 3.

    The collection has two chunks or more, with embeddings.
    """
    from sklearn.decomposition import PCA

    assert collection.embeddings is not None
    words = word_vectors(collection.chunk_texts, Words(language))
    n, n_words = words.shape  # pyright: ignore[reportGeneralTypeIssues] - scipy allows None
    dim = max(1, min(FEATURES, n - 1, collection.embeddings.shape[1], n_words - 1))
    of_vectors = PCA(dim, svd_solver="covariance_eigh").fit_transform(
        collection.embeddings.astype(np.float64)
    )
    of_words = word_components(words, dim)
    return (_OF_WORDS * of_words + _OF_VECTORS * of_vectors).astype(np.float32)


def word_components(words: "csr_matrix", dim: int) -> np.ndarray:
    """Return the PCA of a sparse matrix by Lanczos iteration, which keeps it sparse, `(n, dim)`.

    scikit-learn's "arpack" is not deterministic, since SciPy draws restarts without a seed.
    """
    n, n_words = words.shape  # pyright: ignore[reportGeneralTypeIssues]
    if min(n, n_words) < 3 or not words.nnz:
        return np.zeros((n, dim))
    from scipy.sparse.linalg import LinearOperator, eigsh

    matrix = words.astype(np.float64)
    means = np.asarray(matrix.mean(axis=0)).ravel()
    of_passages = n <= n_words  # use the smaller of the two Gram matrices

    def centred(right: np.ndarray) -> np.ndarray:
        return matrix @ right - means @ right

    def transposed(left: np.ndarray) -> np.ndarray:
        return matrix.T @ left - np.multiply.outer(means, left.sum(axis=0))

    def gram(vector: np.ndarray) -> np.ndarray:
        return centred(transposed(vector)) if of_passages else transposed(centred(vector))

    size = min(n, n_words)
    generator = np.random.default_rng(0)
    operator = LinearOperator((size, size), matvec=gram, dtype=np.float64)  # pyright: ignore
    start = generator.uniform(-1, 1, size)
    values, vectors = eigsh(operator, k=min(dim, size - 1), v0=start, rng=generator)
    vectors = vectors[:, ::-1]  # the largest first
    lengths = np.sqrt(values[::-1].clip(0))
    # the sign of a component is arbitrary: its largest entry becomes positive
    vectors *= np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])])
    components = np.zeros((n, dim))
    components[:, : len(lengths)] = vectors * lengths if of_passages else centred(vectors)
    return components
