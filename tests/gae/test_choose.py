"""The clustering that joins what belongs together is chosen; one that does not weighs little."""

import numpy as np
import pytest

from gsum_assets.gae.choose import Verdict, agreements, chosen, n_pairs, stability, weight_of
from gsum_assets.gae.clusterings import pair_scores
from gsum_assets.gae.rerank import reranked
from gsum_assets.gae.settings import ClusterSettings, RerankSettings
from gsum_assets.retrieval.collection import Collection
from tests.lightpal.toys import topic_tables

N, GROUPS = 60, np.repeat(np.arange(12), 5)


def test_true_groups_agree_best_at_every_level() -> None:
    here = Collection.from_tables(*topic_tables(10, 6, 3))  # 60 documents of 10 topics
    topic = np.array([int(document_id[1:3]) for document_id in here.document_ids])
    of_chunk = np.repeat(topic, np.diff(here.starts))
    random = np.random.default_rng(0)
    documents = {"true": topic, "chance": random.permutation(topic), "alone": np.arange(60)}
    nodes = {"true": of_chunk, "chance": random.permutation(of_chunk)}
    nodes["alone"] = np.arange(len(of_chunk))
    found = {
        (level, scope, name): t
        for level, scope, name, t in agreements(here, documents, nodes, "en", ClusterSettings())
    }
    for level in ("document", "node"):
        assert found[level, "corpus", "true"] > 2
        assert found[level, "corpus", "true"] > found[level, "corpus", "chance"]
        assert found[level, "corpus", "alone"] == 0  # nothing moves
    assert found["node", "document", "true"] == 0  # documents of 3 chunks give no evidence


def test_stable_clustering_wins_among_equals() -> None:
    verdicts = {"shaky": Verdict(8.0, 0.5), "steady": Verdict(7.5, 0.9), "wrong": Verdict(-9, 1.0)}
    assert chosen(verdicts) == "steady"
    assert chosen({"a": Verdict(-2.0, 0.8), "b": Verdict(-1.0, 0.6)}) == "b"
    assert chosen({"a": Verdict(0.0, 0.4), "b": Verdict(0.0, 0.6)}) == "b"
    one = Verdict(9.0, 1.0, is_split=False)
    assert chosen({"one": one, "many": Verdict(-1.0, 0.1)}) == "many"
    assert chosen({"one": one, "alone": Verdict(0.0, 1.0, is_split=False)}) == "one"


@pytest.mark.parametrize(
    ("t", "weight"), [(-3.0, 0.0), (0.0, 0.0), (2.0, 0.0), (4.0, 0.75), (np.inf, 1.0)]
)
def test_weight(t: float, weight: float) -> None:
    assert weight_of(t) == weight


def test_stability_is_the_share_of_recovered_pairs() -> None:
    assert stability(lambda kept: GROUPS[kept], GROUPS) == 1
    assert stability(lambda kept: np.arange(len(kept)), GROUPS) == 0
    halves = stability(lambda kept: GROUPS[kept] // 2, GROUPS)  # each pair of groups united
    kept = np.flatnonzero(np.random.default_rng(0).random(N) >= 0.1)
    assert 0 < halves < 1
    assert n_pairs(GROUPS[kept]) / n_pairs(GROUPS[kept] // 2) == pytest.approx(halves, abs=0.05)


def test_pairs_known_values() -> None:
    labels = np.array([0, 0, 0, 1, 1, 2])
    # questions name {0, 1} and {1, 3}: pairs together among the named 0, 1, 3 are {0, 1} alone
    assert pair_scores(labels, [{0, 1}, {1, 3}]) == (1.0, 0.5)
    # two questions about the same passages count once; 0 and 4 are named apart
    assert pair_scores(labels, [{0, 1}, {1, 0}, {2, 4}]) == (1 / 3, 0.5)
    assert pair_scores(labels, []) == (None, None)
    assert pair_scores(np.arange(6), [{0, 1}]) == (None, 0.0)


def test_candidates_precede_others_and_zero_weight_keeps_the_order() -> None:
    scores = np.random.default_rng(0).random((3, N))
    found = reranked(scores, GROUPS, 2, RerankSettings())
    assert ((found >= 0).sum(axis=1) == 20).all()
    kept = reranked(scores, GROUPS, 2, RerankSettings(), weight=0.0)
    assert (np.argsort(-kept, axis=1) == np.argsort(-scores, axis=1)).all()


def test_normalized_scores_span_the_candidates() -> None:
    scores = np.array([[0.9, 0.5, 0.7, 0.1]])
    settings = RerankSettings(candidates_per_k=3, scores="normalized")
    found = reranked(scores, np.arange(4), 1, settings)
    assert found == pytest.approx(np.array([[1.0, 0.0, 0.5, -1.9]]))
    equal = reranked(np.full((1, 4), 0.5), np.arange(4), 1, settings)
    assert equal[0, :3] == pytest.approx(np.ones(3))
