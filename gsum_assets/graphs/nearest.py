"""Exact nearest neighbours by inner product, computed in blocks of a matrix product.

The last bits of a product in single precision depend on its shape and on the number of threads.
Therefore it only selects candidates, with a margin; these are compared in double precision and
rounded. The result does not depend on the blocks. Many vectors are compared by `approximate.py`.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gsum_resources.engine.blocks import LOCAL, Engine

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_CELLS_AT_ONCE = 2**25  # similarities in memory at a time: 128 MiB in float32

DECIMALS = 6
"""Decimals to which similarities are compared."""

_SAMPLES = 8  # disjoint samples per neighbour; their maxima give a lower bound of the k-th greatest
_CROWD = 16  # candidates per neighbour above which ties are cut early


class Neighbours(NamedTuple):
    """The nearest items of each item, best first: `indices` int32, `similarities` float32.

    Both `(n_items, k)`, k at most `n_items - 1`, since no item is its own neighbour.
    """

    indices: np.ndarray
    similarities: np.ndarray


class Pairs(NamedTuple):
    """Pairs of items, `(n_pairs,)` each; `rows` ascend."""

    rows: np.ndarray
    columns: np.ndarray


OnProgress = Callable[[int, int], None]


def nearest_by_product(vectors: "csr_matrix", k: int, engine: Engine = LOCAL) -> Neighbours:
    """Return the nearest of each sparse vector, `(n_vectors, n_dimensions)`."""
    n, _ = vectors.shape  # pyright: ignore[reportGeneralTypeIssues] - scipy allows None
    step = max(1, _CELLS_AT_ONCE // max(1, n))
    blocks = (np.arange(first, min(first + step, n)) for first in range(0, n, step))
    compare = partial(partial, _nearest_of_rows, vectors, k)
    return joined(list(engine.map_blocks(compare, blocks, step="texts compared by words")))


def _nearest_of_rows(vectors: "csr_matrix", k: int, rows: np.ndarray) -> Neighbours:
    """Return the nearest of some sparse vectors."""
    n, _ = vectors.shape  # pyright: ignore[reportGeneralTypeIssues] - scipy allows None
    # sparse products sum in one order, whatever the shape
    products = (vectors[rows] @ vectors.T).toarray()
    products[np.arange(len(rows)), rows] = -np.inf
    mask = products >= _bounds(products, k)[:, None] - 10.0**-DECIMALS
    for row in np.flatnonzero(np.count_nonzero(mask, axis=1) > _CROWD * k):
        mask[row] = False  # many ties: vectors without a common word
        mask[row, np.argsort(-np.round(products[row], DECIMALS), kind="stable")[:k]] = True
    pairs = _true_in(mask)
    values = np.round(products[pairs.rows, pairs.columns], DECIMALS)
    return best(pairs, values, len(rows), k, n)


def nearest(
    vectors: np.ndarray,
    starts: np.ndarray,
    k: int,
    on_progress: OnProgress = lambda done, all: None,
    engine: Engine = LOCAL,
) -> tuple[Neighbours, Neighbours]:
    """Return the nearest of each vector and of each group, from one pass over all pairs.

    Two groups are as similar as their most similar members.

    Parameters
    ----------
    vectors : of unit length, float32 `(n_vectors, dim)`.
    starts : first vector of each group, and `n_vectors`, `(n_groups + 1,)`; no group is empty.
    k : number of neighbours.
    on_progress : called with the number of finished vectors, and of all.
    engine : compares the blocks; each of its processes holds all vectors.

    Returns
    -------
    Neighbours of the vectors and of the groups; equal similarities in the order of their indices.
    """
    blocks = list(Comparison(vectors, starts).blocks(np.arange(len(starts) - 1)))
    compare = partial(_comparer, vectors, starts, k)
    of_vectors, of_groups = [], []
    compared = engine.map_blocks(compare, blocks, step="vectors compared")
    for groups, (of_rows, of_block) in zip(blocks, compared, strict=True):
        of_vectors.append(of_rows)
        of_groups.append(of_block)
        on_progress(int(starts[groups[-1] + 1]), len(vectors))
    return joined(of_vectors), joined(of_groups)


def _comparer(
    vectors: np.ndarray, starts: np.ndarray, k: int
) -> Callable[[np.ndarray], tuple[Neighbours, Neighbours]]:
    """Return the function that finds the nearest of the vectors of some groups, and of these."""
    comparison = Comparison(vectors, starts)

    def compare(groups: np.ndarray) -> tuple[Neighbours, Neighbours]:
        rows = comparison.members(groups)
        products = comparison.products(rows)
        of_groups = comparison.groups(products, groups, k)
        return comparison.vectors(products, rows, k), of_groups

    return compare


class Comparison:
    """Comparison of vectors, and of groups, with all others; parameters as in `nearest`."""

    def __init__(self, vectors: np.ndarray, starts: np.ndarray) -> None:
        self._vectors = vectors
        self._starts = starts
        self._lengths = np.diff(starts)
        self.n_vectors = len(vectors)
        # of an inner product of unit vectors in single precision (Higham 2002, 3.1), both ways
        error = 2 * vectors.shape[1] * 2.0**-24
        self.margin = error + 10.0**-DECIMALS
        """Upper bound of the error of a product in single precision, plus rounding."""

    def blocks(self, groups: np.ndarray) -> Iterator[np.ndarray]:
        """Yield blocks of `groups`, at least one, whose products with all vectors fit in memory."""
        most = max(1, _CELLS_AT_ONCE // max(1, len(self._vectors)))
        ends, first = np.cumsum(self._lengths[groups]), 0
        while first < len(groups):
            done = ends[first - 1] if first else 0
            last = max(first + 1, int(np.searchsorted(ends, done + most, side="right")))
            yield groups[first:last]
            first = last

    def row_blocks(self, rows: np.ndarray) -> Iterator[np.ndarray]:
        """Yield blocks of `rows` whose products with all vectors fit into memory."""
        most = max(1, _CELLS_AT_ONCE // max(1, len(self._vectors)))
        yield from (rows[at : at + most] for at in range(0, len(rows), most))

    def members(self, groups: np.ndarray) -> np.ndarray:
        """Return the vectors of these groups, one group after another."""
        return np.concatenate([np.arange(*self._starts[[g, g + 1]]) for g in groups])

    def products(self, rows: np.ndarray) -> np.ndarray:
        """Return the products of these vectors with all, float32 `(n_rows, n_vectors)`."""
        return self._vectors[rows] @ self._vectors.T

    def vectors(self, products: np.ndarray, rows: np.ndarray, k: int) -> Neighbours:
        """Return the nearest of the vectors `rows` from their products, which are overwritten."""
        products[np.arange(len(rows)), rows] = -np.inf
        pairs = likely(products, k, self.margin)
        exact = self.exact(Pairs(rows[pairs.rows], pairs.columns))
        return best(pairs, exact, len(rows), k, products.shape[1])

    def groups(self, products: np.ndarray, groups: np.ndarray, k: int) -> Neighbours:
        """Return the nearest of `groups` from the products of their members."""
        within = self.greatest(products, groups)
        within[np.arange(len(groups)), groups] = -np.inf
        pairs = likely(within, k, self.margin)
        exact = self.exact_groups(products, within, groups, pairs)
        return best(pairs, exact, len(groups), k, within.shape[1])

    def greatest(self, products: np.ndarray, groups: np.ndarray) -> np.ndarray:
        """Return the greatest product of a member of each of `groups` and one of any group."""
        within = np.maximum.reduceat(products, self._starts[:-1], axis=1)
        first = np.cumsum(self._lengths[groups]) - self._lengths[groups]
        return np.maximum.reduceat(within, first, axis=0)

    def exact(self, pairs: Pairs) -> np.ndarray:
        """Return inner products in double precision, rounded, `(n_pairs,)`."""
        values = np.empty(len(pairs.rows))
        rows, first = np.unique(pairs.rows, return_index=True)
        for row, pair_slice in zip(rows, _slices(first, len(values)), strict=True):
            others = self._vectors[pairs.columns[pair_slice]].astype(np.float64)
            values[pair_slice] = others @ self._vectors[row].astype(np.float64)
        return np.round(values, DECIMALS)

    def exact_groups(
        self, products: np.ndarray, within: np.ndarray, groups: np.ndarray, pairs: Pairs
    ) -> np.ndarray:
        """Return the exact similarity of pairs of groups.

        Parameters
        ----------
        products, within : products of the members of `groups`, and their maxima by group.
        pairs : positions in `groups` (rows), and groups (columns).
        """
        similarities = np.empty(len(pairs.rows))
        lengths = self._lengths[groups]
        tops = np.cumsum(lengths) - lengths
        positions, first = np.unique(pairs.rows, return_index=True)
        for position, pair_slice in zip(positions, _slices(first, len(similarities)), strict=True):
            others = pairs.columns[pair_slice]
            columns = self.members(others)
            owners = np.repeat(np.arange(len(others)), self._lengths[others])
            mine = products[tops[position] : tops[position] + lengths[position], columns]
            member, column = np.nonzero(mine >= within[position, others][owners] - self.margin)
            rows = member + self._starts[groups[position]]
            exact = self.exact(Pairs(rows, columns[column]))
            values = np.full(len(others), -np.inf)
            np.maximum.at(values, owners[column], exact)
            similarities[pair_slice] = values
        return similarities


def likely(similarities: np.ndarray, k: int, margin: float) -> Pairs:
    """Return pairs of a row and a column that include the `k` greatest of each row.

    Parameters
    ----------
    similarities : `(n_rows, n_items)`; minus infinity where a pair does not count.
    margin : how far below the k-th greatest a pair still counts.
    """
    return reaching(similarities, _bounds(similarities, k)[:, None] - margin)


def reaching(values: np.ndarray, bounds: np.ndarray) -> Pairs:
    """Return the rows and columns of values that are at least their bound."""
    return _true_in(values >= bounds)


def _bounds(similarities: np.ndarray, k: int) -> np.ndarray:
    """Return for each row a bound reached by its `k` greatest and few others, `(n_rows,)`."""
    n_rows, n = similarities.shape
    k = min(k, n - 1)
    if k < 1:
        return np.full(n_rows, np.inf)
    sampled, samples = similarities, _SAMPLES * k
    if n >= 2 * samples:  # k maxima of disjoint samples are no greater than the k greatest
        whole = n // samples * samples
        sampled = similarities[:, :whole].reshape(n_rows, -1, samples).max(axis=1)
    bounds = np.partition(sampled, -k, axis=1)[:, -k]
    # minus infinity if few samples have finite values: then all finite values are candidates
    return np.maximum(bounds, np.finfo(np.float32).min)


def _true_in(mask: np.ndarray) -> Pairs:
    # much faster than np.nonzero of a matrix
    return Pairs(*np.divmod(np.flatnonzero(mask), max(1, mask.shape[1])))


def best(pairs: Pairs, values: np.ndarray, n_rows: int, k: int, n_items: int) -> Neighbours:
    """Return the `k` pairs of greatest value of each row; equal ones in the order of columns."""
    k = max(0, min(k, n_items - 1))
    values = values.astype(np.float32)
    order = np.lexsort((pairs.columns, -values, pairs.rows))
    first = np.searchsorted(pairs.rows, np.arange(n_rows))
    top = order[(first[:, None] + np.arange(k)).ravel()].reshape(n_rows, k)
    return Neighbours(pairs.columns[top].astype(np.int32), values[top])


def joined(blocks: list[Neighbours]) -> Neighbours:
    """Return the neighbours of all blocks, one block after another."""
    if not blocks:
        return Neighbours(np.empty((0, 0), np.int32), np.empty((0, 0), np.float32))
    return Neighbours(*(np.concatenate(column) for column in zip(*blocks, strict=True)))


def _slices(first: np.ndarray, n: int) -> Iterator[slice]:
    """Yield slices from each start to the next, the last to `n`."""
    return map(slice, first, [*first[1:], n])
