"""Exact deduplication (3.3): a Bloom filter in front of a trie, and the trie decides.

The filter is ours: the paper's `pybloom` is no longer kept, and a compiled one would still need
a hash of our own, as Python's differs from process to process.
"""

import math
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any


class BloomFilter:
    """Knows keys by a few bits each: it may take another key for one of them, but misses none.

    A key's bits follow from two hashes of it (Kirsch and Mitzenmacher, 2006).

    Parameters
    ----------
    n_bits : size.
    n_hashes : bits of a key.

    Raises
    ------
    ValueError
        If one of them is smaller than 1.
    """

    def __init__(self, n_bits: int, n_hashes: int) -> None:
        if min(n_bits, n_hashes) < 1:
            raise ValueError(f"a Bloom filter of {n_bits} bits, {n_hashes} a key; give 1 or more")
        self.n_bits = n_bits
        self.n_hashes = n_hashes
        self._bytes = bytearray(n_bits // 8 + 1)

    @classmethod
    def sized_for(cls, n_keys: int, error_rate: float = 0.01) -> "BloomFilter":
        """Return one that, when it holds `n_keys`, takes this share of other keys for one of them.

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
        """Know a key from now on."""
        for bit in self._bits(key):
            self._bytes[bit >> 3] |= 1 << (bit & 7)

    def _bits(self, key: str) -> Iterator[int]:
        digest = blake2b(key.encode(), digest_size=16).digest()
        first, step = int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")
        return ((first + nth * step) % self.n_bits for nth in range(self.n_hashes))


class Trie:
    """Keys and a number of each, in a tree with a branch for each next word.

    By words and not by characters, as a key is few words, and a corpus has its words many times.
    """

    def __init__(self) -> None:
        self._root: dict[str | None, Any] = {}  # word to branch; None to the number of a key

    def get(self, key: str) -> int | None:
        """Return the number of a key; None if it is not there."""
        branch = self._root
        for word in key.split(" "):
            if (following := branch.get(word)) is None:
                return None
            branch = following
        return branch.get(None)

    def put(self, key: str, number: int) -> None:
        """Keep a key with its number."""
        branch = self._root
        for word in key.split(" "):
            branch = branch.setdefault(word, {})
        branch[None] = number


class ExactSet:
    """Different keys in the order in which they came.

    What the filter does not know is new for certain. What it seems to know is looked up in the
    trie: a filter that errs costs time, and never merges two keys.

    Parameters
    ----------
    bloom : empty.
    """

    def __init__(self, bloom: BloomFilter) -> None:
        self.keys: list[str] = []
        self._bloom = bloom
        self._trie = Trie()

    def add(self, key: str) -> int:
        """Return the place in `keys` of an equal key; the end, where it is put, if there is none."""
        place = self._trie.get(key) if key in self._bloom else None
        if place is None:
            place = len(self.keys)
            self.keys.append(key)
            self._bloom.add(key)
            self._trie.put(key, place)
        return place
