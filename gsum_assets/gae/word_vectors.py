"""TF-IDF vectors of passages, for edges and features."""

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from gsum_assets.retrieval.words import Words

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_COMMON = 0.3  # share of the texts from which on a word does not discriminate


def word_vectors(texts: Sequence[str], words: Words) -> "csr_matrix":
    """Return unit TF-IDF vectors, float32 `(n_texts, n_words)`.

    Words of a single or of many texts are left out: they would join no texts, or all of them.
    """
    from scipy.sparse import csr_matrix

    column_of: dict[str, int] = {}
    columns_of = [
        [column_of.setdefault(word, len(column_of)) for word in words.split(text)] for text in texts
    ]
    rows = np.repeat(np.arange(len(texts)), [len(columns) for columns in columns_of])
    columns = np.fromiter(chain.from_iterable(columns_of), np.int64)
    cells, times = np.unique(rows * max(1, len(column_of)) + columns, return_counts=True)
    rows, columns = np.divmod(cells, max(1, len(column_of)))
    n_texts = np.bincount(columns, minlength=len(column_of))
    is_kept = (n_texts >= 2) & (n_texts <= max(_COMMON * len(texts), 2))
    idf = np.log((1 + len(texts)) / (1 + n_texts[is_kept])) + 1
    kept = is_kept[columns]
    rows, columns, times = rows[kept], (np.cumsum(is_kept) - 1)[columns[kept]], times[kept]
    weights = (1 + np.log(times)) * idf[columns]
    lengths = np.sqrt(np.bincount(rows, weights**2, len(texts)))
    scaled = (weights / lengths[rows]).astype(np.float32)
    return csr_matrix((scaled, (rows, columns)), (len(texts), len(idf)))
