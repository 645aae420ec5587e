"""Incremental nearest neighbours equal a full recomputation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gsum_assets.graphs import nearest as module
from gsum_assets.graphs import nearest_again as again
from gsum_assets.graphs.nearest import Neighbours, nearest
from gsum_assets.graphs.nearest_again import Before, Lists, Renewed, nearest_again

Groups = dict[int, np.ndarray]
"""Members' vectors by name of the group; groups stand in the order of their names."""


def searched(groups: Groups) -> tuple[np.ndarray, np.ndarray]:
    ordered = [groups[name] for name in sorted(groups)]
    return np.concatenate(ordered), np.cumsum([0, *map(len, ordered)])


def before(then: Groups, now: Groups, k: int) -> Before:
    """Return the neighbours found among `then`, restricted to `now`."""
    kept = [name for name in sorted(now) if name in then and np.array_equal(then[name], now[name])]
    fresh = [index for index, name in enumerate(sorted(now)) if name not in kept]
    of_groups = {name: name for name in kept}
    of_vectors = {(name, i): (name, i) for name in kept for i in range(len(now[name]))}
    found_vectors, found_groups = nearest(*searched(then), k)
    return Before(
        carried(found_vectors, names_of(then), names_of(now), of_vectors),
        carried(found_groups, sorted(then), sorted(now), of_groups),
        np.array(fresh, np.int64),
    )


def names_of(groups: Groups) -> list[tuple[int, int]]:
    """Of all vectors."""
    return [(name, i) for name in sorted(groups) for i in range(len(groups[name]))]


def carried(found: Neighbours, then: list, now: list, kept: dict) -> Lists:
    """Lists of the names `then`, by the indices of the names `now`."""
    index = {name: i for i, name in enumerate(now) if name in kept}
    indices = np.full((len(now), found.indices.shape[1]), -1, np.int32)
    similarities = np.zeros(indices.shape, np.float32)
    for row, name in enumerate(then):
        if name in index:
            indices[index[name]] = [index.get(then[other], -1) for other in found.indices[row]]
            similarities[index[name]] = found.similarities[row]
    loses = (indices < 0).any(axis=1) & np.isin(np.arange(len(now)), list(index.values()))
    is_complete = found.indices.shape[1] == len(then) - 1
    return Lists(similarities, loses, lambda items: indices[items], is_complete)


def whole(known: Lists, renewed: Renewed) -> Neighbours:
    """Return all lists: new ones, and the beginnings of earlier ones."""
    n, k = len(known.loses), renewed.lists.indices.shape[1]
    indices, similarities = known.neighbours_of(np.arange(n))[:, :k], known.similarities[:, :k]
    if indices.shape[1] < k:
        assert len(renewed.items) == n
        return renewed.lists
    indices[renewed.items] = renewed.lists.indices
    similarities[renewed.items] = renewed.lists.similarities
    return Neighbours(indices, similarities)


# many of such vectors are equally similar
coarse = st.tuples(*[st.integers(-2, 2)] * 3).map(lambda row: np.array(row, np.float32) / 4)
members = st.lists(coarse, min_size=1, max_size=4).map(np.array)
corpora = st.dictionaries(st.integers(0, 11), members, min_size=1, max_size=12)


@settings(max_examples=150)
@given(corpora, corpora, st.sets(st.integers(0, 11)), st.integers(1, 12), st.integers(1, 200))
def test_equals_a_full_recomputation(then, other, changed, k, cells):
    now = {name: then.get(name) for name in then.keys() - changed}
    now |= {name: rows for name, rows in other.items() if name in changed}
    if not now:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CELLS_AT_ONCE", cells)
        patch.setattr(again, "_MOST_FRESH", 1.0)
        known = before(then, now, k)
        of_vectors, of_groups = nearest_again(*searched(now), k, known)
    found = whole(known.of_vectors, of_vectors), whole(known.of_groups, of_groups)
    for some, expected in zip(found, nearest(*searched(now), k), strict=True):
        np.testing.assert_array_equal(some.indices, expected.indices)
        np.testing.assert_array_equal(some.similarities, expected.similarities)


def test_only_changes_are_compared(monkeypatch):
    random = np.random.default_rng(0)
    then: Groups = {}
    for name in range(60):
        rows = random.normal(size=(5, 32)).astype(np.float32)
        then[name] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    now = then | {60: -then[7]}
    del now[9]
    known = before(then, now, 20)
    expected = nearest(*searched(now), 20)
    compared = []
    products = module.Comparison.products
    monkeypatch.setattr(
        module.Comparison,
        "products",
        lambda self, rows: compared.extend(rows) or products(self, rows),
    )
    of_vectors, of_groups = nearest_again(*searched(now), 20, known)
    found = whole(known.of_vectors, of_vectors), whole(known.of_groups, of_groups)
    for some, truth in zip(found, expected, strict=True):
        np.testing.assert_array_equal(some.indices, truth.indices)
        np.testing.assert_array_equal(some.similarities, truth.similarities)
    assert len(compared) < 300
