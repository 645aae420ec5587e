"""Approximate nearest neighbours of many vectors, and of groups of them, with exact similarities.

An index of small worlds (HNSW: Malkov and Yashunin, 2018; of faiss) finds the vectors that are
compared, in time that grows little more than with their number; `recall` measures its choice.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from gsum_assets.graphs.nearest import (
    DECIMALS,
    Comparison,
    Neighbours,
    OnProgress,
    Pairs,
    best,
    first_of,
    joined,
)

LARGE = 100_000
"""Vectors above which neighbours are approximate by default: about as fast on one processor."""

_LINKS = 32  # of a vector in the index
_WHILE_BUILDING, _WHILE_SEARCHING = 200, 256  # vectors in a queue of the search
_SPARE = 8  # vectors searched for beyond k: copies of a vector may hide it from itself
_MORE_GROUPS = 4.0  # groups whose similarity is computed, per neighbour
_AT_ONCE = 2**13  # vectors searched for at a time
_SAMPLE = 200  # vectors whose recall is measured
_EXACT_S = 100.0  # seconds of a processor that compares all pairs of LARGE vectors

Search = Callable[[np.ndarray, int], np.ndarray]
"""Returns about the n nearest of each row, int64 `(n_rows, n)`; -1 where it found fewer."""


def approximation(
    n_vectors: int, exact_up_to: int, log: Callable[[str], None]
) -> Callable[[np.ndarray, np.ndarray, int, OnProgress], tuple[Neighbours, Neighbours]] | None:
    """Return `nearest_approximately` for more vectors than `exact_up_to`, given faiss, or None."""
    if n_vectors <= exact_up_to:
        return None
    if find_spec("faiss") is None:
        hours = _EXACT_S * (n_vectors / LARGE) ** 2 / 3600
        log(
            f"{n_vectors:,} chunks are more than exact_up_to = {exact_up_to:,} in "
            "[lightpal.neighbours], but faiss is not installed: all pairs are compared, in about "
            f"{hours:.1f} hours of a processor; for approximate neighbours install 'gsum[large]'"
        )
        return None
    return nearest_approximately


def small_worlds(vectors: np.ndarray, n: int, on_progress: OnProgress) -> Search:
    """Return the search for `n` neighbours by an HNSW index of faiss."""
    faiss: Any = import_module("faiss")  # of the extra large
    index = faiss.IndexHNSWFlat(vectors.shape[1], _LINKS, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = _WHILE_BUILDING
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)  # with several, the index depends on which of them is first
    try:
        for first in range(0, len(vectors), _AT_ONCE):
            index.add(np.ascontiguousarray(vectors[first : first + _AT_ONCE]))
            on_progress(min(first + _AT_ONCE, len(vectors)), len(vectors))
    finally:
        faiss.omp_set_num_threads(threads)
    index.hnsw.efSearch = max(_WHILE_SEARCHING, 2 * n)
    return lambda rows, k: index.search(np.ascontiguousarray(rows), k)[1]


def nearest_approximately(
    vectors: np.ndarray,
    starts: np.ndarray,
    k: int,
    on_progress: OnProgress = lambda done, all: None,
    make_search: Callable[[np.ndarray, int, OnProgress], Search] = small_worlds,
) -> tuple[Neighbours, Neighbours]:
    """Return about what `nearest` does; groups are compared with those of members' neighbours."""
    n = len(vectors)
    search = make_search(vectors, k, lambda done, of: on_progress(done // 2, of))
    comparison = Comparison(vectors, starts)
    blocks = []
    for first in range(0, n, _AT_ONCE):
        rows = np.arange(first, min(first + _AT_ONCE, n))
        candidates = search(vectors[rows], k + 1 + _SPARE)
        blocks.append(_of_vectors(comparison, candidates, rows, min(k, n - 1), n))
        on_progress((n + int(rows[-1]) + 1) // 2, n)
    of_vectors = joined(blocks)
    return of_vectors, _of_groups(comparison, vectors, starts, k, of_vectors)


def _of_vectors(
    comparison: Comparison, candidates: np.ndarray, rows: np.ndarray, k: int, n: int
) -> Neighbours:
    """Return the nearest of the vectors `rows` among those found; all are compared if too few."""
    is_other = (candidates >= 0) & (candidates != rows[:, None])
    is_enough = np.count_nonzero(is_other, axis=1) >= k
    lists = Neighbours(np.empty((len(rows), k), np.int32), np.empty((len(rows), k), np.float32))
    found, numbers = candidates[is_enough], rows[is_enough]
    pairs = Pairs(*np.nonzero(is_other[is_enough]))
    pairs = Pairs(pairs.rows, found[pairs.rows, pairs.columns])
    values = comparison.exact(Pairs(numbers[pairs.rows], pairs.columns))
    parts = [(is_enough, best(pairs, values, len(numbers), k, n))]
    if not is_enough.all():
        parts.append((~is_enough, comparison.nearest_of_rows(rows[~is_enough], k)))
    for chosen, part in parts:
        lists.indices[chosen], lists.similarities[chosen] = part
    return lists


def _of_groups(
    comparison: Comparison,
    vectors: np.ndarray,
    starts: np.ndarray,
    k: int,
    neighbours: Neighbours,
) -> Neighbours:
    """Return the nearest of the groups, compared with groups of neighbours of their members."""
    lengths, n_groups = np.diff(starts), len(starts) - 1
    k = min(k, n_groups - 1)
    indices, similarities = np.zeros((n_groups, k), np.int32), np.zeros((n_groups, k), np.float32)
    owners = np.repeat(np.arange(n_groups, dtype=np.int32), lengths)
    sums = np.add.reduceat(vectors, starts[:-1], axis=0)
    means = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
    most = min(n_groups - 1, int(_MORE_GROUPS * k) + _SPARE)
    has_few = n_groups <= LARGE  # comparing all means takes time with the square of the groups
    for group in range(n_groups):
        members = slice(starts[group], starts[group + 1])
        order = np.argsort(-neighbours.similarities[members].ravel(), kind="stable")
        others = owners[neighbours.indices[members].ravel()[order]]
        others = _first_distinct(others, group, most)
        if len(others) < (most if has_few else k):
            by_mean = first_of(means @ means[group], most + 1)
            others = _first_distinct(np.concatenate([others, by_mean]), group, most)
        others, own = np.sort(others), vectors[members].astype(np.float64)
        values = np.empty(0)
        for block in comparison.blocks(others):
            products = own @ vectors[comparison.members(block)].astype(np.float64).T
            first = np.cumsum(lengths[block]) - lengths[block]
            values = np.append(values, np.maximum.reduceat(products.max(axis=0), first))
        values = values.round(DECIMALS)
        top = first_of(values, k)
        indices[group], similarities[group] = others[top], values[top]
    return Neighbours(indices, similarities)


def _first_distinct(groups: np.ndarray, group: int, most: int) -> np.ndarray:
    distinct, first = np.unique(groups, return_index=True)
    ordered = distinct[np.argsort(first)]
    return ordered[ordered != group][:most]


def recall(vectors: np.ndarray, starts: np.ndarray, neighbours: Neighbours) -> float:
    """Return the share of the exact nearest neighbours that were found, for a sample of vectors.

    A neighbour counts as found if one as near was found: equal vectors may replace one another.
    """
    n, k = neighbours.indices.shape
    if not k:
        return 1.0
    rows = np.sort(np.random.default_rng(0).choice(n, min(_SAMPLE, n), replace=False))
    ends = Comparison(vectors, starts).nearest_of_rows(rows, k).similarities[:, -1:]
    return float((neighbours.similarities[rows] >= ends).mean())
