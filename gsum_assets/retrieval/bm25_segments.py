"""BM25 over very many texts by segments, each of which is computed and kept by itself.

bm25s numbers terms in a dict, holds the numbers of all texts in lists, and stores scores that
depend on every text: of a million passages with pairs of words, of which most are distinct, tens of
GiB, computed again when one text changes. A segment here has counts of hashed terms, and nothing
that depends on other segments; document frequencies and mean length are added up when a question is
asked. The scores equal those of bm25s to the last bit.
"""

import hashlib
import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

_FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F  # odd: multiplying by them is one to one
_LAST_64_BITS = 2**64 - 1
_CHUNKS = 2**12  # in a segment, about: half a second of a processor

_Postings = tuple[np.ndarray, np.ndarray]
"""Texts that have a term, and how often, `(n,)` both."""


def hash_of(term: str) -> int:
    """Return a hash of 64 bits of a term; that of a pair follows from those of its two terms."""
    first, blank, second = term.partition(" ")
    if blank:
        return (_hash_of_one(first) * _FIRST + _hash_of_one(second) * _SECOND) & _LAST_64_BITS
    return _hash_of_one(term)


def _hash_of_one(term: str) -> int:
    return int.from_bytes(hashlib.blake2b(term.encode(), digest_size=8).digest(), "little")


class Hashes(dict[str, int]):
    """Hash of each term, computed once."""

    def __missing__(self, term: str) -> int:
        self[term] = hashed = _hash_of_one(term)
        return hashed


def segment_starts(document_ids: Sequence[str], n_chunks: int) -> list[int]:
    """Return the index of the first document of each segment, and the number of documents.

    A segment starts where a document's hash says so, so that a document that is added or removed
    changes no other segment.

    Parameters
    ----------
    document_ids : in the order of the texts.
    n_chunks : of all documents.
    """
    n = len(document_ids)
    documents = max(1.0, _CHUNKS * n / max(1, n_chunks))
    mask = 2 ** round(math.log2(documents)) - 1  # a power of two: seldom another one
    starts = [i for i in range(1, n) if _hash_of_one(document_ids[i]) & mask == 0]
    return [0, *starts, n]


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
    def of(
        cls,
        texts: Sequence[str],
        terms_of: Callable[[str], list[str]],
        pairs: bool,
        hashes: Hashes,
    ) -> "Segment":
        """Return the segment of `texts`.

        Parameters
        ----------
        terms_of : returns the terms of a text in order.
        pairs : whether to count pairs of neighbouring terms as well.
        hashes : hashes of terms that are known.
        """
        term_hashes = array("Q")
        lengths = np.zeros(len(texts), np.int64)
        for number, text in enumerate(texts):
            terms = terms_of(text)
            term_hashes.extend(map(hashes.__getitem__, terms))
            lengths[number] = len(terms)
        terms = np.frombuffer(term_hashes, np.uint64)
        owners = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        if pairs:
            within = owners[1:] == owners[:-1]
            both = terms[:-1] * np.uint64(_FIRST) + terms[1:] * np.uint64(_SECOND)
            terms = np.concatenate([terms, both[within]])
            owners = np.concatenate([owners, owners[1:][within]])
            lengths += np.maximum(lengths - 1, 0)
        return cls._counted(terms, owners, lengths)

    @classmethod
    def _counted(cls, terms: np.ndarray, owners: np.ndarray, lengths: np.ndarray) -> "Segment":
        order = np.lexsort((owners, terms))
        terms, owners = terms[order], owners[order]
        is_term, is_posting = np.ones((2, len(terms)), bool)
        np.not_equal(terms[1:], terms[:-1], out=is_term[1:])
        np.not_equal(owners[1:], owners[:-1], out=is_posting[1:])
        is_posting |= is_term
        at = np.flatnonzero(is_posting)
        starts = np.append(np.flatnonzero(is_term[at]), len(at))
        counts = np.diff(np.append(at, len(terms))).astype(np.uint32)
        return cls(terms[is_term], starts, owners[at], counts, lengths)

    def postings(self, term: np.uint64) -> _Postings:
        """Return the texts that have the term of a hash, and how often."""
        at = int(np.searchsorted(self.hashes, term))
        if at == len(self.hashes) or self.hashes[at] != term:
            return self.texts[:0], self.counts[:0]
        of_term = slice(int(self.starts[at]), int(self.starts[at + 1]))
        return self.texts[of_term], self.counts[of_term]


class SegmentedIndex:
    """BM25 over the texts of some segments, in order.

    Parameters
    ----------
    split : returns the terms of a query.
    k1, b : see `Bm25Settings`.
    """

    def __init__(
        self, segments: Sequence[Segment], split: Callable[[str], list[str]], k1: float, b: float
    ) -> None:
        self._segments, self._split = segments, split
        lengths = np.concatenate([segment.lengths for segment in segments])
        mean = lengths.mean() or 1.0  # no text has a term: nothing is divided
        norms = k1 * ((1 - b) + b * lengths / mean)
        self._norms = norms.astype(np.float32)
        self._ends = np.cumsum([0, *(len(segment.lengths) for segment in segments)])

    def scores(self, queries: Sequence[str]) -> np.ndarray:
        """Return BM25 of each query in each text, float32, `(n_queries, n_texts)`."""
        scores = np.zeros((len(queries), len(self._norms)), np.float32)
        for row, query in zip(scores, queries, strict=True):
            for term in self._split(query):
                for texts, values in self._values(np.uint64(hash_of(term))):
                    row[texts] += values
        return scores

    def having(self, term: str) -> np.ndarray:
        """Return the numbers of the texts that have a term, ascending."""
        number = np.uint64(hash_of(term))
        texts_of = [segment.postings(number)[0] for segment in self._segments]
        return np.concatenate(
            [texts + first for first, texts in zip(self._ends, texts_of, strict=False)]
        )

    def _values(self, term: np.uint64) -> Iterator[_Postings]:
        """Yield the texts that have a term, and its share of their scores, by segment."""
        postings = [segment.postings(term) for segment in self._segments]
        n_with = sum(len(texts) for texts, _ in postings)
        # Lucene's inverse document frequency
        inverse = np.float32(math.log(1 + (len(self._norms) - n_with + 0.5) / (n_with + 0.5)))
        for first, (texts, counts) in zip(self._ends.tolist(), postings, strict=False):
            if len(texts):
                texts = texts + first
                # as bm25s computes them, in single precision
                values = counts.astype(np.float32)
                values /= self._norms[texts] + values
                values *= inverse
                yield texts, values
