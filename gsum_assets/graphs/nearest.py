"""Nearest neighbours by inner product: exact, by blocks of a matrix product.

The last bits of a product in single precision depend on its shape and on the number of threads. So
it only chooses, and generously; what it chose is compared in double precision and rounded. Then
what is found does not depend on the blocks, and a part can be found anew while the rest is kept
(`nearest_again.py`).
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_CELLS_AT_ONCE = 2**25  # similarities in memory at a time: 128 MiB in float32

DECIMALS = 6
"""To which similarities are compared."""

_SAMPLES = 8  # for each neighbour wanted: their maxima bound from below what it must have
_CROWD = 16  # times as many as are wanted


class Neighbours(NamedTuple):
    """The nearest of each item, best first: `indices` int32, `similarities` float32.

    Both `(n_items, k)`, k at most `n_items - 1`, since no item is its own neighbour.
    """

    indices: np.ndarray
    similarities: np.ndarray


class Pairs(NamedTuple):
    """Some pairs of items, `(n_pairs,)` each; `rows` ascend."""

    rows: np.ndarray
    columns: np.ndarray


OnProgress = Callable[[int, int], None]


def nearest_by_product(vectors: "csr_matrix", k: int) -> Neighbours:
    """The nearest of each sparse vector, `(n_vectors, n_dimensions)`."""
    n, _ = vectors.shape  # pyright: ignore[reportGeneralTypeIssues] - scipy allows None
    step = max(1, _CELLS_AT_ONCE // max(1, n))
    blocks = []
    for first in range(0, n, step):
        rows = np.arange(first, min(first + step, n))
        # whose sums run in one order, whatever the shape
        products = (vectors[rows] @ vectors.T).toarray()
        products[np.arange(len(rows)), rows] = -np.inf
        is_candidate = products >= _bounds(products, k)[:, None] - 10.0**-DECIMALS
        for row in np.flatnonzero(np.count_nonzero(is_candidate, axis=1) > _CROWD * k):
            is_candidate[row] = (
                False  # many are as good as one another, without a common word for one
            )
            is_candidate[row, np.argsort(-np.round(products[row], DECIMALS), kind="stable")[:k]] = (
                True
            )
        pairs = _true_in(is_candidate)
        values = np.round(products[pairs.rows, pairs.columns], DECIMALS)
        blocks.append(best(pairs, values, len(rows), k, n))
    return joined(blocks)


def nearest(
    vectors: np.ndarray,
    starts: np.ndarray,
    k: int,
    on_progress: OnProgress = lambda done, all: None,
) -> tuple[Neighbours, Neighbours]:
    """The nearest of each vector and of each group of vectors, from one pass over all pairs.

    Two groups are as similar as their most similar members.

    Parameters
    ----------
    vectors : of unit length, float32 `(n_vectors, dim)`.
    starts : first vector of each group, and `n_vectors`, `(n_groups + 1,)`; no group is empty.
    k : neighbours wanted.
    on_progress : hears how many vectors are done, and of how many.

    Returns
    -------
    Neighbours of the vectors and of the groups; equal similarities in the order of their indices.
    """
    comparison = Comparison(vectors, starts)
    of_vectors, of_groups = [], []
    for groups in comparison.blocks(np.arange(len(starts) - 1)):
        rows = comparison.members(groups)
        products = comparison.products(rows)
        of_groups.append(comparison.groups(products, groups, k))
        of_vectors.append(comparison.vectors(products, rows, k))
        on_progress(int(rows[-1]) + 1, len(vectors))
    return joined(of_vectors), joined(of_groups)


class Comparison:
    """Compares vectors, and groups of them, with all others; takes what `nearest` takes."""

    def __init__(self, vectors: np.ndarray, starts: np.ndarray) -> None:
        self._vectors = vectors
        self._starts = starts
        self._lengths = np.diff(starts)
        # of an inner product of unit vectors in single precision (Higham 2002, 3.1), both ways
        error = 2 * vectors.shape[1] * 2.0**-24
        self.margin = error + 10.0**-DECIMALS
        """How much less a product may be whose exact value is as great."""

    def blocks(self, groups: np.ndarray) -> Iterator[np.ndarray]:
        """Runs of `groups` whose products with all vectors fit into memory, one group at least."""
        most = max(1, _CELLS_AT_ONCE // max(1, len(self._vectors)))
        ends, first = np.cumsum(self._lengths[groups]), 0
        while first < len(groups):
            done = ends[first - 1] if first else 0
            last = max(first + 1, int(np.searchsorted(ends, done + most, side="right")))
            yield groups[first:last]
            first = last

    def row_blocks(self, rows: np.ndarray) -> Iterator[np.ndarray]:
        """Runs of `rows` whose products with all vectors fit into memory."""
        most = max(1, _CELLS_AT_ONCE // max(1, len(self._vectors)))
        yield from (rows[at : at + most] for at in range(0, len(rows), most))

    def members(self, groups: np.ndarray) -> np.ndarray:
        """The vectors of these groups, one group after the other."""
        return np.concatenate([np.arange(*self._starts[[g, g + 1]]) for g in groups])

    def products(self, rows: np.ndarray) -> np.ndarray:
        """Of these vectors with all, float32 `(n_rows, n_vectors)`."""
        return self._vectors[rows] @ self._vectors.T

    def vectors(self, products: np.ndarray, rows: np.ndarray, k: int) -> Neighbours:
        """The nearest of the vectors `rows`, whose products these are; spoils the products."""
        products[np.arange(len(rows)), rows] = -np.inf
        pairs = likely(products, k, self.margin)
        exact = self.exact(Pairs(rows[pairs.rows], pairs.columns))
        return best(pairs, exact, len(rows), k, products.shape[1])

    def groups(self, products: np.ndarray, groups: np.ndarray, k: int) -> Neighbours:
        """The nearest of `groups`, whose members' products these are."""
        within = self.greatest(products, groups)
        within[np.arange(len(groups)), groups] = -np.inf
        pairs = likely(within, k, self.margin)
        exact = self.exact_groups(products, within, groups, pairs)
        return best(pairs, exact, len(groups), k, within.shape[1])

    def greatest(self, products: np.ndarray, groups: np.ndarray) -> np.ndarray:
        """The greatest product of a member of each of `groups` and one of any group."""
        within = np.maximum.reduceat(products, self._starts[:-1], axis=1)
        first = np.cumsum(self._lengths[groups]) - self._lengths[groups]
        return np.maximum.reduceat(within, first, axis=0)

    def exact(self, pairs: Pairs) -> np.ndarray:
        """Inner products in double precision, rounded, `(n_pairs,)`."""
        found = np.empty(len(pairs.rows))
        rows, first = np.unique(pairs.rows, return_index=True)
        for row, pair_slice in zip(rows, _slices(first, len(found)), strict=True):
            others = self._vectors[pairs.columns[pair_slice]].astype(np.float64)
            found[pair_slice] = others @ self._vectors[row].astype(np.float64)
        return np.round(found, DECIMALS)

    def exact_groups(
        self, products: np.ndarray, within: np.ndarray, groups: np.ndarray, pairs: Pairs
    ) -> np.ndarray:
        """The exact similarity of pairs of a group and another.

        Parameters
        ----------
        products, within : of the members of `groups`, and the greatest of them.
        pairs : places in `groups`, and groups.
        """
        found = np.empty(len(pairs.rows))
        lengths = self._lengths[groups]
        tops = np.cumsum(lengths) - lengths
        positions, first = np.unique(pairs.rows, return_index=True)
        for position, pair_slice in zip(positions, _slices(first, len(found)), strict=True):
            others = pairs.columns[pair_slice]
            columns = self.members(others)
            owners = np.repeat(np.arange(len(others)), self._lengths[others])
            mine = products[tops[position] : tops[position] + lengths[position], columns]
            member, column = np.nonzero(mine >= within[position, others][owners] - self.margin)
            rows = member + self._starts[groups[position]]
            exact = self.exact(Pairs(rows, columns[column]))
            values = np.full(len(others), -np.inf)
            np.maximum.at(values, owners[column], exact)
            found[pair_slice] = values
        return found


