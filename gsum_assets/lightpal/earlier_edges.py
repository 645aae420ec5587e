"""Edges of the previous run, so that those of lists that have not changed are not chosen again.

The edges of a passage depend on its candidates, their similarities and their scores alone. The
basis of the edges of a large corpus has a hash of these for each passage.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from gsum_assets.lightpal.lists import CandidateLists, Lists, hashes_of, indices_of, of_level
from gsum_resources.engine.threads import in_threads
from gsum_resources.store.arrow import pc, repeated
from gsum_resources.store.earlier import Earlier

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


def edges_basis(lists: Lists, hashes: Hashes) -> pa.Table:
    """Return the basis of edges that are chosen from `lists`."""
    return pa.concat_tables(
        pa.table(
            {
                "level": repeated(level, len(near.ids)),
                "passage_number": near.passages.numbers,
                "lists_hash": hashes[level],
            }
        )
        for level, near in lists.items()
    )


def earlier_edges(earlier: Earlier) -> EarlierEdges | None:
    """Return the stored edges; None if it is not known what they were chosen from."""
    stored = earlier.with_basis(as_dictionaries=_KINDS)
    if stored is None:
        return None
    rows, basis = stored
    levels = {level: of_level(basis, level) for level in basis["level"].unique().to_pylist()}
    return EarlierEdges(
        rows,
        {level: of_rows["passage_number"].to_numpy() for level, of_rows in levels.items()},
        {level: of_rows["lists_hash"].to_numpy() for level, of_rows in levels.items()},
    )
