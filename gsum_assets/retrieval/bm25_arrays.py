"""The arrays of a BM25 index of many texts, by sorting hashes of terms instead of numbering terms.

bm25s numbers terms in a dict and holds the numbers of all texts in lists: of a million passages
with pairs of words, of which most are distinct, tens of GiB. Here a term in a text takes 16 bytes
until it is sorted. The scores equal those of bm25s to the last bit.
"""

import hashlib
import math
from array import array
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

_FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F  # odd: multiplying by them is one to one
_PART_BITS = 4
_TEXTS_AT_ONCE = 4096
_LAST_64_BITS = 2**64 - 1


def hash_of(term: str) -> int:
    """Return a hash of 64 bits of a term; that of a pair follows from those of its two terms."""
    first, blank, second = term.partition(" ")
    if blank:
        return (_hash_of_one(first) * _FIRST + _hash_of_one(second) * _SECOND) & _LAST_64_BITS
    return _hash_of_one(term)


def _hash_of_one(term: str) -> int:
    return int.from_bytes(hashlib.blake2b(term.encode(), digest_size=8).digest(), "little")


class _Hashes(dict[str, int]):
    """Hash of each term, computed once."""

    def __missing__(self, term: str) -> int:
        self[term] = found = _hash_of_one(term)
        return found


def bm25_arrays(
    texts: Sequence[str], terms_of: Callable[[str], list[str]], pairs: bool, k1: float, b: float
) -> dict[str, np.ndarray]:
    """Return the arrays of an index of `texts`; empty if no text has a term.

    Parameters
    ----------
    terms_of : returns the terms of a text in order.
    pairs : whether to count pairs of neighbouring terms as well.

    Returns
    -------
    dict
        `hashes` of the terms, ascending, and the columns of bm25s in their order: `data`, `indices`
        and `indptr`.
    """
    hash_of_term = _Hashes()
    counts = _Counts()
    lengths = array("q")
    for number, text in enumerate(texts):
        terms = terms_of(text)
        hashes = np.fromiter(map(hash_of_term.__getitem__, terms), np.uint64, len(terms))
        if pairs:
            neighbours = hashes[:-1] * np.uint64(_FIRST) + hashes[1:] * np.uint64(_SECOND)
            hashes = np.concatenate([hashes, neighbours])
        counts.add(number, hashes)
        lengths.append(len(hashes))
    if not counts.n:
        return {}
    norms = k1 * ((1 - b) + b * np.asarray(lengths) / np.asarray(lengths).mean())
    return counts.arrays(norms.astype(np.float32))


class _Block(NamedTuple):
    """Hash of a term, its count in a text and the number of the text, `(n,)` each."""

    hashes: np.ndarray
    counts: np.ndarray
    texts: np.ndarray

    @classmethod
    def joined(cls, blocks: "Sequence[_Block]") -> "_Block":
        return cls(*(np.concatenate(column) for column in zip(*blocks, strict=True)))

    def take(self, rows: np.ndarray) -> "_Block":
        return _Block(*(column[rows] for column in self))


class _Counts:
    """Counts of terms in texts, in parts by the first bits of their hashes.

    A part at a time is sorted, so that the work takes little memory beside the result.

    Attributes
    ----------
    n : number of pairs of a text and a term in it.
    """

    def __init__(self) -> None:
        self.n = 0
        self._recent: list[_Block] = []
        self._parts: list[list[_Block]] = [[] for _ in range(2**_PART_BITS)]

    def add(self, number: int, hashes: np.ndarray) -> None:
        """Count the terms of a text; texts are added in order."""
        distinct, counts = np.unique(hashes, return_counts=True)
        texts = np.full(len(distinct), number, np.int32)
        self._recent.append(_Block(distinct, counts.astype(np.uint32), texts))
        self.n += len(distinct)
        if len(self._recent) >= _TEXTS_AT_ONCE:
            self._divide()

    def _divide(self) -> None:
        """Divide what was added recently among the parts."""
        if not self._recent:
            return
        block = _Block.joined(self._recent)
        self._recent.clear()
        numbers = (block.hashes >> np.uint64(64 - _PART_BITS)).astype(np.uint8)
        order = np.argsort(numbers, kind="stable")
        ends = np.cumsum(np.bincount(numbers, minlength=len(self._parts)))[:-1]
        for part, rows in zip(self._parts, np.split(order, ends), strict=True):
            part.append(block.take(rows))

    def arrays(self, norms: np.ndarray) -> dict[str, np.ndarray]:
        """Return the result of `bm25_arrays`, and forget the counts.

        Parameters
        ----------
        norms : denominator of each text without the count, float32.
        """
        self._divide()
        data, indices = np.empty(self.n, np.float32), np.empty(self.n, np.int32)
        hashes, starts, first = [], [], 0
        for part in self._parts:
            block = _Block.joined(part)
            part.clear()
            last = first + len(block.hashes)
            block = block.take(np.argsort(block.hashes, kind="stable"))  # texts ascend in a term
            is_first = np.ones(len(block.hashes), bool)
            np.not_equal(block.hashes[1:], block.hashes[:-1], out=is_first[1:])
            at = np.flatnonzero(is_first)
            n_with = np.diff(np.append(at, len(is_first)))
            indices[first:last] = block.texts
            # as bm25s computes them, in single precision
            counts = block.counts.astype(np.float32)
            counts /= norms[block.texts] + counts
            counts *= np.repeat(_idf(n_with, len(norms)), n_with)
            data[first:last] = counts
            hashes.append(block.hashes[is_first])
            starts.append(first + at)
            first = last
        starts.append(np.array([first]))
        joined = np.concatenate(hashes), np.concatenate(starts)
        return {"hashes": joined[0], "data": data, "indices": indices, "indptr": joined[1]}


def _idf(n_with: np.ndarray, n_texts: int) -> np.ndarray:
    """Return Lucene's inverse document frequency, float32."""
    known, inverse = np.unique(n_with, return_inverse=True)
    values = [math.log(1 + (n_texts - n + 0.5) / (n + 0.5)) for n in known.tolist()]
    return np.array(values, np.float32)[inverse]
