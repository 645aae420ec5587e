"""TF-IDF vectors of passages by fitted word statistics, for edges and features.

The statistics are part of the trained state: vectors of other passages stay the same when a
document changes. Words are stored as hashes, so that no text can be read from them.
"""

from collections import Counter
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
    hashes = np.fromiter(chain.from_iterable(_counted(texts, words)), np.uint64)
    found, n_texts = np.unique(hashes, return_counts=True)
    kept = (n_texts >= 2) & (n_texts <= max(_COMMON * len(texts), 2))
    return WordStatistics(found[kept], np.log((1 + len(texts)) / (1 + n_texts[kept])) + 1)


def word_vectors(texts: Sequence[str], words: Words, known: WordStatistics) -> "csr_matrix":
    """Return unit TF-IDF vectors, float32 `(n_texts, n_words)`; unknown words are ignored.

    A vector does not depend on the other texts, to the last bit.
    """
    from scipy.sparse import csr_matrix

    shape = len(texts), len(known.hashes)
    counted = list(_counted(texts, words))
    hashes = np.fromiter(chain.from_iterable(counted), np.uint64)
    times = np.fromiter(chain.from_iterable(one.values() for one in counted), np.float64)
    rows = np.repeat(np.arange(len(texts)), [len(one) for one in counted])
    columns = np.searchsorted(known.hashes, hashes)
    is_known = np.append(known.hashes, np.uint64(0))[columns] == hashes
    is_known &= columns < len(known.hashes)
    rows, columns = rows[is_known], columns[is_known]
    weights = (1 + np.log(times[is_known])) * known.idf[columns]
    order = np.lexsort((columns, rows))
    rows, columns, weights = rows[order], columns[order], weights[order]
    lengths = np.sqrt(np.bincount(rows, weights**2, len(texts)))  # sums in the order of columns
    scaled = (weights / lengths[rows]).astype(np.float32)
    return csr_matrix((scaled, (rows, columns)), shape)


def _counted(texts: Sequence[str], words: Words) -> Iterator[dict[int, int]]:
    """Yield the number of occurrences of each word of a text, by its hash."""
    hashed = cache(hash_of)
    for text in texts:
        yield {hashed(word): n for word, n in Counter(words.split(text)).items()}