def likely(similarities: np.ndarray, k: int, margin: float) -> Pairs:
    """Pairs of a row and a column, among them the `k` greatest of each row.

    Parameters
    ----------
    similarities : `(n_rows, n_items)`; minus infinity where a pair does not count.
    margin : how much less than the k-th greatest a pair may be and yet be wanted.
    """
    return reaching(similarities, _bounds(similarities, k)[:, None] - margin)


def reaching(values: np.ndarray, bounds: np.ndarray) -> Pairs:
    """Rows and columns of the values that reach their bounds."""
    return _true_in(values >= bounds)


def _bounds(similarities: np.ndarray, k: int) -> np.ndarray:
    """What the `k` greatest of each row reach, and few others, `(n_rows,)`."""
    n_rows, n = similarities.shape
    k = min(k, n - 1)
    if k < 1:
        return np.full(n_rows, np.inf)
    sampled, samples = similarities, _SAMPLES * k
    if n >= 2 * samples:  # k maxima of disjoint samples are no greater than the k greatest
        whole = n // samples * samples
        sampled = similarities[:, :whole].reshape(n_rows, -1, samples).max(axis=1)
    found = np.partition(sampled, -k, axis=1)[:, -k]
    # minus infinity where few samples have anything that counts: then all that counts is wanted
    return np.maximum(found, np.finfo(np.float32).min)


def _true_in(is_candidate: np.ndarray) -> Pairs:
    # much faster than np.nonzero of a matrix
    return Pairs(*np.divmod(np.flatnonzero(is_candidate), max(1, is_candidate.shape[1])))


def best(pairs: Pairs, values: np.ndarray, n_rows: int, k: int, n_items: int) -> Neighbours:
    """The `k` pairs of greatest value of each row; equal ones in the order of their columns."""
    k = max(0, min(k, n_items - 1))
    values = values.astype(np.float32)
    order = np.lexsort((pairs.columns, -values, pairs.rows))
    first = np.searchsorted(pairs.rows, np.arange(n_rows))
    top = order[(first[:, None] + np.arange(k)).ravel()].reshape(n_rows, k)
    return Neighbours(pairs.columns[top].astype(np.int32), values[top])


def joined(blocks: list[Neighbours]) -> Neighbours:
    """The neighbours of all parts, one part after the other."""
    if not blocks:
        return Neighbours(np.empty((0, 0), np.int32), np.empty((0, 0), np.float32))
    return Neighbours(*(np.concatenate(column) for column in zip(*blocks, strict=True)))


def _slices(first: np.ndarray, n: int) -> Iterator[slice]:
    """From each place to the next, the last to `n`."""
    return map(slice, first, [*first[1:], n])
