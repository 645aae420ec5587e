"""Nearest neighbours of vectors and of groups against a full sort."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from gsum_assets.graphs import nearest as module
from gsum_assets.graphs.nearest import Neighbours, nearest, nearest_by_product

# (0, 0), (0, 1), (1, 0) by angle; three groups: vectors 0 and 1, vector 2, vectors 3 and 4
ANGLES = np.deg2rad([0, 80, 30, 45, 180])
VECTORS = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1).astype(np.float32)
STARTS = np.array([0, 2, 3, 5])


def slow(similarities: np.ndarray, k: int) -> Neighbours:
    """By sorting every row: most similar first, equal ones by index, the item itself left out."""
    n = len(similarities)
    rows = [
        sorted(set(range(n)) - {i}, key=lambda j: (-similarities[i, j], j))[:k] for i in range(n)
    ]
    indices = np.array(rows, np.int32).reshape(n, min(k, max(0, n - 1)))
    return Neighbours(indices, np.take_along_axis(similarities, indices, 1))


def of_groups(similarities: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Similarities of groups, pair by pair."""
    members = [range(*pair) for pair in pairwise(starts)]
    pairs = [[similarities[np.ix_(one, other)].max() for other in members] for one in members]
    return np.array(pairs, np.float32)


def assert_same(found: Neighbours, expected: Neighbours) -> None:
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.similarities, expected.similarities, atol=1e-6)
    assert (found.indices.dtype, found.similarities.dtype) == (np.int32, np.float32)


def test_vectors_and_groups_known_values():
    vectors, groups = nearest(VECTORS, STARTS, 2)
    assert vectors.indices.tolist() == [[2, 3], [3, 2], [3, 0], [2, 1], [1, 3]]
    assert vectors.similarities[0] == pytest.approx(np.cos(np.deg2rad([30, 45])))
    assert groups.indices.tolist() == [[1, 2], [2, 0], [1, 0]]
    assert groups.similarities[1] == pytest.approx(np.cos(np.deg2rad([15, 30])))


def test_progress_ends_at_the_number_of_vectors(monkeypatch):
    monkeypatch.setattr(module, "_CELLS_AT_ONCE", 10)  # two rows of five
    progress = []
    nearest(VECTORS, STARTS, 2, lambda done, of: progress.append((done, of)))
    assert progress == [(2, 5), (3, 5), (5, 5)]


# products of such vectors are exact in single precision, and many are equal
coarse = st.tuples(*[st.integers(-2, 2)] * 3).map(lambda row: np.array(row, np.float32) / 4)
sizes = st.lists(st.integers(1, 4), min_size=1, max_size=8)


@settings(max_examples=80)
@given(sizes, st.integers(1, 40), st.integers(1, 200), st.data())
def test_equals_a_full_sort_for_any_block_size(sizes, k, cells, data):
    starts = np.cumsum([0, *sizes])
    rows = data.draw(st.lists(coarse, min_size=sum(sizes), max_size=sum(sizes)))
    vectors = np.array(rows, np.float32)
    products = vectors @ vectors.T
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CELLS_AT_ONCE", cells)
        found, found_groups = nearest(vectors, starts, k)
    assert_same(found, slow(products, k))
    assert_same(found_groups, slow(of_groups(products, starts), k))


@pytest.mark.parametrize("cells", [1, 5_000])
def test_block_size_does_not_matter_for_identical_texts(monkeypatch, cells):
    """A third of the vectors are copies: whole passages that documents share."""
    random = np.random.default_rng(0)
    vectors = random.normal(size=(200, 48)).astype(np.float32)
    vectors[random.choice(200, 66, replace=False)] = vectors[0]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    starts = np.append(np.arange(0, 200, 7), 200)
    expected = nearest(vectors, starts, 10)
    monkeypatch.setattr(module, "_CELLS_AT_ONCE", cells)
    for found, truth in zip(nearest(vectors, starts, 10), expected, strict=True):
        assert_same(found, truth)


@pytest.mark.parametrize("k", [1, 5, 100])
def test_sparse_vectors_have_the_same_neighbours(monkeypatch, k):
    monkeypatch.setattr(module, "_CELLS_AT_ONCE", 100)
    rows = csr_matrix(np.random.default_rng(0).poisson(0.1, (40, 30)) * 1.0)
    assert_same(nearest_by_product(rows, k), slow((rows @ rows.T).toarray(), k))
