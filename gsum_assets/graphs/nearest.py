"""Exact nearest neighbours by inner product, computed in blocks of a matrix product.

A product in single precision only selects candidates, with a margin for its errors; these are
compared in double precision and rounded, so that the result does not depend on the blocks.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gsum_resources.engine.blocks import LOCAL, Engine
from gsum_resources.store.arrow import spans

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_CELLS_AT_ONCE = 2**25  # similarities in memory at a time: 128 MiB in float32

DECIMALS = 6
"""Decimals to which similarities are compared."""

_SAMPLES = 8  # disjoint samples per neighbour; their maxima give a lower bound of the k-th greatest


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
    products = np.round((vectors[rows] @ vectors.T).toarray(), DECIMALS)
    products[np.arange(len(rows)), rows] = -np.inf
    k = min(k, products.shape[1] - 1)
    indices = np.array([first_of(row, k) for row in products])
    similarities = np.take_along_axis(products, indices, 1)
    return Neighbours(indices.astype(np.int32), similarities.astype(np.float32))


def first_of(values: np.ndarray, n: int) -> np.ndarray:
    """Return indices of the `n` largest values, best first, equal ones ascending."""
    n = min(n, len(values))
    if n == 0:
        return np.empty(0, dtype=np.int64)
    threshold = np.partition(values, len(values) - n)[len(values) - n]
    above = np.flatnonzero(values > threshold)
    tied = np.flatnonzero(values == threshold)[: n - len(above)]
    above = above[np.argsort(-values[above], kind="stable")]
    return np.concatenate([above, tied])


def nearest(
    vectors: np.ndarray,
    starts: np.ndarray,
    k: int,
    on_progress: OnProgress = lambda done, all: None,
    engine: Engine = LOCAL,
) -> tuple[Neighbours, Neighbours]:
    """Return the nearest of each vector and of each group, from one pass over all pairs.

    Two groups are as similar as their most similar members. Equal similarities are in the order of
    their indices.

    Parameters
    ----------
    vectors : of unit length, float32 `(n_vectors, dim)`.
    starts : first vector of each group, and `n_vectors`, `(n_groups + 1,)`; no group is empty.
    on_progress : called with the number of finished vectors, and of all.
    engine : compares the blocks; each of its processes has all vectors.
    """
    blocks = list(Comparison(vectors, starts).blocks(np.arange(len(starts) - 1)))
    compare = partial(_comparer, vectors, starts, k)
    lists = []
    compared = engine.map_blocks(compare, blocks, step="vectors compared")
    for groups, of_block in zip(blocks, compared, strict=True):
        lists.append(of_block)
        on_progress(int(starts[groups[-1] + 1]), len(vectors))
    of_vectors, of_groups = zip(*lists, strict=True) if lists else ((), ())
    return joined(of_vectors), joined(of_groups)


def _comparer(
    vectors: np.ndarray, starts: np.ndarray, k: int
) -> Callable[[np.ndarray], tuple[Neighbours, Neighbours]]:
    return partial(Comparison(vectors, starts).nearest_of, k)


class Comparison:
    """Comparison of vectors, and of groups, with all others; parameters as in `nearest`."""

    def __init__(self, vectors: np.ndarray, starts: np.ndarray) -> None:
        self._vectors = vectors
        self._starts = starts
        self._lengths = np.diff(starts)
        self._most_rows = max(1, _CELLS_AT_ONCE // max(1, len(vectors)))
        # of an inner product of unit vectors in single precision (Higham 2002, 3.1), both ways
        error = 2 * vectors.shape[1] * 2.0**-24
        self._margin = error + 10.0**-DECIMALS

    def blocks(self, groups: np.ndarray) -> Iterator[np.ndarray]:
        """Yield blocks of `groups`, at least one, whose products with all vectors fit in memory."""
        return (groups[span] for span in spans(self._lengths[groups], self._most_rows))

    def members(self, groups: np.ndarray) -> np.ndarray:
        """Return the vectors of these groups, one group after another."""
        lengths = self._lengths[groups]
        shifts = self._starts[groups] - (np.cumsum(lengths) - lengths)
        return np.repeat(shifts, lengths) + np.arange(lengths.sum())

    def nearest_of(self, k: int, groups: np.ndarray) -> tuple[Neighbours, Neighbours]:
        """Return the nearest of the members of `groups`, and of these."""
        products = self._products(groups)
        of_groups = self._groups(products, groups, k)
        return self._rows(products, self.members(groups), k), of_groups

    def nearest_of_rows(self, rows: np.ndarray, k: int) -> Neighbours:
        """Return the nearest of the vectors `rows`, at least one, in blocks that fit in memory."""
        blocks = (rows[at : at + self._most_rows] for at in range(0, len(rows), self._most_rows))
        return joined([self._rows(self._vectors[b] @ self._vectors.T, b, k) for b in blocks])

    def nearest_of_groups(self, groups: np.ndarray, k: int) -> Neighbours:
        """Return the nearest of some groups, at least one, in blocks that fit in memory."""
        blocks = self.blocks(groups)
        return joined([self._groups(self._products(block), block, k) for block in blocks])

    def reaching(self, groups: np.ndarray, bounds: np.ndarray) -> tuple[Pairs, np.ndarray]:
        """Return about the pairs of `groups` and all groups that reach the bound of the latter.

        The bounds are `(n_groups,)`; the similarities are returned, too.
        """
        found = [(Pairs(*np.empty((2, 0), np.int64)), np.empty(0))]
        for block in self.blocks(groups):
            products = self._products(block)
            within = self._within(products, block)
            pairs = _reaching(within, bounds - self._margin)
            similarities = self._exact_of_groups(products, within, block, pairs)
            found.append((Pairs(block[pairs.rows], pairs.columns), similarities))
        pairs, similarities = zip(*found, strict=True)
        return Pairs(*map(np.concatenate, zip(*pairs, strict=True))), np.concatenate(similarities)

    def _products(self, groups: np.ndarray) -> np.ndarray:
        """Return inner products of the members of `groups` with all vectors, `(n_rows, n)`."""
        return self._vectors[self.members(groups)] @ self._vectors.T

    def _rows(self, products: np.ndarray, rows: np.ndarray, k: int) -> Neighbours:
        """Return the nearest of the vectors `rows` from their products, which are overwritten."""
        products[np.arange(len(rows)), rows] = -np.inf
        pairs = self._likely(products, k)
        exact = self.exact(Pairs(rows[pairs.rows], pairs.columns))
        return best(pairs, exact, len(rows), k, products.shape[1])

    def _groups(self, products: np.ndarray, groups: np.ndarray, k: int) -> Neighbours:
        """Return the nearest of `groups` from the products of their members."""
        within = self._within(products, groups)
        pairs = self._likely(within, k)
        similarities = self._exact_of_groups(products, within, groups, pairs)
        return best(pairs, similarities, len(groups), k, within.shape[1])

    def _within(self, products: np.ndarray, groups: np.ndarray) -> np.ndarray:
        """Return the greatest product of members of each pair, `(n_block, n_groups)`."""
        first = np.cumsum(self._lengths[groups]) - self._lengths[groups]
        within = np.maximum.reduceat(products, self._starts[:-1], axis=1)
        within = np.maximum.reduceat(within, first, axis=0)
        within[np.arange(len(groups)), groups] = -np.inf
        return within

    def _exact_of_groups(
        self, products: np.ndarray, within: np.ndarray, groups: np.ndarray, pairs: Pairs
    ) -> np.ndarray:
        """Return the similarities of pairs of groups, rounded, `(n_pairs,)`."""
        bounds = np.append(0, np.cumsum(self._lengths[groups]))
        similarities = np.full(len(pairs.rows), -np.inf)
        for position, pair_slice in _by_row(pairs):
            others = pairs.columns[pair_slice]
            columns = self.members(others)
            owners = np.repeat(np.arange(len(others)), self._lengths[others])
            of_members = products[bounds[position] : bounds[position + 1], columns]
            likely = _reaching(of_members, within[position, others][owners] - self._margin)
            rows = likely.rows + self._starts[groups[position]]
            exact = self.exact(Pairs(rows, columns[likely.columns]))
            np.maximum.at(similarities[pair_slice], owners[likely.columns], exact)
        return similarities

    def _likely(self, similarities: np.ndarray, k: int) -> Pairs:
        """Return pairs that include the `k` greatest of each row; minus infinity does not count."""
        n_rows, n = similarities.shape
        k = min(k, n - 1)
        if k < 1:
            return _reaching(similarities, np.full((n_rows, 1), np.inf))
        sampled, samples = similarities, _SAMPLES * k
        if n >= 2 * samples:  # k maxima of disjoint samples are no greater than the k greatest
            whole = n // samples * samples
            sampled = similarities[:, :whole].reshape(n_rows, -1, samples).max(axis=1)
        bounds = np.partition(sampled, -k, axis=1)[:, -k]
        # minus infinity if few samples have finite values: then all finite values are candidates
        bounds = np.maximum(bounds, np.finfo(np.float32).min)
        return _reaching(similarities, bounds[:, None] - self._margin)

    def exact(self, pairs: Pairs) -> np.ndarray:
        """Return inner products in double precision, rounded, `(n_pairs,)`."""
        values = np.empty(len(pairs.rows))
        for row, pair_slice in _by_row(pairs):
            others = self._vectors[pairs.columns[pair_slice]].astype(np.float64)
            values[pair_slice] = others @ self._vectors[row].astype(np.float64)
        return np.round(values, DECIMALS)


def _reaching(values: np.ndarray, bounds: np.ndarray) -> Pairs:
    """Return the rows and columns of values that are at least their bound."""
    # much faster than np.nonzero of a matrix
    return Pairs(*np.divmod(np.flatnonzero(values >= bounds), max(1, values.shape[1])))


def best(pairs: Pairs, values: np.ndarray, n_rows: int, k: int, n_items: int) -> Neighbours:
    """Return the `k` pairs of greatest value of each row; equal ones in the order of columns."""
    k = max(0, min(k, n_items - 1))
    values = values.astype(np.float32)
    order = np.lexsort((pairs.columns, -values, pairs.rows))
    first = np.searchsorted(pairs.rows, np.arange(n_rows))
    top = order[(first[:, None] + np.arange(k)).ravel()].reshape(n_rows, k)
    return Neighbours(pairs.columns[top].astype(np.int32), values[top])


def joined(blocks: Sequence[Neighbours]) -> Neighbours:
    """Return the neighbours of all blocks, one block after another."""
    if not blocks:
        return Neighbours(np.empty((0, 0), np.int32), np.empty((0, 0), np.float32))
    return Neighbours(*(np.concatenate(column) for column in zip(*blocks, strict=True)))


def _by_row(pairs: Pairs) -> Iterator[tuple[int, slice]]:
    """Yield each row with the positions of its pairs."""
    rows, first = np.unique(pairs.rows, return_index=True)
    return zip(rows.tolist(), map(slice, first, [*first[1:], len(pairs.rows)]), strict=True)
