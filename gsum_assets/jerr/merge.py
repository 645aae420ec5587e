"""Deduplication in two stages (3.3): elements with equal keys, then with near keys, are merged."""

import re
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from gsum_assets.jerr.simhash import hamming, near_pairs, simhashes
from gsum_assets.jerr.sizes import of_one_size
from gsum_resources.store.content_hash import hash_texts

# Roman digits or one letter behind another word: "Henry V", "Plan B"
_LABEL = re.compile("(?<=[ -])(?:[ivxlc]+|[a-zα-ωа-я])(?![^ -])")


def node_id(element_key: str) -> str:
    """Return the id of the node whose name has this key."""
    return "n" + hash_texts([element_key], 10)


def merge_elements(elements: pa.Table, near_bits: int) -> pa.Table:
    """Return the node of each written form of an element.

    Forms with equal keys are merged, and so are, transitively, keys whose SimHashes differ by at
    most `near_bits`, unless they contain different numbers. The node has the most frequent key, and
    its name is the most frequent form of that key; ties are broken by length, then by alphabet.

    Parameters
    ----------
    near_bits : of 64; 0: only equal keys are merged.
    """
    forms = _mentioned(elements, "element", "element_key")
    counted = _mentioned(elements, "element_key")
    mentions = {row["element_key"]: row["n_mentions"] for row in counted}
    keys = list(dict.fromkeys(form["element_key"] for form in forms))
    index_of = {key: index for index, key in enumerate(keys)}
    hashes = simhashes(keys)
    owns = _own_keys(keys, mentions, hashes, near_bits)
    n_bits = hamming(hashes, hashes[owns]).tolist()
    names: dict[str, str] = {}
    for form in sorted(forms, key=lambda row: _rank(row["n_mentions"], row["element"])):
        names.setdefault(form["element_key"], form["element"])
    rows = []
    for form in forms:
        index = index_of[form["element_key"]]
        own_index = owns[index]
        name = names[keys[own_index]]
        same_key = "own" if form["element"] == name else "exact"
        rows.append(
            {
                **form,
                "node_id": node_id(keys[own_index]),
                "merged_into": name,
                "rule": same_key if own_index == index else "near",
                "n_bits": n_bits[index],
            }
        )
    return pa.Table.from_pylist(rows, of_one_size("jerr.merges"))


def _mentioned(elements: pa.Table, *names: str) -> list[dict]:
    """Return the distinct values of these columns in order, with their number of synopses."""
    counted = elements.group_by(list(names)).aggregate([("chunk_id", "count_distinct")])
    counted = counted.rename_columns({"chunk_id_count_distinct": "n_mentions"})
    return counted.sort_by(names[0]).to_pylist()


def _rank(n_mentions: int, text: str) -> tuple[int, int, str]:
    """Return a sort key that puts the name of a node first."""
    return -n_mentions, len(text), text


def _own_keys(
    keys: Sequence[str], mentions: Mapping[str, int], hashes: np.ndarray, near_bits: int
) -> list[int]:
    """Return for each key the index of the key of its node."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not near_bits or not keys:
        return list(range(len(keys)))
    left, right, _ = near_pairs(hashes, near_bits)
    ends = zip(map(int, left), map(int, right), strict=True)
    may_join = np.array([_numbers(keys[a]) == _numbers(keys[b]) for a, b in ends], bool)
    # filtered, as SciPy treats a stored zero as an edge
    left, right = left[may_join], right[may_join]
    joined = coo_array((np.ones(len(left)), (left, right)), (len(keys), len(keys)))
    node_of = connected_components(joined, directed=False)[1].tolist()
    own_of: dict[int, int] = {}
    for index in sorted(range(len(keys)), key=lambda at: _rank(mentions[keys[at]], keys[at])):
        own_of.setdefault(node_of[index], index)
    return [own_of[node] for node in node_of]


def _numbers(key: str) -> list[str]:
    """Return the numbers in a key, as in "Chapter 1" in any script, and labels as in "Henry V"."""
    digits = "".join(sign if sign.isnumeric() else " " for sign in key)
    return [*digits.split(), *_LABEL.findall(key)]
