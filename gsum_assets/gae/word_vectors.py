"""TF-IDF vectors of passages, for edges and for features of the auto-encoder."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gsum_assets.retrieval.words import Words

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_COMMON = 0.3  # share of the texts from which on a word does not discriminate


def word_vectors(texts: Sequence[str], words: Words) -> "csr_matrix":
    """Return unit vectors, float32 `(n_texts, n_words)`, without words of one or of many texts.

    Such words would join no texts, or all of them.
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
    except ValueError:  # no words are left
        return csr_matrix((len(texts), 0), dtype=np.float32)
