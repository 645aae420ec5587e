"""Incremental update of nearest neighbours: the results of `nearest` at the cost of the changes.

A list of nearest neighbours remains valid when items are added, except for those nearer than its
last; and when listed items are removed, as long as enough of the remaining ones are nearer than all
unlisted items. Otherwise the item is compared with all others again.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gsum_assets.graphs.nearest import (
    Comparison,
    Neighbours,
    OnProgress,
    Pairs,
    best,
    nearest,
    reaching,
)
from gsum_resources.blocks import LOCAL, Engine

Whole = Callable[[np.ndarray, np.ndarray, int, OnProgress], tuple[Neighbours, Neighbours]]
"""Compares all vectors: parameters and result of `nearest`."""

_MOST_FRESH = 0.25  # fraction of fresh vectors above which all are recomputed


class Lists(NamedTuple):
    """Neighbours found earlier, one row for each current item.

    Attributes
    ----------
    neighbours : index -1 for removed items; rows of fresh items are ignored.
    are_complete : whether each list had all other items.
    """

    neighbours: Neighbours
    are_complete: bool


class Before(NamedTuple):
    """Neighbours found earlier, and the groups that have changed since.

    Attributes
    ----------
    of_vectors, of_groups : lists of vectors and of groups.
    fresh : groups that were added or changed since, ascending.
    """

    of_vectors: Lists
    of_groups: Lists
    fresh: np.ndarray


def nearest_again(
    vectors: np.ndarray,
    starts: np.ndarray,
    k: int,
    before: Before | None = None,
    on_progress: OnProgress = lambda done, all: None,
    engine: Engine = LOCAL,
    whole: Whole | None = None,
) -> tuple[Neighbours, Neighbours]:
    """Return the result of `nearest` for the same parameters; `before` only saves time.

    Parameters
    ----------
    whole : compares all vectors anew instead of `nearest`. What has changed since `before` is
        compared exactly in any case.
    """
    whole = whole or (lambda v, s, n, report: nearest(v, s, n, report, engine))
    lengths = np.diff(starts)
    if before is None or lengths[before.fresh].sum() > _MOST_FRESH * len(vectors):
        return whole(vectors, starts, k, on_progress)
    is_fresh = np.zeros(len(lengths), bool)
    is_fresh[before.fresh] = True
    of_vectors = _Renewed(before.of_vectors, np.repeat(is_fresh, lengths), k)
    of_groups = _Renewed(before.of_groups, is_fresh, k)
    if not (of_vectors.are_usable and of_groups.are_usable):
        return whole(vectors, starts, k, on_progress)
    comparison = Comparison(vectors, starts)
    for groups in comparison.blocks(before.fresh):
        rows = comparison.members(groups)
        products = comparison.products(rows)
        within = comparison.greatest(products, groups)
        pairs = of_groups.candidates(within, comparison.margin)
        exact = comparison.exact_groups(products, within, groups, pairs)
        of_groups.add(pairs.columns, groups[pairs.rows], exact)
        pairs = of_vectors.candidates(products, comparison.margin)
        pairs = Pairs(rows[pairs.rows], pairs.columns)
        of_vectors.add(pairs.columns, pairs.rows, comparison.exact(pairs))
        of_groups.put(groups, comparison.groups(products, groups, k))
        of_vectors.put(rows, comparison.vectors(products, rows, k))
    for groups in comparison.blocks(of_groups.settle()):
        rows = comparison.members(groups)
        products = comparison.products(rows)
        of_groups.put(groups, comparison.groups(products, groups, k))
    for rows in comparison.row_blocks(of_vectors.settle()):
        of_vectors.put(rows, comparison.vectors(comparison.products(rows), rows, k))
    on_progress(len(vectors), len(vectors))
    return of_vectors.found, of_groups.found


class _Renewed:
    """Neighbour lists to which fresh items are added, and from which removed ones are dropped.

    Attributes
    ----------
    found : the lists of all items, valid after `put` or `settle`.
    are_usable : whether the lists were long enough.
    """

    def __init__(self, before: Lists, is_fresh: np.ndarray, k: int) -> None:
        self._before = before.neighbours
        self._is_fresh = is_fresh
        n, width = self._before.indices.shape
        self._k = min(k, n - 1)
        self.are_usable = width >= max(1, self._k) or before.are_complete
        self._is_complete = before.are_complete
        ends = self._before.similarities[:, -1] if width else np.zeros(n)
        least = np.where(is_fresh, np.inf, -np.inf if before.are_complete else ends)
        self._least = least.astype(np.float32)
        shape = (n, self._k)
        self.found = Neighbours(np.zeros(shape, np.int32), np.zeros(shape, np.float32))
        self._gains = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]

    def candidates(self, similarities: np.ndarray, margin: float) -> Pairs:
        """Return pairs of a row and a kept item whose nearest may include the row."""
        return reaching(similarities, self._least - margin)

    def add(self, items: np.ndarray, fresh_items: np.ndarray, similarities: np.ndarray) -> None:
        """Record the similarities of kept and fresh items."""
        self._gains.append((items, fresh_items, similarities))

    def put(self, items: np.ndarray, rows: Neighbours) -> None:
        """Store the lists found for `items`."""
        if len(items):
            for mine, fresh in zip(self.found, rows, strict=True):
                mine[items] = fresh

    def settle(self) -> np.ndarray:
        """Update the lists of kept items; return those that must be compared again, ascending."""
        indices, similarities = self._before
        items, fresh_items, gained = (
            np.concatenate(columns) for columns in zip(*self._gains, strict=True)
        )
        loses = (indices < 0).any(axis=1)
        touched = loses.copy()
        touched[items] = True
        same = np.flatnonzero(~self._is_fresh & ~touched)
        self.put(same, Neighbours(indices[same, : self._k], similarities[same, : self._k]))
        touched = np.flatnonzero(touched & ~self._is_fresh)
        row, column = np.nonzero(indices[touched] >= 0)
        kept = indices[touched][row, column], similarities[touched][row, column]
        rows = np.concatenate([row, np.searchsorted(touched, items)])
        order = np.argsort(rows, kind="stable")
        pairs = Pairs(rows[order], np.concatenate([kept[0], fresh_items])[order])
        values = np.concatenate([kept[1], gained.astype(np.float32)])[order]
        is_certain = self._are_certain(touched, pairs, values) | ~loses[touched]
        chosen = is_certain[pairs.rows]
        number = np.cumsum(is_certain) - 1
        pairs = Pairs(number[pairs.rows[chosen]], pairs.columns[chosen])
        n_certain, n_items = int(is_certain.sum()), len(indices)
        self.put(touched[is_certain], best(pairs, values[chosen], n_certain, self._k, n_items))
        return touched[~is_certain]

    def _are_certain(self, touched: np.ndarray, pairs: Pairs, values: np.ndarray) -> np.ndarray:
        """Return which items have enough neighbours that precede all unlisted items."""
        if self._is_complete:
            return np.ones(len(touched), bool)
        last = self._before.indices[touched, -1]  # -1 (removed) precedes every index
        end = self._before.similarities[touched, -1]
        equal = (values == end[pairs.rows]) & (pairs.columns <= last[pairs.rows])
        before = (values > end[pairs.rows]) | equal
        return np.bincount(pairs.rows[before], minlength=len(touched)) >= self._k
