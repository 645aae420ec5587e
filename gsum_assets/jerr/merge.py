"""Deduplication in two stages (3.3): elements with equal keys, then with near keys, are merged.

Keys are near by their SimHashes (Charikar, 2002).
"""

import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b

import numpy as np
import pyarrow as pa

from gsum_assets.jerr.sizes import by_size
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.content_hash import hash_texts

NEAR_BITS = 3
"""Bits of 64 by which the SimHashes of merged elements may differ (3.3)."""

_BITS = 64
_AT_ONCE = 256  # hashes that are compared with all others at a time
_WIDTH = 4  # characters of a shingle, as in the `simhash` package, which the paper uses
_BETWEEN = re.compile(r"[\s\-‐-―'’ʼ.,/·・]+")  # characters in which spellings of a name differ
# Roman digits or one letter behind another word: "Henry V", "Plan B"
_LABEL = re.compile("(?<=[ -])(?:[ivxlc]+|[a-zα-ωа-я])(?![^ -])")


def node_id(element_key: str) -> str:
    """Return the id of the node whose name has this key."""
    return "n" + hash_texts([element_key], 10)


def merge_elements(elements: pa.Table, near_bits: int = NEAR_BITS) -> pa.Table:
    """Return the node of each written form of an element, for each size of line chunks.

    Forms with equal keys are merged, and so are, transitively, keys whose SimHashes differ by at
    most `near_bits`, unless they contain different numbers. The node has the most frequent key, and
    its name is the most frequent form of that key; ties are broken by length, then by alphabet.
    """
    rows = [
        {"max_tokens": size, **row}
        for size, (of_size,) in by_size(elements)
        for row in _merged(of_size, near_bits)
    ]
    return pa.Table.from_pylist(rows, TABLES["jerr.merges"].schema)


def _merged(elements: pa.Table, near_bits: int) -> Iterator[dict]:
    """Yield the rows of one size, without it."""
    forms = _mentioned(elements, "element", "element_key")
    keys = list(dict.fromkeys(form["element_key"] for form in forms))
    index_of = {key: index for index, key in enumerate(keys)}
    mentions = {
        row["element_key"]: row["n_mentions"] for row in _mentioned(elements, "element_key")
    }
    hashes = simhashes(keys)
    owns = _own_keys([(-mentions[key], len(key), key) for key in keys], hashes, near_bits)
    signs = _signs(hashes)
    n_bits = _bits_apart((signs * signs[owns]).sum(axis=1)).tolist()
    names: dict[str, str] = {}
    for form in sorted(forms, key=lambda f: (-f["n_mentions"], len(f["element"]), f["element"])):
        names.setdefault(form["element_key"], form["element"])
    for form in forms:
        index = index_of[form["element_key"]]
        own_key = keys[owns[index]]
        same_key = "own" if form["element"] == names[own_key] else "exact"
        yield {
            **form,
            "node_id": node_id(own_key),
            "merged_into": names[own_key],
            "rule": same_key if own_key == form["element_key"] else "near",
            "n_bits": n_bits[index],
        }


def _mentioned(elements: pa.Table, *names: str) -> list[dict]:
    """Return the distinct values of these columns in order, with their number of synopses."""
    counted = elements.group_by(list(names)).aggregate([("chunk_id", "count_distinct")])
    counted = counted.rename_columns({"chunk_id_count_distinct": "n_mentions"})
    return counted.sort_by(names[0]).to_pylist()


def _own_keys(
    ranks: Sequence[tuple[int, int, str]], hashes: np.ndarray, near_bits: int
) -> list[int]:
    """Return for each key the index of the key of its node.

    Parameters
    ----------
    ranks : sort keys, of which each ends with a key; the first of a node names it.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not near_bits or not ranks:
        return list(range(len(ranks)))
    numbers = [_numbers(key) for *_, key in ranks]
    near = near_pairs(hashes, near_bits).tolist()
    joined = np.array([(a, b) for a, b in near if numbers[a] == numbers[b]], int).reshape(-1, 2)
    graph = coo_array((np.ones(len(joined)), joined.T), (len(ranks), len(ranks)))
    node_of = connected_components(graph, directed=False)[1].tolist()
    own_of: dict[int, int] = {}
    for index in sorted(range(len(ranks)), key=ranks.__getitem__):
        own_of.setdefault(node_of[index], index)
    return [own_of[node] for node in node_of]


def _numbers(key: str) -> list[str]:
    """Return the numbers in a key, as in "Chapter 1" in any script, and labels as in "Henry V"."""
    digits = "".join(sign if sign.isnumeric() else " " for sign in key)
    return [*digits.split(), *_LABEL.findall(key)]


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
    hashes = np.zeros(len(texts), np.uint64)
    for i, text in enumerate(texts):
        digests = b"".join(blake2b(s.encode(), digest_size=8).digest() for s in shingles(text))
        bits = np.unpackbits(np.frombuffer(digests, np.uint8).reshape(-1, 8), axis=1)
        is_set = 2 * bits.sum(axis=0, dtype=int) > len(bits)  # (64,)
        hashes[i] = int.from_bytes(np.packbits(is_set).tobytes(), "big")
    return hashes


def near_pairs(hashes: np.ndarray, n_bits: int = NEAR_BITS) -> np.ndarray:
    """Return all pairs of hashes that differ by at most `n_bits`, in order, `(n_pairs, 2)`.

    Parameters
    ----------
    hashes : uint64 `(n,)`.
    """
    signs = _signs(hashes)
    pairs = [np.zeros((0, 2), np.int64)]
    for first in range(0, len(hashes), _AT_ONCE):
        bits = _bits_apart(signs[first : first + _AT_ONCE] @ signs[first:].T)
        pairs.append(np.argwhere(np.triu(bits <= n_bits, 1)) + first)
    return np.concatenate(pairs)


def _signs(hashes: np.ndarray) -> np.ndarray:
    """Return 1 for each bit that is set and -1 for the others, float32 `(n, 64)`."""
    bits = np.unpackbits(hashes[:, None].view(np.uint8), axis=1)
    return 2 * bits.astype(np.float32) - 1


def _bits_apart(products: np.ndarray) -> np.ndarray:
    """Return the number of bits by which hashes differ from the products of their signs."""
    return ((_BITS - products) / 2).astype(np.int32)
