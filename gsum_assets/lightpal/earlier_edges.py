"""Edges of the previous run, so that those of lists that have not changed are not chosen again.

The edges of a passage depend on its candidates, their similarities and their scores alone. Of a
large corpus a hash of these is kept for each passage among the arrays of the corpus.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa

from gsum_assets.lightpal.lists import CandidateLists, Lists, hashes_of, indices_of
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.engine.threads import in_threads
from gsum_resources.store.array_cache import ArrayCache
from gsum_resources.store.arrow import pc
from gsum_resources.store.content_hash import content_hash, hash_texts
from gsum_resources.store.parquet_store import ParquetStore, Partition

_TABLE = TABLES["lightpal.passage_edges"]
_KEPT_AS = "edge_lists"
_KINDS = ("graph", "level", "scope")
_PASSAGES_AT_ONCE = 2**15
_ODD = np.uint64(0x9E3779B97F4A7C15)

Hashes = Mapping[str, np.ndarray]
"""Hash of each passage's lists by level, uint64 `(n,)`."""


@dataclass(frozen=True)
class EarlierEdges:
    """Edges, and hashes of the lists that they were chosen from.

    Attributes
    ----------
    rows : rows of `lightpal.passage_edges`.
    numbers : numbers of the passages by level, int64 `(n,)`.
    hashes : hash of the lists of each.
    """

    rows: pa.Table
    numbers: Mapping[str, np.ndarray]
    hashes: Hashes

    def is_same(self, level: str, lists: CandidateLists, hashes: np.ndarray) -> np.ndarray:
        """Return which passages have the lists that they had then, `(n,)`."""
        rows = pc.index_in(pa.array(lists.passages.numbers), pa.array(self.numbers[level]))
        rows = pc.fill_null(rows, -1).to_numpy()
        return (rows >= 0) & (self.hashes[level][rows] == hashes)

    def of(self, kind: Sequence[str], lists: CandidateLists) -> tuple[pa.Table, np.ndarray]:
        """Return the rows of a graph, level and scope, with the indices of their sources.

        The index of a passage that is gone is -1.
        """
        masks = (pc.equal(self.rows[n], v) for n, v in zip(_KINDS, kind, strict=True))
        first, second, third = masks
        rows = self.rows.filter(pc.and_(pc.and_(first, second), third))
        return rows, indices_of(rows["source_id"], lists.ids)


def hashes_of_lists(lists: Lists, scores: Mapping[str, np.ndarray]) -> Hashes:
    """Return a hash of the candidates, similarities and scores of each passage, by level.

    Parameters
    ----------
    scores : by level, the scores of the candidates, `(n, k)`.
    """
    return {level: _hashes(near, scores[level]) for level, near in lists.items()}


def _hashes(lists: CandidateLists, scores: np.ndarray) -> np.ndarray:
    hashes = lists.hashes.view(np.uint64).copy()

    def add(first: int) -> None:
        block = slice(first, first + _PASSAGES_AT_ONCE)
        for values in (lists.values, scores):
            numbers = np.ascontiguousarray(values[block], np.float64)
            hashes[block] = hashes[block] * _ODD + hashes_of(numbers).view(np.uint64)

    in_threads(add, range(0, len(hashes), _PASSAGES_AT_ONCE))
    return hashes


def keep_hashes(cache: ArrayCache, edges: pa.Table, how: str, lists: Lists, hashes: Hashes) -> None:
    """Keep what `edges`, to be stored next, were chosen from.

    Parameters
    ----------
    how : settings and code by which they were chosen.
    """
    version = _version(content_hash(edges, _TABLE.measured), how)
    arrays = chain(
        ((f"{level}_numbers", near.passages.numbers) for level, near in lists.items()),
        ((f"{level}_hashes", hashes[level]) for level in lists),
    )
    cache.write(_KEPT_AS, version, dict(arrays))
    cache.keep_only(_KEPT_AS, [version])


def read_earlier_edges(
    cache: ArrayCache, store: ParquetStore, corpus: str, how: str
) -> EarlierEdges | None:
    """Return the stored edges of a corpus; None if it is not known what they were chosen from."""
    partition = Partition(corpus)
    provenance = store.provenance(_TABLE, partition)
    if provenance is None:
        return None
    arrays = cache.read(_KEPT_AS, _version(provenance.content_hash, how))
    if arrays is None:
        return None
    rows, hashes = store.read(_TABLE, [partition], as_dictionaries=_KINDS)
    if hashes[partition] != provenance.content_hash:  # written meanwhile
        return None
    levels = [name.removesuffix("_numbers") for name in arrays if name.endswith("_numbers")]
    return EarlierEdges(
        rows,
        {level: arrays[f"{level}_numbers"] for level in levels},
        {level: arrays[f"{level}_hashes"] for level in levels},
    )


def _version(rows: str, how: str) -> str:
    return hash_texts([rows, how])
