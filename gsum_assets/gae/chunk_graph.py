"""The graph of chunks: neighbours in their document, and the nearest by TF-IDF (paper, 3.1.1)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gsum_assets.retrieval.words import Words

_BLOCK = 1024  # rows of similarities in memory at a time


class Edges(NamedTuple):
    """`sources` and `targets` int64, `weights` between 0 and 1, each `(n_edges,)`."""

    sources: np.ndarray
    targets: np.ndarray
    weights: np.ndarray


def neighbours(starts: np.ndarray) -> Edges:
    """An edge of weight 1 between neighbouring chunks of one document.

    Parameters
    ----------
    starts : first chunk of each document, and the number of chunks, `(n_documents + 1,)`.
    """
    first = np.setdiff1d(np.arange(starts[-1] - 1), starts[1:] - 1)
    return Edges(first, first + 1, np.ones(len(first)))


def nearest_by_words(texts: Sequence[str], words: Words, k: int) -> Edges:
    """From each text edges to the `k` nearest by the cosine of TF-IDF vectors, which they weigh.

    Without these the graph knows nothing but documents (ours; the paper has neighbours and
    citations). Words of a single text and of more than 30% of all join nothing.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    terms = [words.split(text) for text in texts]
    vectorizer = TfidfVectorizer(
        analyzer=list,  # pyright: ignore[reportArgumentType] - it is untyped
        sublinear_tf=True,
        min_df=2,
        max_df=max(0.3, 2 / max(1, len(texts))),
        dtype=np.float32,  # pyright: ignore[reportArgumentType]
    )
    try:
        vectors = vectorizer.fit_transform(terms)
    except ValueError:  # no word is in two texts
        return Edges(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    parts = []
    for start in range(0, len(texts), _BLOCK):
        similar = (vectors[start : start + _BLOCK] @ vectors.T).toarray()
        rows = np.arange(len(similar))
        similar[rows, start + rows] = 0
        best = np.argsort(-np.round(similar, 6), axis=1, kind="stable")[:, :k]
        values = np.take_along_axis(similar, best, 1)
        row, column = np.nonzero(values > 0)
        parts.append((start + row, best[row, column], values[row, column].astype(np.float64)))
    return Edges(*(np.concatenate(column) for column in zip(*parts, strict=True)))
