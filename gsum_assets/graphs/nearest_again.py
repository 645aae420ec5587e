"""Incremental update of nearest neighbours: what changes of the results of `nearest`.

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
from gsum_resources.engine.blocks import LOCAL, Engine

Whole = Callable[[np.ndarray, np.ndarray, int, OnProgress], tuple[Neighbours, Neighbours]]
"""Compares all vectors: parameters and result of `nearest`."""

_MOST_FRESH = 0.25  # fraction of fresh vectors above which all are recomputed


class Lists(NamedTuple):
    """Neighbours found earlier, one row for each current item; those of fresh items are ignored.

    Attributes
    ----------
    similarities : best first, `(n_items, width)`.
    loses : whether a neighbour of an item was removed or is fresh, `(n_items,)`.
    neighbours_of : returns the neighbours of some items, int `(n, width)`; -1 for one that was
        removed or is fresh.
    are_complete : whether each list had all other items.
    """

    similarities: np.ndarray
    loses: np.ndarray
    neighbours_of: Callable[[np.ndarray], np.ndarray]
    are_complete: bool


class Renewed(NamedTuple):
    """The lists that are new; all other items keep the beginnings of their earlier lists.

    Attributes
    ----------
    items : items with a new list, ascending, `(n,)`.
    lists : their neighbours, `(n, k)`.
    """

    items: np.ndarray
    lists: Neighbours


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
) -> tuple[Renewed, Renewed]:
    """Return what changed of the result of `nearest` for the same parameters.

    Without `before`, or if too much has changed since, all lists are new.

    Parameters
    ----------
    whole : compares all vectors anew instead of `nearest`. What has changed since `before` is
        compared exactly in any case.
    """
    whole = whole or (lambda v, s, n, report: nearest(v, s, n, report, engine))
    lengths = np.diff(starts)

    def anew() -> tuple[Renewed, Renewed]:
        of_vectors, of_groups = whole(vectors, starts, k, on_progress)
        return (
            Renewed(np.arange(len(vectors)), of_vectors),
            Renewed(np.arange(len(lengths)), of_groups),
        )

    if before is None or lengths[before.fresh].sum() > _MOST_FRESH * len(vectors):
        return anew()
    is_fresh = np.zeros(len(lengths), bool)
    is_fresh[before.fresh] = True
    of_vectors = _Update(before.of_vectors, np.repeat(is_fresh, lengths), k)
    of_groups = _Update(before.of_groups, is_fresh, k)
    if not (of_vectors.are_usable and of_groups.are_usable):
        return anew()
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
    return of_vectors.renewed(), of_groups.renewed()


class _Update:
    """Neighbour lists to which fresh items are added, and from which removed ones are dropped.

    Attributes
    ----------
    are_usable : whether the lists were long enough.
    """

    def __init__(self, before: Lists, is_fresh: np.ndarray, k: int) -> None:
        self._before = before
        self._is_fresh = is_fresh
        n, width = before.similarities.shape
        self._k = min(k, n - 1)
        self.are_usable = width >= max(1, self._k) or before.are_complete
        ends = before.similarities[:, -1] if width else np.zeros(n)
        least = np.where(is_fresh, np.inf, -np.inf if before.are_complete else ends)
        self._least = least.astype(np.float32)
        none = np.empty((0, self._k), np.int32), np.empty((0, self._k), np.float32)
        self._new = [Renewed(np.empty(0, np.int64), Neighbours(*none))]
        self._gains = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]

    def candidates(self, similarities: np.ndarray, margin: float) -> Pairs:
        """Return pairs of a row and a kept item whose nearest may include the row."""
        return reaching(similarities, self._least - margin)

    def add(self, items: np.ndarray, fresh_items: np.ndarray, similarities: np.ndarray) -> None:
        """Record the similarities of kept and fresh items."""
        self._gains.append((items, fresh_items, similarities))

    def put(self, items: np.ndarray, rows: Neighbours) -> None:
        """Store the lists found for `items`."""
        self._new.append(Renewed(items, rows))

    def renewed(self) -> Renewed:
        """Return all lists that were stored, by item."""
        items = np.concatenate([new.items for new in self._new])
        order = np.argsort(items)
        joined_lists = zip(*(new.lists for new in self._new), strict=True)
        return Renewed(items[order], Neighbours(*(np.concatenate(c)[order] for c in joined_lists)))

    def settle(self) -> np.ndarray:
        """Update the lists of kept items; return those that must be compared again, ascending."""
        items, fresh_items, gained = (
            np.concatenate(columns) for columns in zip(*self._gains, strict=True)
        )
        loses = self._before.loses
        is_touched = loses.copy()
        is_touched[items] = True
        touched = np.flatnonzero(is_touched & ~self._is_fresh)
        indices = self._before.neighbours_of(touched)
        similarities = self._before.similarities[touched]
        row, column = np.nonzero(indices >= 0)
        rows = np.concatenate([row, np.searchsorted(touched, items)])
        order = np.argsort(rows, kind="stable")
        columns = np.concatenate([indices[row, column], fresh_items])[order]
        pairs = Pairs(rows[order], columns)
        values = np.concatenate([similarities[row, column], gained.astype(np.float32)])[order]
        ends = Neighbours(indices[:, -1:], similarities[:, -1:])
        is_certain = self._are_certain(ends, pairs, values) | ~loses[touched]
        chosen = is_certain[pairs.rows]
        number = np.cumsum(is_certain) - 1
        pairs = Pairs(number[pairs.rows[chosen]], pairs.columns[chosen])
        n_certain, n_items = int(is_certain.sum()), len(loses)
        self.put(touched[is_certain], best(pairs, values[chosen], n_certain, self._k, n_items))
        return touched[~is_certain]

    def _are_certain(self, ends: Neighbours, pairs: Pairs, values: np.ndarray) -> np.ndarray:
        """Return which items have enough neighbours that precede all unlisted items.

        Parameters
        ----------
        ends : last earlier neighbour of each item, `(n, 1)`.
        """
        n = len(ends.indices)
        if self._before.are_complete:
            return np.ones(n, bool)
        last, end = ends.indices[:, 0], ends.similarities[:, 0]  # -1 (removed) precedes every index
        equal = (values == end[pairs.rows]) & (pairs.columns <= last[pairs.rows])
        before = (values > end[pairs.rows]) | equal
        return np.bincount(pairs.rows[before], minlength=n) >= self._k
