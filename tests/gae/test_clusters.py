"""Clusterings on groups that anyone can see, what must not matter, and their weight."""

import warnings

import numpy as np
import pytest

from gsum_assets.gae import clusters
from gsum_assets.gae.clusters import agreements, clustered, weight_of
from gsum_assets.gae.graph import Edges
from gsum_assets.gae.methods import Clustering
from gsum_assets.gae.settings import ClusterSettings
from gsum_assets.graphs.clusters import by_size, leiden, named_by_members
from gsum_assets.retrieval.collection import Collection
from tests.lightpal.toys import topic_tables

GROUPS = np.repeat([0, 1, 2], [8, 6, 4])
SETTINGS = ClusterSettings(resolution=1.0, dbscan_eps=1.0)


def points() -> np.ndarray:
    centres = 10 * np.eye(3)
    return centres[GROUPS] + 0.1 * np.random.default_rng(0).standard_normal((len(GROUPS), 3))


def cliques() -> Edges:
    sources, targets = np.nonzero(np.triu(GROUPS[:, None] == GROUPS[None], 1))
    return Edges(sources, targets, np.ones(len(sources)))


@pytest.mark.parametrize("name", ["leiden", "dbscan"])
def test_groups_are_found(name: Clustering) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (clustered(name, cliques(), points(), SETTINGS) == GROUPS).all()
        assert clustered(name, cliques(), points()[:1], SETTINGS).tolist() == [0]


def test_dbscan_is_the_published_one_with_noise_points_as_singletons() -> None:
    found = clustered("dbscan", cliques(), np.vstack([points(), [[99] * 3, [-99] * 3]]), SETTINGS)
    assert found.tolist() == [*GROUPS.tolist(), 3, 4]
    line = np.array([[0.0], [0.5], [1.0], [1.6], [9.0], [9.4]])  # two within eps are a cluster
    found = clustered("dbscan", cliques(), line, ClusterSettings())
    assert found.tolist() == [0, 0, 0, 2, 1, 1]  # of length 1 all but the first would be together


def test_leiden_finds_cliques_in_any_order_of_edges() -> None:
    edges = cliques()
    order = np.random.default_rng(0).permutation(len(edges.sources))
    turned = Edges(edges.targets[order], edges.sources[order], edges.weights[order])
    assert leiden(20, *turned, 1.0).tolist() == [*GROUPS.tolist(), 3, 4]  # two have no edge


def test_dbscan_refuses_to_compare_all_pairs_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "_MOST_COMPARED", 10)
    with pytest.raises(ValueError, match="DBSCAN of 18 passages would compare all pairs"):
        clustered("dbscan", cliques(), points(), SETTINGS)


def test_clusters_keep_their_names_when_others_change() -> None:
    numbers = np.array([50, 30, 20, 40, 10])
    before = named_by_members(np.array([0, 0, 1, 1, 2]), numbers)
    assert before.tolist() == [30, 30, 20, 20, 10]
    after = named_by_members(np.array([2, 2, 0, 0, 0]), numbers)  # the third joined the second
    assert after.tolist() == [30, 30, 10, 10, 10]
    assert by_size(after).tolist() == [1, 1, 0, 0, 0]


def test_true_groups_agree_best() -> None:
    here = Collection.from_tables(*topic_tables(10, 6, 3))  # 60 documents of 10 topics
    topic = np.array([int(document_id[1:3]) for document_id in here.document_ids])
    of_chunk = np.repeat(topic, np.diff(here.starts))
    ways = {
        "true": of_chunk,
        "chance": np.random.default_rng(0).permutation(of_chunk),
        "alone": np.arange(len(of_chunk)),
    }
    found = {name: agreements(here, labels, "en") for name, labels in ways.items()}
    assert found["true"]["corpus"] > max(2, found["chance"]["corpus"])
    assert found["alone"]["corpus"] == 0  # nothing moves
    assert found["true"]["document"] == 0  # documents of 3 chunks give no evidence


@pytest.mark.parametrize(
    ("t", "weight"), [(-3.0, 0.0), (0.0, 0.0), (2.0, 0.0), (4.0, 0.75), (np.inf, 1.0)]
)
def test_weight(t: float, weight: float) -> None:
    assert weight_of(t) == weight
