"""Deduplication in two stages (3.3): elements with equal keys, then with near keys, are merged.

Keys are near by their SimHashes (Charikar, 2002).
"""

import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b

import numpy as np
import pyarrow as pa

from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.content_hash import hash_texts

NEAR_BITS = 3
"""Bits of 64 by which the SimHashes of merged elements may differ (3.3)."""

_AT_ONCE = 256  # hashes that are compared with all others at a time
_WIDTH = 4  # characters of a shingle, as in the `simhash` package, which the paper uses
_BETWEEN = re.compile(r"[\s\-‐-―'’ʼ.,/·・]+")  # characters in which spellings of a name differ
# Roman digits or one letter behind another word: "Henry V", "Plan B"
_LABEL = re.compile("(?<=[ -])(?:[ivxlc]+|[a-zα-ωа-я])(?![^ -])")


def node_id(element_key: str) -> str:
    """Return the id of the node whose name has this key."""
    return "n" + hash_texts([element_key], 10)


def merge_elements(elements: pa.Table) -> pa.Table:
    """Return the rows of `jerr.merges`: the node of each written form of an element.

    Forms with equal keys are merged, and so are, transitively, keys whose SimHashes differ by at
    most `NEAR_BITS`, unless they contain different numbers. The most frequent key and form name the
    node; ties are broken by length, then by alphabet.
    """
    forms = _mentioned(elements, "element", "element_key")
    mentions = {
        row["element_key"]: row["n_mentions"] for row in _mentioned(elements, "element_key")
    }
    hashes = simhashes(list(mentions))
    hash_of = dict(zip(mentions, hashes.tolist(), strict=True))
    own_of = _own_keys(mentions, hashes)
    names: dict[str, str] = {}
    for form in sorted(forms, key=lambda f: (-f["n_mentions"], len(f["element"]), f["element"])):
        names.setdefault(form["element_key"], form["element"])
    rows = []
    for form in forms:
        key, own_key = form["element_key"], own_of[form["element_key"]]
        same_key = "own" if form["element"] == names[own_key] else "exact"
        rows.append(
            {
                **form,
                "node_id": node_id(own_key),
                "merged_into": names[own_key],
                "rule": same_key if own_key == key else "near",
                "n_bits": (hash_of[key] ^ hash_of[own_key]).bit_count(),
            }
        )
    return pa.Table.from_pylist(rows, TABLES["jerr.merges"].schema)


def _mentioned(elements: pa.Table, *names: str) -> list[dict]:
    """Return the distinct values of these columns in order, with their number of synopses."""
    counted = elements.group_by(list(names)).aggregate([("chunk_id", "count_distinct")])
    counted = counted.rename_columns({"chunk_id_count_distinct": "n_mentions"})
    return counted.sort_by(names[0]).to_pylist()


def _own_keys(mentions: Mapping[str, int], hashes: np.ndarray) -> dict[str, str]:
    """Return for each key the key of its node."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    keys = list(mentions)
    if not keys:
        return {}
    numbers = [_numbers(key) for key in keys]
    near = [(a, b) for a, b in near_pairs(hashes).tolist() if numbers[a] == numbers[b]]
    ends = np.array(near, int).reshape(-1, 2).T
    graph = coo_array((np.ones(len(near)), ends), (len(keys), len(keys)))
    node_of = dict(zip(keys, connected_components(graph, directed=False)[1].tolist(), strict=True))
    own_of: dict[int, str] = {}
    for key in sorted(keys, key=lambda key: (-mentions[key], len(key), key)):
        own_of.setdefault(node_of[key], key)
    return {key: own_of[node] for key, node in node_of.items()}


def _numbers(key: str) -> list[str]:
    """Return the numbers in a key, as in "Chapter 1" in any script, and labels as in "Henry V"."""
    digits = "".join(sign if sign.isnumeric() else " " for sign in key)
    return [*digits.split(), *_LABEL.findall(key)]


def shingles(text: str) -> list[str]:
    """Return all runs of four characters of a text without blanks and marks, or a shorter text."""
    bare = _BETWEEN.sub("", text) or text
    return [bare[start : start + _WIDTH] for start in range(max(1, len(bare) - _WIDTH + 1))]


def simhashes(texts: Sequence[str]) -> np.ndarray:
    """Return the SimHash of each text by BLAKE2b, uint64 `(n_texts,)`, equal in every process."""
    hashes = np.zeros(len(texts), np.uint64)
    for i, text in enumerate(texts):
        digests = b"".join(blake2b(s.encode(), digest_size=8).digest() for s in shingles(text))
        bits = np.unpackbits(np.frombuffer(digests, np.uint8).reshape(-1, 8), axis=1)
        is_set = 2 * bits.sum(axis=0, dtype=int) > len(bits)  # (64,)
        hashes[i] = int.from_bytes(np.packbits(is_set).tobytes(), "big")
    return hashes


def near_pairs(hashes: np.ndarray, n_bits: int = NEAR_BITS) -> np.ndarray:
    """Return all pairs of hashes that differ by at most `n_bits`, in order, `(n_pairs, 2)`."""
    bits = np.unpackbits(hashes[:, None].view(np.uint8), axis=1)
    signs = 2 * bits.astype(np.float32) - 1  # (n, 64), whose products are 64 - 2 * differing bits
    pairs: list[np.ndarray] = [np.zeros((0, 2), np.int64)]
    for first in range(0, len(hashes), _AT_ONCE):
        is_near = signs[first : first + _AT_ONCE] @ signs[first:].T >= 64 - 2 * n_bits
        pairs.append(np.argwhere(np.triu(is_near, 1)) + first)
    return np.concatenate(pairs)
