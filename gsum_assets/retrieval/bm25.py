"""BM25 over chunks and, separately, over whole documents (bm25s, Lucene's form).

k1 and b stay at 1.5 and 0.75: on the 250 questions of ODSum-Story's train stories a grid over k1
from 0.6 to 3 and b from 0.2 to 0.9 gained at most 0.6 of P@3 (74.1 there) and nothing of P@10
(48.6); on QMSum train k1 of 1.2 to 2 and b of 0.4 to 0.75 changed P@6 by 0.1. See `words.py` for
the tokenization and the data it was chosen on.

The index of a large collection is kept in the collection's cache, if it has one, so that a later
process maps it into memory instead of splitting all texts again. Terms are kept as hashes, and no
word can be read from them.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version

import numpy as np

from gsum_assets.retrieval.bm25_arrays import bm25_arrays, hash_of
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.ranking import Scores
from gsum_assets.retrieval.words import Words
from gsum_resources.array_cache import ArrayCache
from gsum_resources.content_hash import hash_texts

KEPT_FROM = 2**20
"""Characters of texts whose index is kept; fewer are split within half a second."""

_FORMAT = "2"  # changes when the same texts and settings give other arrays
_ARRAYS = ("data", "indices", "indptr")  # of bm25s


@dataclass(frozen=True)
class Bm25Settings:
    """`k1` damps repetition, `b` (0 to 1) discounts long texts (Robertson and Zaragoza 2009)."""

    k1: float = 1.5
    b: float = 0.75
    words: Words = field(default_factory=Words)


class Bm25:
    """BM25 of a question's terms in each chunk and each document of a collection."""

    def __init__(self, collection: Collection, settings: Bm25Settings | None = None) -> None:
        settings, cache = settings or Bm25Settings(), collection.cache
        self._nodes = indexed("chunks", collection.chunk_texts, settings, cache)
        self._documents = indexed("documents", collection.document_texts, settings, cache)

    def scores(self, questions: Questions) -> Scores:
        """Return scores that are not negative; 0 if text and question share no term."""
        return Scores(self._nodes.scores(questions.texts), self._documents.scores(questions.texts))


class Bm25Index:
    """BM25 over any list of texts.

    Parameters
    ----------
    texts : `(n_texts,)`, at least one; may be empty strings.
    """

    def __init__(self, texts: Sequence[str], settings: Bm25Settings) -> None:
        number_of: dict[str, int] = {}
        numbers = [
            [number_of.setdefault(term, len(number_of)) for term in terms]
            for terms in map(settings.words.split, texts)
        ]
        self._number_of: Callable[[str], int | None] = number_of.get
        self._words, self._n_texts, self._index = settings.words, len(texts), _bm25(settings)
        if number_of:  # the mean length of texts without any term is 0
            self._index.index((numbers, number_of), create_empty_token=False, show_progress=False)

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, np.ndarray], n_texts: int, settings: Bm25Settings
    ) -> "Bm25Index":
        """Return the index of `n_texts` texts whose `arrays` were kept."""
        found = cls.__new__(cls)
        found._number_of = _HashedTerms(arrays["hashes"]).get
        found._words, found._n_texts, found._index = settings.words, n_texts, _bm25(settings)
        found._index.scores = {name: arrays[name] for name in _ARRAYS} | {"num_docs": n_texts}
        found._index.nonoccurrence_array = None  # of other forms of BM25
        return found

    def scores(self, queries: Sequence[str]) -> np.ndarray:
        """Return BM25 of each query in each text, float32, `(n_queries, n_texts)`."""
        scores = np.zeros((len(queries), self._n_texts), np.float32)
        for row, query in zip(scores, queries, strict=True):
            numbers = map(self._number_of, self._words.split(query))
            if known := [number for number in numbers if number is not None]:
                row[:] = self._index.get_scores_from_ids(known)
        return scores


class _HashedTerms:
    """Numbers of terms by the hashes of the terms, which ascend."""

    def __init__(self, hashes: np.ndarray) -> None:
        self._hashes = hashes

    def get(self, term: str) -> int | None:
        """Return the number of a term; None if no text has it."""
        wanted = np.uint64(hash_of(term))
        position = int(np.searchsorted(self._hashes, wanted))
        if position == len(self._hashes) or self._hashes[position] != wanted:
            return None
        return position


def indexed(
    name: str, texts: Sequence[str], settings: Bm25Settings, cache: ArrayCache | None
) -> Bm25Index:
    """Return the index of `texts`; that of many is kept in the cache, if there is one.

    Parameters
    ----------
    name : what the texts are; a new version replaces the kept index of this name.
    """
    if sum(map(len, texts)) < KEPT_FROM:
        return Bm25Index(texts, settings)
    if cache is None:
        return _large(texts, settings)
    name = f"bm25-{name}{'-bigrams' if settings.words.bigrams else ''}"
    made_from = [_FORMAT, *map(version, ("bm25s", "nltk", "numpy")), repr(settings)]
    key = hash_texts([*made_from, *texts])
    if arrays := cache.read(name, key):
        return Bm25Index.from_arrays(arrays, len(texts), settings)
    arrays = _arrays(texts, settings)
    if arrays:
        cache.write(name, key, arrays)
        arrays = cache.read(name, key) or arrays  # mapped, so that they need not stay in memory
    return _large(texts, settings, arrays)


def _arrays(texts: Sequence[str], settings: Bm25Settings) -> dict[str, np.ndarray]:
    words = settings.words
    return bm25_arrays(texts, words.terms, words.bigrams, settings.k1, settings.b)


def _large(
    texts: Sequence[str], settings: Bm25Settings, arrays: Mapping[str, np.ndarray] | None = None
) -> Bm25Index:
    """Return the index of many texts, from its arrays if they are given."""
    if arrays is None:
        arrays = _arrays(texts, settings)
    if not arrays:  # no text has a term
        return Bm25Index(texts, settings)
    return Bm25Index.from_arrays(arrays, len(texts), settings)


def _bm25(settings: Bm25Settings):
    import bm25s

    logging.getLogger("bm25s").setLevel(logging.WARNING)  # its import sets DEBUG
    return bm25s.BM25(k1=settings.k1, b=settings.b)
