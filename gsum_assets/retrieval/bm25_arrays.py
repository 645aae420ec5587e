"""The arrays of a BM25 index of many texts, by sorting hashes of terms instead of numbering terms.

bm25s numbers terms in a dict and holds the numbers of all texts in lists: of a million passages
with pairs of words, of which most are distinct, tens of GiB. Here a term in a text takes 16 bytes
until it is sorted. The scores equal those of bm25s to the last bit.
"""

import hashlib
import math
from array import array
from collections.abc import Callable, Sequence

import numpy as np

_FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F  # odd: multiplying by them is one to one
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
    found: list[np.ndarray] = []
    counts: list[np.ndarray] = []
    lengths, distinct = array("q"), array("q")
    for text in texts:
        terms = terms_of(text)
        hashes = np.fromiter(map(hash_of_term.__getitem__, terms), np.uint64, len(terms))
        if pairs:
            neighbours = hashes[:-1] * np.uint64(_FIRST) + hashes[1:] * np.uint64(_SECOND)
            hashes = np.concatenate([hashes, neighbours])
        unique, n_each = np.unique(hashes, return_counts=True)
        found.append(unique)
        counts.append(n_each.astype(np.uint32))
        lengths.append(len(hashes))
        distinct.append(len(unique))
    if not sum(distinct):
        return {}
    norms = k1 * ((1 - b) + b * np.asarray(lengths) / np.asarray(lengths).mean())
    return _by_term(_emptied(found), _emptied(counts), np.asarray(distinct), norms)


def _emptied(blocks: list[np.ndarray]) -> np.ndarray:
    """Return the blocks as one array, and empty the list."""
    whole = np.concatenate(blocks)
    blocks.clear()
    return whole


def _by_term(
    hashes: np.ndarray, counts: np.ndarray, distinct: np.ndarray, norms: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the columns from terms by text: hash and count of each, and their number by text."""
    order = np.argsort(hashes, kind="stable")  # texts ascend within a term
    hashes = hashes[order]
    is_first = np.empty(len(hashes), bool)
    is_first[0] = True
    np.not_equal(hashes[1:], hashes[:-1], out=is_first[1:])
    starts = np.append(np.flatnonzero(is_first), len(hashes))
    hashes = hashes[is_first]
    data = counts[order].astype(np.float32)
    indices = np.repeat(np.arange(len(distinct), dtype=np.int32), distinct)[order]
    del order, is_first
    # as bm25s computes them, in single precision
    data /= norms.astype(np.float32)[indices] + data
    data *= np.repeat(_idf(np.diff(starts), len(distinct)), np.diff(starts))
    return {"hashes": hashes, "data": data, "indices": indices, "indptr": starts}


def _idf(n_with: np.ndarray, n_texts: int) -> np.ndarray:
    """Return Lucene's inverse document frequency, float32."""
    known, inverse = np.unique(n_with, return_inverse=True)
    values = [math.log(1 + (n_texts - n + 0.5) / (n + 0.5)) for n in known.tolist()]
    return np.array(values, np.float32)[inverse]
