"""BM25 (Lucene's form) over chunks and, separately, over whole documents.

k1 and b were chosen on ODSum-Story's train stories and QMSum train.

A collection is indexed by independent segments with counts of hashed terms. Those of a large one
are stored in its cache, so that a later process maps them, and an edit computes one.
"""

import hashlib
import math
from array import array
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.ranking import Scores
from gsum_assets.retrieval.words import Words
from gsum_resources.store.array_cache import ArrayCache
from gsum_resources.store.content_hash import hash_texts

KEPT_FROM = 2**20
"""Characters of texts whose index is stored; fewer are split within half a second."""

_FORMAT = "5"  # changes when the same texts give other arrays
_CHUNKS = 2**12  # in a segment, about: half a second of a processor
_FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F  # odd: multiplying by them is one to one
_LAST_64_BITS = 2**64 - 1


K1, B = 1.5, 0.75
"""`K1` damps repetition, `B` (0 to 1) discounts long texts (Robertson and Zaragoza 2009)."""


class Bm25:
    """BM25 of a question's terms in each chunk and each document of a collection.

    Added is BM25 in the documents' names, times the square of the share of the name that a question
    has: a passage of "Jane Doe" need not name her, and one word of a long title counts little.
    """

    def __init__(self, collection: Collection, words: Words | None = None) -> None:
        words = words or Words()
        self._nodes = chunk_index(collection, words)
        starts = segment_starts(collection.document_ids, len(collection.chunk_ids))
        texts = collection.document_texts
        self._documents = _indexed("documents", texts, starts, starts, words, collection)
        names, counts = collection.document_names, np.diff(collection.starts)
        self._owners = np.repeat(np.arange(len(counts)), counts)
        self._names = _indexed("names", names, starts, starts, words, collection) if names else None

    def scores(self, questions: Questions) -> Scores:
        """Return scores that are not negative; 0 if text and name share no term with a question."""
        of_texts = (index.scores(questions.texts) for index in (self._nodes, self._documents))
        if self._names is None:
            return Scores(*of_texts)
        shares = self._names.shares(questions.texts)
        named = self._names.scores(questions.texts) * shares**2
        return Scores(*map(np.add, of_texts, (named[:, self._owners], named)))


def chunk_index(collection: Collection, words: Words) -> "Bm25Index":
    """Return the index of a collection's chunks."""
    starts = segment_starts(collection.document_ids, len(collection.chunk_ids))
    chunk_starts = collection.starts[starts].tolist()
    return _indexed("chunks", collection.chunk_texts, chunk_starts, starts, words, collection)


def segment_starts(document_ids: Sequence[str], n_chunks: int) -> list[int]:
    """Return the index of the first document of each segment, and the number of documents.

    A hash decides where one starts, so that an added or removed document changes no other segment.
    """
    n = len(document_ids)
    documents = max(1.0, _CHUNKS * n / max(1, n_chunks))
    mask = 2 ** round(math.log2(documents)) - 1  # a power of two: seldom another one
    starts = [i for i in range(1, n) if _hash_of_word(document_ids[i]) & mask == 0]
    return [0, *starts, n]


def _indexed(
    name: str,
    texts: Sequence[str],
    starts: Sequence[int],
    document_starts: Sequence[int],
    words: Words,
    collection: Collection,
) -> "Bm25Index":
    """Return the index of `texts`; the segments of many are stored in the cache under `name`.

    `starts` and `document_starts` are the indices of each segment's first text and document, and
    their number.
    """
    cache = collection.cache
    digests = collection.text_digests if texts is not collection.document_names else None
    name = f"bm25-{name}{'-bigrams' if words.bigrams else ''}"
    segments: list[Segment | None] = [None] * (len(starts) - 1)
    versions = [""] * len(segments)
    if cache is not None:
        digested, bounds = (texts, starts) if digests is None else (digests, document_starts)
        made_from = [_FORMAT, *map(version, ("nltk", "numpy")), repr(words)]
        versions = [
            hash_texts([*made_from, hash_texts(digested[first:last])])
            for first, last in pairwise(bounds)
        ]
        segments = [_stored(cache, name, version) for version in versions]
    if None in segments:
        # the texts of a large collection are not read to find that it is large
        if not any(segments) and sum(map(len, texts)) < KEPT_FROM:
            cache = None
        hashes = _Hashes()
        for i, (first, last) in enumerate(pairwise(starts)):
            if segments[i] is None:
                segments[i] = segment = Segment.of(texts[first:last], words, hashes)
                if cache is not None and len(segment.hashes):
                    cache.write(name, versions[i], segment._asdict())
                    # mapped, so that it need not stay in memory
                    segments[i] = _stored(cache, name, versions[i]) or segment
    if cache is not None:
        cache.keep_only(name, versions)
    return Bm25Index([segment for segment in segments if segment], words)


def _stored(cache: ArrayCache, name: str, version: str) -> "Segment | None":
    arrays = cache.read(name, version)
    return Segment(**arrays) if arrays else None


