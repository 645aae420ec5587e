"""TF-IDF vectors of passages by fitted word statistics, for edges and features.

The statistics are part of the trained state: vectors of other passages stay the same when a
document changes. Words are stored as hashes, so that no text can be read from them.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gsum_assets.retrieval.bm25_segments import hash_of
from gsum_assets.retrieval.words import Words

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_COMMON = 0.3  # share of the texts from which on a word does not discriminate


class WordStatistics(NamedTuple):
    """The words that join texts: `hashes` ascending, uint64, and `idf`, float64, `(n_words,)`."""

    hashes: np.ndarray
    idf: np.ndarray


NO_WORDS = WordStatistics(np.empty(0, np.uint64), np.empty(0))


def word_statistics(texts: Sequence[str], words: Words) -> WordStatistics:
    """Return the statistics of all words but those of a single or of many texts.

    Such words would join no texts, or all of them.
    """
    hashed = cache(hash_of)
    hashes = (map(hashed, set(words.split(text))) for text in texts)
    distinct, n_texts = np.unique(
        np.fromiter(chain.from_iterable(hashes), np.uint64), return_counts=True
    )
    is_kept = (n_texts >= 2) & (n_texts <= max(_COMMON * len(texts), 2))
    return WordStatistics(distinct[is_kept], np.log((1 + len(texts)) / (1 + n_texts[is_kept])) + 1)


def word_vectors(texts: Sequence[str], words: Words, known: WordStatistics) -> "csr_matrix":
    """Return unit TF-IDF vectors, float32 `(n_texts, n_words)`; unknown words are ignored.

    A vector does not depend on the other texts, to the last bit.
    """
    from scipy.sparse import csr_matrix

    shape = len(texts), len(known.hashes)
    column_of = {hashed: column for column, hashed in enumerate(known.hashes.tolist())}
    column = cache(lambda word: column_of.get(hash_of(word), -1))
    ends = [0]

    def columns_of(text: str) -> Iterator[int]:
        split = words.split(text)
        ends.append(ends[-1] + len(split))
        return map(column, split)

    columns = np.fromiter(chain.from_iterable(map(columns_of, texts)), np.int64)
    rows = np.repeat(np.arange(len(texts)), np.diff(ends))
    cells = rows[columns >= 0] * shape[1] + columns[columns >= 0]
    cells, times = np.unique(cells, return_counts=True)  # sorted by row, then by column
    rows, columns = np.divmod(cells, max(1, shape[1]))
    weights = (1 + np.log(times)) * known.idf[columns]
    lengths = np.sqrt(np.bincount(rows, weights**2, len(texts)))  # sums in the order of columns
    scaled = (weights / lengths[rows]).astype(np.float32)
    return csr_matrix((scaled, (rows, columns)), shape)
