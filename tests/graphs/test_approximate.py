"""Approximate neighbours against exact ones, with searches that need no library, and with faiss."""

from importlib.util import find_spec

import numpy as np
import pytest

from gsum_assets.graphs import approximate
from gsum_assets.graphs.approximate import (
    approximation,
    nearest_approximately,
    recall,
    small_worlds,
)
from gsum_assets.graphs.nearest import Neighbours, nearest


def some_vectors(n: int = 600, dim: int = 16, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    centres = random.normal(size=(12, dim))
    rows = centres[random.integers(12, size=n)] + 0.6 * random.normal(size=(n, dim))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def some_starts(n: int, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    inner = np.sort(random.choice(np.arange(1, n), n // 6, replace=False))
    return np.concatenate([[0], inner, [n]])


def complete(vectors: np.ndarray, n: int, on_progress) -> approximate.Search:
    """A search that finds the nearest of all."""
    return lambda rows, k: np.argsort(-(rows @ vectors.T), axis=1, kind="stable")[:, :k]


def poor(vectors: np.ndarray, n: int, on_progress) -> approximate.Search:
    """A search that misses every second vector, and finds nothing at all of every seventh."""

    def search(rows: np.ndarray, k: int) -> np.ndarray:
        found = complete(vectors, n, on_progress)(rows, 2 * k)[:, ::2].copy()
        found[::7] = -1
        return found

    return search


@pytest.mark.parametrize("k", [1, 10, 80, 5000])
def test_a_complete_search_gives_the_exact_neighbours(k):
    vectors = some_vectors()
    starts = some_starts(len(vectors))
    found, groups = nearest_approximately(vectors, starts, k, make_search=complete)
    exact, exact_groups = nearest(vectors, starts, k)
    for mine, theirs in zip(found, exact, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert groups.indices.shape == exact_groups.indices.shape
    alike = (groups.similarities == exact_groups.similarities).mean()
    assert alike > (0.95 if k <= 10 else 0.99)
    assert recall(vectors, starts, found) == 1.0


def test_similarities_of_found_neighbours_are_exact_and_those_of_too_few_are_compared():
    vectors = some_vectors()
    starts = some_starts(len(vectors))
    found, groups = nearest_approximately(vectors, starts, 10, make_search=poor)
    exact, exact_groups = nearest(vectors, starts, 10)
    for lists in (found, groups):
        assert (np.diff(lists.similarities, axis=1) <= 0).all()
        assert all(len(set(row)) == 10 for row in lists.indices.tolist())
    assert (found.indices != np.arange(len(vectors))[:, None]).all()
    products = np.einsum("id,ikd->ik", vectors, vectors[found.indices], dtype=np.float64)
    np.testing.assert_allclose(found.similarities, products, atol=1e-6)
    assert (groups.similarities <= exact_groups.similarities).all()
    np.testing.assert_array_equal(found.indices[::7], exact.indices[::7])  # of which none was found
    assert (found.indices != exact.indices).any()

    half = exact.similarities.copy()
    half[:, 5:] -= 0.5
    assert recall(vectors, starts, Neighbours(exact.indices, half)) == 0.5


def test_few_vectors_and_a_missing_library_give_the_exact_comparison(monkeypatch):
    lines: list[str] = []
    assert approximation(10, 10, lines.append) is None
    monkeypatch.setattr(approximate, "find_spec", lambda name: None)
    assert approximation(1_000_000, 100_000, lines.append) is None
    assert [("gsum[large]" in line, "2.8 hours" in line) for line in lines] == [(True, True)]
    monkeypatch.setattr(approximate, "find_spec", lambda name: "faiss")
    assert approximation(11, 10, lines.append) is nearest_approximately


@pytest.mark.skipif(find_spec("faiss") is None, reason="needs the extra large")
def test_small_worlds_find_the_nearest_in_the_same_way_each_time():
    vectors = some_vectors(3000, 32)
    starts = some_starts(len(vectors))
    found, again = (nearest_approximately(vectors, starts, 20)[0] for _ in range(2))
    np.testing.assert_array_equal(found.indices, again.indices)
    assert recall(vectors, starts, found) >= 0.99
    search = small_worlds(vectors, 20, lambda done, of: None)
    assert (search(vectors[:50], 1)[:, 0] == np.arange(50)).all()
