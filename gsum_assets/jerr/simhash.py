"""Near duplicates among short texts: SimHash (Charikar, 2002), and pairs of near hashes."""

import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

_BITS = 64
_AT_ONCE = 256  # hashes that are compared with all others at a time
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

    Each is compared with all later ones.

    Parameters
    ----------
    hashes : uint64 `(n,)`.
    """
    found = [Pairs(*np.zeros((3, 0), np.int64))]
    for first in range(0, len(hashes), _AT_ONCE):
        bits = hamming(hashes[first : first + _AT_ONCE, None], hashes[None, first:])
        left, right = np.nonzero(np.triu(bits <= n_bits, 1))
        found.append(Pairs(left + first, right + first, bits[left, right]))
    return Pairs(*map(np.concatenate, zip(*found, strict=True)))
