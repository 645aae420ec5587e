"""BM25 over chunks and, separately, over whole documents (bm25s, Lucene's form).

k1 and b stay at 1.5 and 0.75: on the 250 questions of ODSum-Story's train stories a grid over k1
from 0.6 to 3 and b from 0.2 to 0.9 gained at most 0.6 of P@3 (74.1 there) and nothing of P@10
(48.6); on QMSum train k1 of 1.2 to 2 and b of 0.4 to 0.75 changed P@6 by 0.1. See `words.py` for
the tokenization and the data it was chosen on.

A large collection is indexed by segments (`bm25_segments.py`), which are kept in the collection's
cache, if it has one, so that a later process maps them into memory, and an edit computes one
segment. Terms are kept as hashes, and no word can be read from them.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import pairwise

import numpy as np

from gsum_assets.retrieval.bm25_segments import Hashes, Segment, SegmentedIndex, segment_starts
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.ranking import Scores
from gsum_assets.retrieval.words import Words
from gsum_resources.store.array_cache import ArrayCache
from gsum_resources.store.content_hash import hash_texts

KEPT_FROM = 2**20
"""Characters of texts whose index is kept; fewer are split within half a second."""

_FORMAT = "5"  # changes when the same texts give other arrays


@dataclass(frozen=True)
class Bm25Settings:
    """`k1` damps repetition, `b` (0 to 1) discounts long texts (Robertson and Zaragoza 2009)."""

    k1: float = 1.5
    b: float = 0.75
    words: Words = field(default_factory=Words)


class Bm25:
    """BM25 of a question's terms in each chunk and each document of a collection."""

    def __init__(self, collection: Collection, settings: Bm25Settings | None = None) -> None:
        settings = settings or Bm25Settings()
        self._nodes = chunk_index(collection, settings)
        starts = _segments(collection)
        self._documents = indexed(
            "documents",
            collection.document_texts,
            starts,
            settings,
            collection.cache,
            _by_segment(collection.text_digests, starts),
        )

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
        import bm25s

        number_of: dict[str, int] = {}
        numbers = [
            [number_of.setdefault(term, len(number_of)) for term in terms]
            for terms in map(settings.words.split, texts)
        ]
        self._number_of, self._words, self._n_texts = number_of.get, settings.words, len(texts)
        logging.getLogger("bm25s").setLevel(logging.WARNING)  # its import sets DEBUG
        self._index = bm25s.BM25(k1=settings.k1, b=settings.b)
        if number_of:  # the mean length of texts without any term is 0
            self._index.index((numbers, number_of), create_empty_token=False, show_progress=False)

    def scores(self, queries: Sequence[str]) -> np.ndarray:
        """Return BM25 of each query in each text, float32, `(n_queries, n_texts)`."""
        scores = np.zeros((len(queries), self._n_texts), np.float32)
        for row, query in zip(scores, queries, strict=True):
            numbers = map(self._number_of, self._words.split(query))
            if known_terms := [number for number in numbers if number is not None]:
                row[:] = self._index.get_scores_from_ids(known_terms)
        return scores

    def having(self, term: str) -> np.ndarray:
        """Return the numbers of the texts that have a term."""
        number = self._number_of(term)
        if number is None:
            return np.empty(0, np.int64)
        starts = self._index.scores["indptr"]
        return self._index.scores["indices"][starts[number] : starts[number + 1]]


def chunk_index(collection: Collection, settings: Bm25Settings) -> Bm25Index | SegmentedIndex:
    """Return the index of a collection's chunks."""
    starts = _segments(collection)
    digests = _by_segment(collection.text_digests, starts)
    of_chunks = collection.starts[starts].tolist()
    return indexed("chunks", collection.chunk_texts, of_chunks, settings, collection.cache, digests)


def indexed(
    name: str,
    texts: Sequence[str],
    starts: Sequence[int],
    settings: Bm25Settings,
    cache: ArrayCache | None,
    digests: Sequence[str] | None = None,
) -> Bm25Index | SegmentedIndex:
    """Return the index of `texts`; the segments of many are kept in the cache, if there is one.

    Parameters
    ----------
    name : what the texts are; segments kept under this name for other texts are removed.
    starts : index of each segment's first text, and the number of texts.
    digests : digest of each segment's texts, `(n_segments,)`, which are read only if the index of
        one of them is not kept; None: they are computed.
    """
    words, parts = settings.words, list(pairwise(starts))
    name = f"bm25-{name}{'-bigrams' if words.bigrams else ''}"
    segments: list[Segment | None] = [None] * len(parts)
    versions = [""] * len(parts)
    if cache is not None:
        digests = digests or [hash_texts(texts[first:last]) for first, last in parts]
        made_from = [_FORMAT, *map(version, ("nltk", "numpy")), repr(words)]
        versions = [hash_texts([*made_from, digest]) for digest in digests]
        segments = [_read(cache, name, version) for version in versions]
    if any(segment is None for segment in segments):
        # the texts of a large collection are not read to find that it is large
        if not any(segments) and sum(map(len, texts)) < KEPT_FROM:
            return Bm25Index(texts, settings)
        hashes = Hashes()
        for i, (first, last) in enumerate(parts):
            if segments[i] is None:
                segment = Segment.of(texts[first:last], words.terms, words.bigrams, hashes)
                if cache is not None and len(segment.hashes):
                    cache.write(name, versions[i], segment._asdict())
                    # mapped, so that it need not stay in memory
                    segment = _read(cache, name, versions[i]) or segment
                segments[i] = segment
        if cache is not None:
            cache.keep_only(name, versions)
    return SegmentedIndex(
        [segment for segment in segments if segment], words.split, settings.k1, settings.b
    )


def _segments(collection: Collection) -> list[int]:
    return segment_starts(collection.document_ids, len(collection.chunk_ids))


def _by_segment(digests: Sequence[str] | None, starts: Sequence[int]) -> list[str] | None:
    """Return the digest of each segment's texts from those of its documents."""
    if digests is None:
        return None
    return [hash_texts(digests[first:last]) for first, last in pairwise(starts)]


def _read(cache: ArrayCache, name: str, version: str) -> Segment | None:
    arrays = cache.read(name, version)
    return Segment(**arrays) if arrays else None
