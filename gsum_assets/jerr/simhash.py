"""Near duplicates among short texts: SimHash (Charikar, 2002), and pairs that differ in few bits.

Two hashes that differ in `k` bits agree in at least `n - k` of `n` blocks of bits, so sorting by
each choice of `n - k` blocks makes them adjacent (Manku et al., 2007, section 3). Of 100,000
elements (`benchmarks/jerr`, commit d4014d8), one block of four leaves 448,000 pairs to compare, 84
times as many as of 10,000; two of five, which are used here, leave 15,000, 27 times as many, in
little more time.
"""

import re
from collections.abc import Sequence
from hashlib import blake2b
from itertools import combinations, count, pairwise
from typing import NamedTuple

import numpy as np

_BITS = 64
_AGREEING = 2  # blocks
_WIDTH = 4  # characters of a shingle, as in the `simhash` package, which the paper uses
_BETWEEN = re.compile(r"[\s\-‐-―'’ʼ.,/·・]+")  # characters in which spellings of a name differ
_ONES = np.array([number.bit_count() for number in range(1 << 16)], np.uint8)


class Pairs(NamedTuple):
    """Indices of near hashes, and the number of bits by which they differ; `(n_pairs,)` each."""

    left: np.ndarray
    right: np.ndarray
    bits: np.ndarray


def shingles(text: str) -> list[str]:
    """Return all runs of four characters of a text, or the text if it is shorter.

    Blanks, hyphens, apostrophes and dots between letters are ignored.
    """
    bare = _BETWEEN.sub("", text) or text
    return [bare[start : start + _WIDTH] for start in range(max(1, len(bare) - _WIDTH + 1))]


def simhashes(texts: Sequence[str]) -> np.ndarray:
    """Return the SimHash of each text, uint64 `(n_texts,)`, equal in every process.

    A bit is set if it is set in the BLAKE2b hashes of more than half of the text's shingles.
    """
    from scipy.sparse import csr_array

    if not texts:
        return np.zeros(0, np.uint64)
    index: dict[str, int] = {}
    indices: list[int] = []
    ends = [0]
    for text in texts:
        indices += [index.setdefault(shingle, len(index)) for shingle in shingles(text)]
        ends.append(len(indices))
    hashed = b"".join(
        blake2b(shingle.encode(), digest_size=_BITS // 8).digest() for shingle in index
    )
    bits = np.unpackbits(np.frombuffer(hashed, np.uint8).reshape(-1, _BITS // 8), axis=1)
    has = csr_array((np.ones(len(indices), np.int32), indices, ends), (len(texts), len(index)))
    votes = has @ (2 * bits.astype(np.int32) - 1)  # (n_texts, 64)
    return np.packbits(votes > 0, axis=1).view(">u8").ravel().astype(np.uint64)


def hamming(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the number of bits by which hashes differ, for broadcastable arrays of uint64."""
    quarters = (left ^ right)[..., None].view(np.uint16)  # (..., 4)
    ones = _ONES.take(quarters).view(np.uint32)[..., 0]  # four counts, a byte each
    return (ones * np.uint32(0x01010101) >> np.uint32(24)).view(np.int32)  # their sum


def near_pairs(hashes: np.ndarray, n_bits: int = 3) -> Pairs:
    """Return all pairs of hashes that differ by at most `n_bits`, left before right, in order.

    Equal hashes are compared once, so the time grows little faster than the number of distinct
    hashes plus the number of pairs.

    Parameters
    ----------
    hashes : uint64 `(n,)`.
    n_bits : at most 62.

    Raises
    ------
    ValueError
        If `n_bits` is out of its range.
    """
    if not 0 <= n_bits <= _BITS - _AGREEING:
        raise ValueError(f"n_bits is {n_bits}; give 0 to {_BITS - _AGREEING}")
    distinct, group_of, sizes = np.unique(hashes, return_inverse=True, return_counts=True)
    first, second = _near(distinct, n_bits)
    alike = np.flatnonzero(sizes > 1)
    members = np.argsort(group_of, kind="stable")
    left, right = _across(
        np.concatenate([alike, first]), np.concatenate([alike, second]), members, sizes
    )
    order = np.lexsort((right, left))
    left, right = left[order], right[order]
    return Pairs(left, right, hamming(hashes[left], hashes[right]))


def _near(distinct: np.ndarray, n_bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of near pairs of distinct ascending hashes, each pair once."""
    n = len(distinct)
    near = [np.zeros(0, np.int64)]
    # a mask for each choice of blocks in which near hashes may agree
    n_blocks = n_bits + _AGREEING
    edges = [_BITS * block // n_blocks for block in range(n_blocks + 1)]
    blocks = [(1 << end) - (1 << start) for start, end in pairwise(edges)]
    for mask in (np.uint64(sum(chosen)) for chosen in combinations(blocks, _AGREEING)):
        order = np.argsort(distinct & mask, kind="stable")
        key = distinct[order] & mask
        at = np.arange(n)
        for shift in count(1):  # adjacent ones, then at larger distances as long as keys are equal
            at = at[at + shift < n]
            at = at[key[at] == key[at + shift]]
            if not len(at):
                break
            first, second = order[at], order[at + shift]  # ascending, as the sort is stable
            is_near = hamming(distinct[first], distinct[second]) <= n_bits
            near.append(first[is_near] * n + second[is_near])
    return np.divmod(np.unique(np.concatenate(near)), max(1, n))


def _across(
    first: np.ndarray, second: np.ndarray, members: np.ndarray, sizes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs of members of two groups, the smaller index first.

    Parameters
    ----------
    first, second : groups, `(n_pairs_of_groups,)`; equal for pairs within one group.
    members : members of all groups, concatenated in order.
    """
    n_pairs = sizes[first] * sizes[second]
    starts = np.cumsum(sizes) - sizes
    nth = np.arange(n_pairs.sum()) - np.repeat(np.cumsum(n_pairs) - n_pairs, n_pairs)
    first, second = np.repeat(first, n_pairs), np.repeat(second, n_pairs)
    left = members[starts[first] + nth // sizes[second]]
    right = members[starts[second] + nth % sizes[second]]
    is_pair = (first != second) | (left < right)
    left, right = left[is_pair], right[is_pair]
    return np.minimum(left, right), np.maximum(left, right)
