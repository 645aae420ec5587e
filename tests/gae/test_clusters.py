"""Clusterers on groups that anyone can see, and what must not matter."""

import numpy as np
import pytest

from gsum_assets.gae.chunk_graph import nearest_by_words, neighbours
from gsum_assets.gae.clusters import by_size, dbscan, hdbscan, k_means, leiden
from gsum_assets.gae.node_features import node_features
from gsum_assets.retrieval.words import Words

GROUPS = np.repeat([0, 1, 2], [8, 6, 4])


def points() -> np.ndarray:
    centres = 10 * np.eye(3)
    return centres[GROUPS] + 0.1 * np.random.default_rng(0).standard_normal((len(GROUPS), 3))


def cliques() -> tuple[np.ndarray, np.ndarray]:
    return np.nonzero(np.triu(GROUPS[:, None] == GROUPS[None], 1))


@pytest.mark.parametrize(
    "cluster", [lambda x: dbscan(x, 1.0), hdbscan, lambda x: k_means(x, 3)], ids="dhk"
)
def test_groups_of_points_are_found(cluster) -> None:
    assert (cluster(points()) == GROUPS).all()


def test_noise_is_alone() -> None:
    found = dbscan(np.vstack([points(), [[99, 99, 99], [-99, 0, 0]]]), 1.0)
    assert found.tolist() == [*GROUPS.tolist(), 3, 4]


def test_leiden_finds_cliques_in_any_order_of_edges() -> None:
    sources, targets = cliques()
    random = np.random.default_rng(0)
    for _ in range(3):
        order = random.permutation(len(sources))
        found = leiden(20, targets[order], sources[order], np.ones(len(order)), 1.0)
        assert found.tolist() == [*GROUPS.tolist(), 3, 4]  # the last two have no edge


def test_clusters_are_numbered_by_size() -> None:
    assert by_size(np.array([9, 4, 4, 7, 7])).tolist() == [2, 0, 0, 1, 1]


def test_neighbours_stay_within_documents() -> None:
    edges = neighbours(np.array([0, 3, 4, 6]))
    assert list(zip(edges.sources.tolist(), edges.targets.tolist(), strict=True)) == [
        (0, 1),
        (1, 2),
        (4, 5),
    ]


def test_the_nearest_share_words() -> None:
    texts = ["boat lamp", "boat lamp oar", "peat rail", "peat rail iron", "nobody"]
    edges = nearest_by_words(texts, Words(), 1)
    joined = set(zip(edges.sources.tolist(), edges.targets.tolist(), strict=True))
    assert joined == {(0, 1), (1, 0), (2, 3), (3, 2)}
    assert len(nearest_by_words(["one", "two"], Words(), 1).sources) == 0


def test_features_are_sums_of_reduced_matrices() -> None:
    random = np.random.default_rng(0)
    words, vectors = random.random((6, 9)), random.random((6, 3))
    found = node_features(words, vectors, 5, 1.0, 0.0)
    assert found.shape == (6, 5)
    centred = words - words.mean(0)
    assert np.allclose((found[:, :5] ** 2).sum(), (centred**2).sum(), rtol=1e-3)
