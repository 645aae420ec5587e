"""TF-IDF vectors of passages: what joins them, and a part of what the auto-encoder knows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gsum_assets.retrieval.words import Words

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_COMMON = 0.3  # share of the texts from which on a word tells nothing apart


def word_vectors(texts: Sequence[str], words: Words) -> "csr_matrix":
    """Return unit vectors, float32 `(n_texts, n_words)`; words of one text, or of many, have no column.

    They would join nothing, or everything.
    """
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(
        analyzer=words.split,  # pyright: ignore[reportArgumentType] - it is untyped
        sublinear_tf=True,
        min_df=2,
        max_df=max(_COMMON, 2 / max(1, len(texts))),
        dtype=np.float32,  # pyright: ignore[reportArgumentType]
    )
    try:
        return csr_matrix(vectorizer.fit_transform(texts))
    except ValueError:  # no word is left
        return csr_matrix((len(texts), 0), dtype=np.float32)