class Segment(NamedTuple):
    """Counts of the terms of some texts.

    Attributes
    ----------
    hashes : of the terms, ascending, uint64 `(n_terms,)`.
    starts : position of each term's first posting, and the end, int64 `(n_terms + 1,)`.
    texts : numbers of the texts that have the term, ascending, int32 `(n_postings,)`.
    counts : how often each has it, uint32 `(n_postings,)`.
    lengths : number of terms of each text, int64 `(n_texts,)`.
    """

    hashes: np.ndarray
    starts: np.ndarray
    texts: np.ndarray
    counts: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, texts: Sequence[str], words: Words, hashes: dict[str, int]) -> "Segment":
        """Return the segment of `texts`; `hashes` has the hash of each term."""
        term_hashes = array("Q")
        lengths = np.zeros(len(texts), np.int64)
        for number, text in enumerate(texts):
            terms = words.terms(text)
            term_hashes.extend(map(hashes.__getitem__, terms))
            lengths[number] = len(terms)
        terms = np.frombuffer(term_hashes, np.uint64)
        owners = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        if words.bigrams:
            within = owners[1:] == owners[:-1]
            pairs = terms[:-1] * np.uint64(_FIRST) + terms[1:] * np.uint64(_SECOND)
            terms = np.concatenate([terms, pairs[within]])
            owners = np.concatenate([owners, owners[1:][within]])
            lengths += np.maximum(lengths - 1, 0)
        order = np.lexsort((owners, terms))
        terms, owners = terms[order], owners[order]
        is_term, is_posting = np.ones((2, len(terms)), bool)
        np.not_equal(terms[1:], terms[:-1], out=is_term[1:])
        np.not_equal(owners[1:], owners[:-1], out=is_posting[1:])
        is_posting |= is_term
        postings = np.flatnonzero(is_posting)
        starts = np.append(np.flatnonzero(is_term[postings]), len(postings))
        counts = np.diff(np.append(postings, len(terms))).astype(np.uint32)
        return cls(terms[is_term], starts, owners[postings], counts, lengths)

    def postings(self, term: np.uint64) -> tuple[np.ndarray, np.ndarray]:
        """Return the texts that have the term of a hash, and how often, `(n,)` both."""
        at = int(np.searchsorted(self.hashes, term))
        if at == len(self.hashes) or self.hashes[at] != term:
            return self.texts[:0], self.counts[:0]
        of_term = slice(int(self.starts[at]), int(self.starts[at + 1]))
        return self.texts[of_term], self.counts[of_term]


class Bm25Index:
    """BM25 over the texts of some segments, at least one, in order."""

    def __init__(self, segments: Sequence[Segment], words: Words) -> None:
        self._segments, self._split = segments, words.split
        lengths = np.concatenate([segment.lengths for segment in segments])
        mean = lengths.sum() / max(1, len(lengths)) or 1.0  # no text has a term: nothing is divided
        norms = K1 * ((1 - B) + B * lengths / mean)
        self._lengths, self._norms = lengths, norms.astype(np.float32)
        self._ends = np.cumsum([0, *(len(segment.lengths) for segment in segments)]).tolist()

    @classmethod
    def of(cls, texts: Sequence[str], words: Words) -> "Bm25Index":
        """Return the index of any list of texts."""
        return cls([Segment.of(texts, words, _Hashes())], words)

    def scores(self, queries: Sequence[str]) -> np.ndarray:
        """Return BM25 of each query in each text, float32, `(n_queries, n_texts)`."""
        scores = np.zeros((len(queries), len(self._norms)), np.float32)
        for row, query in zip(scores, queries, strict=True):
            for term in self._split(query):
                for texts, values in self._values(np.uint64(hash_of(term))):
                    row[texts] += values
        return scores

    def shares(self, queries: Sequence[str]) -> np.ndarray:
        """Return the share of each text's terms that each query has, `(n_queries, n_texts)`."""
        n_shared = np.zeros((len(queries), len(self._norms)), np.float32)
        for row, query in zip(n_shared, queries, strict=True):
            for term in set(self._split(query)):
                number = np.uint64(hash_of(term))
                for first, segment in zip(self._ends, self._segments, strict=False):
                    texts, counts = segment.postings(number)
                    row[texts + first] += counts
        return n_shared / np.maximum(self._lengths, 1)

    def having(self, term: str) -> np.ndarray:
        """Return the numbers of the texts that have a term, ascending."""
        number = np.uint64(hash_of(term))
        texts_of = (segment.postings(number)[0] for segment in self._segments)
        return np.concatenate(
            [texts + first for first, texts in zip(self._ends, texts_of, strict=False)]
        )

    def _values(self, term: np.uint64) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the texts that have a term, and its share of their scores, by segment."""
        postings = [segment.postings(term) for segment in self._segments]
        n_with = sum(len(texts) for texts, _ in postings)
        # Lucene's inverse document frequency
        inverse = np.float32(math.log(1 + (len(self._norms) - n_with + 0.5) / (n_with + 0.5)))
        for first, (texts, counts) in zip(self._ends, postings, strict=False):
            if len(texts):
                texts = texts + first
                values = counts.astype(np.float32)
                values /= self._norms[texts] + values
                values *= inverse
                yield texts, values


def hash_of(term: str) -> int:
    """Return a hash of 64 bits of a term; that of a pair follows from those of its two terms."""
    first, blank, second = term.partition(" ")
    if blank:
        return (_hash_of_word(first) * _FIRST + _hash_of_word(second) * _SECOND) & _LAST_64_BITS
    return _hash_of_word(term)


def _hash_of_word(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little")


class _Hashes(dict[str, int]):
    """Hash of each term, computed once."""

    def __missing__(self, term: str) -> int:
        self[term] = hashed = _hash_of_word(term)
        return hashed
