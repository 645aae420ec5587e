"""Nearest neighbours by inner product: exact, by blocks of a matrix product."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_CELLS_AT_ONCE = 2**25  # similarities in memory at a time: 128 MiB in float32

# Beyond these the last bits of a product depend on its shape and on the number of threads.
_DECIMALS = 6


class Neighbours(NamedTuple):
    """The nearest of each item, best first: `indices` int32, `similarities` float32.

    Both `(n_items, k)`, k at most `n_items - 1`, since no item is its own neighbour.
    """

    indices: np.ndarray
    similarities: np.ndarray


OnProgress = Callable[[int, int], None]


def nearest_by_product(vectors: "csr_matrix", k: int) -> Neighbours:
    """The nearest of each sparse vector, `(n_vectors, n_dimensions)`."""
    n, _ = vectors.shape  # pyright: ignore[reportGeneralTypeIssues] - scipy allows None
    step = max(1, _CELLS_AT_ONCE // max(1, n))
    parts = []
    for first in range(0, n, step):
        rows = np.arange(first, min(first + step, n))
        parts.append(_best((vectors[rows] @ vectors.T).toarray(), rows, k))
    return _joined(parts)


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
    vectors : of unit length, `(n_vectors, dim)`.
    starts : first vector of each group, and `n_vectors`, `(n_groups + 1,)`; no group is empty.
    k : neighbours wanted.
    on_progress : hears how many vectors are done, and of how many.

    Returns
    -------
    Neighbours of the vectors and of the groups; equal similarities in the order of their indices.
    """
    of_vectors, of_groups = [], []
    for first, last in _blocks(starts):
        rows = np.arange(starts[first], starts[last])
        products = vectors[rows] @ vectors.T  # (n_rows, n_vectors)
        within = np.maximum.reduceat(products, starts[:-1], axis=1)
        within = np.maximum.reduceat(within, starts[first:last] - starts[first], axis=0)
        of_vectors.append(_best(products, rows, k))
        of_groups.append(_best(within, np.arange(first, last), k))
        on_progress(int(starts[last]), len(vectors))
    return _joined(of_vectors), _joined(of_groups)


def _blocks(starts: np.ndarray) -> Iterator[tuple[int, int]]:
    """First and last group of each block; a group is never divided."""
    n_groups, most = len(starts) - 1, max(1, _CELLS_AT_ONCE // max(1, int(starts[-1])))
    first = 0
    while first < n_groups:
        last = int(np.searchsorted(starts, starts[first] + most, side="right")) - 1
        last = max(first + 1, last)
        yield first, last
        first = last


def _best(similarities: np.ndarray, own: np.ndarray, k: int) -> Neighbours:
    """The best `k` of each row, its own column left out."""
    similarities[np.arange(len(own)), own] = -np.inf
    k = min(k, similarities.shape[1] - 1)
    if k == 0:
        return Neighbours(np.empty((len(own), 0), np.int32), np.empty((len(own), 0), np.float32))
    found = np.argpartition(-similarities, k - 1, axis=1)[:, :k].astype(np.int32)
    # Where more than k are as good as the k-th, the partition leaves to chance which are found.
    least = np.take_along_axis(similarities, found, 1).min(axis=1, keepdims=True)
    near = np.count_nonzero(similarities > least - 10.0**-_DECIMALS, axis=1)
    for row in np.flatnonzero(near > k):
        found[row] = np.argsort(-np.round(similarities[row], _DECIMALS), kind="stable")[:k]
    values = np.round(np.take_along_axis(similarities, found, 1), _DECIMALS)
    order = np.lexsort((found, -values), axis=1)
    return Neighbours(np.take_along_axis(found, order, 1), np.take_along_axis(values, order, 1))


def _joined(parts: list[Neighbours]) -> Neighbours:
    if not parts:
        return Neighbours(np.empty((0, 0), np.int32), np.empty((0, 0), np.float32))
    return Neighbours(*(np.concatenate(column) for column in zip(*parts, strict=True)))
