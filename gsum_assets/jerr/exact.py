"""Exact deduplication (3.3) by a Bloom filter, whose positives are verified in a trie.

The filter is our own: the paper's `pybloom` is unmaintained, and a compiled one would still need
another hash function, as Python's differs between processes.
"""

import math
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any


class BloomFilter:
    """A set of keys with false positives, but no false negatives.

    The bits of a key are derived from two hashes (Kirsch and Mitzenmacher, 2006).

    Raises
    ------
    ValueError
        If a parameter is smaller than 1.
    """

    def __init__(self, n_bits: int, n_hashes: int) -> None:
        if min(n_bits, n_hashes) < 1:
            raise ValueError(f"a Bloom filter of {n_bits} bits, {n_hashes} per key; give 1 or more")
        self.n_bits = n_bits
        self.n_hashes = n_hashes
        self._bytes = bytearray(n_bits // 8 + 1)

    @classmethod
    def sized_for(cls, n_keys: int, error_rate: float = 0.01) -> "BloomFilter":
        """Return a filter with this rate of false positives when it holds `n_keys` keys.

        Raises
        ------
        ValueError
            If `error_rate` is not between 0 and 1.
        """
        if not 0 < error_rate < 1:
            raise ValueError(f"error_rate is {error_rate}; give a share between 0 and 1")
        n_hashes = -math.log2(error_rate)
        n_bits = max(1, n_keys) * n_hashes / math.log(2)
        return cls(math.ceil(n_bits), max(1, round(n_hashes)))

    def __contains__(self, key: str) -> bool:
        return all(self._bytes[bit >> 3] >> (bit & 7) & 1 for bit in self._bits(key))

    def add(self, key: str) -> None:
        """Add a key."""
        for bit in self._bits(key):
            self._bytes[bit >> 3] |= 1 << (bit & 7)

    def _bits(self, key: str) -> Iterator[int]:
        digest = blake2b(key.encode(), digest_size=16).digest()
        first, step = int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")
        return ((first + nth * step) % self.n_bits for nth in range(self.n_hashes))


class Trie:
    """A map from keys to numbers, as a tree with a branch for each next word.

    Branches are words rather than characters, since keys have few words, and words recur often.
    """

    def __init__(self) -> None:
        self._root: dict[str | None, Any] = {}  # word to branch; None to the number of a key

    def get(self, key: str) -> int | None:
        """Return the number of a key; None if it is absent."""
        branch = self._root
        for word in key.split(" "):
            if (following := branch.get(word)) is None:
                return None
            branch = following
        return branch.get(None)

    def put(self, key: str, number: int) -> None:
        """Store a key with its number."""
        branch = self._root
        for word in key.split(" "):
            branch = branch.setdefault(word, {})
        branch[None] = number


class ExactSet:
    """Distinct keys in order of insertion.

    A key that the filter does not contain is new. All others are looked up in the trie, so that
    false positives cost time but never merge two keys.
    """

    def __init__(self, bloom: BloomFilter) -> None:
        self.keys: list[str] = []
        self._bloom = bloom
        self._trie = Trie()

    def add(self, key: str) -> int:
        """Return the index of a key in `keys`, appending it if it is new."""
        index = self._trie.get(key) if key in self._bloom else None
        if index is None:
            index = len(self.keys)
            self.keys.append(key)
            self._bloom.add(key)
            self._trie.put(key, index)
        return index
