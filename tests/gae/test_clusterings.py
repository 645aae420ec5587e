"""Choice among clusterings, by default and by setting, and their measures by labels."""

from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.gae.choose import Verdict, agreements, chosen, n_pairs, stability, weight_of
from gsum_assets.gae.clusterings import clusterings, clusters, labels_of, pair_scores
from gsum_assets.gae.graph_edges import graph_edges
from gsum_assets.gae.levels import levels, vector_rows
from gsum_assets.gae.rerank import reranked
from gsum_assets.gae.settings import ClusterSettings, GraphSettings, RerankSettings
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from tests.gae.toy_words import known_words
from tests.gor.toy_documents import shuffled
from tests.lightpal.toys import topic_tables

SETTINGS = ClusterSettings(resolutions=[1.0], dbscan_eps=1.0, n_probes=60)
MEASURED_BY_LABELS = ["pair_precision", "pair_recall"]


@cache
def topics() -> Collection:
    """40 documents of 8 topics, 3 chunks each."""
    return Collection.from_tables(*topic_tables(8, 5, 3))


@cache
def index() -> tuple[pa.Table, pa.Table, pa.Table]:
    """Clusters, edges and embeddings; these lie where the topics are, so that all ways agree."""
    here = topics()
    edges = graph_edges(here, {}, "en", GraphSettings(), known_words(here))
    random = np.random.default_rng(0)
    tables_of_levels = []
    for level in levels(here):
        topic = np.array([int(passage_id[1:3]) for passage_id in level.ids])
        vectors = 10 * np.eye(8)[topic] + 0.1 * random.standard_normal((len(topic), 8))
        tables_of_levels.append(vector_rows(level.name, level.ids, vectors))
    embeddings = pa.concat_tables(tables_of_levels)
    return clusters(edges, embeddings, here, SETTINGS), edges, embeddings


def queries(*relevant: list[str]) -> pa.Table:
    rows = [{"relevant_document_ids": ids, "relevant_chunk_ids": []} for ids in relevant]
    kind = pa.list_(pa.string())
    return pa.Table.from_pylist(
        rows, pa.schema({"relevant_document_ids": kind, "relevant_chunk_ids": kind})
    )


def judged(questions: pa.Table, settings: ClusterSettings = SETTINGS) -> pa.Table:
    return clusterings(*index(), topics(), questions, "en", settings)


def test_every_clustering_is_judged_and_one_chosen_per_level_and_scope() -> None:
    rows = judged(queries())
    assert rows.schema.equals(TABLES["gae.clusterings"].schema)
    found = rows.to_pylist()
    assert {row["clustering"] for row in found} == {"leiden-1", "dbscan", "hdbscan", "k_means"}
    chosen = [row for row in found if row["is_chosen"]]
    assert [(row["level"], row["scope"]) for row in chosen] == [
        ("document", "corpus"),
        ("node", "corpus"),
        ("node", "document"),
    ]
    assert all(row["agreement"] > 0 for row in chosen if row["scope"] == "corpus")
    assert all(row["weight"] == weight_of(row["agreement"]) for row in found)
    dbscan = next(row for row in found if row["clustering"] == "dbscan")
    assert (dbscan["n_clusters"], dbscan["largest"]) == (8, 1 / 8)
    assert dbscan["silhouette"] > 0.9
    assert dbscan["stability"] == 1


def test_labels_do_not_affect_the_choice() -> None:
    ids = topics().document_ids
    without, with_labels = judged(queries()), judged(queries(ids[:5], ids[4:6]))
    assert without.drop_columns(MEASURED_BY_LABELS).equals(
        with_labels.drop_columns(MEASURED_BY_LABELS)
    )
    assert without["pair_recall"].null_count == without.num_rows
    dbscan = next(row for row in with_labels.to_pylist() if row["clustering"] == "dbscan")
    # of 11 true pairs 10 are of one topic; no pair of one topic was named apart
    assert (dbscan["pair_precision"], dbscan["pair_recall"]) == (1.0, 10 / 11)


@pytest.mark.parametrize("method", ["leiden", "k_means"])
def test_configured_clustering_is_used_in_full(method: str) -> None:
    rows = judged(queries(), SETTINGS.model_copy(update={"method": method})).to_pylist()
    assert all(row["clustering"].startswith(method) for row in rows if row["is_chosen"])
    assert {row["weight"] for row in rows} == {1.0}


def test_unknown_clustering_error_names_the_known_ones() -> None:
    found, edges, embeddings = index()
    names = np.array(found["clustering"].to_pylist())
    without = found.filter(pa.array(names != "hdbscan"))
    settings = SETTINGS.model_copy(update={"method": "hdbscan"})
    with pytest.raises(
        ValueError, match=r"method = 'hdbscan', .* only the clusterings leiden-1, dbscan, k_means"
    ):
        clusterings(without, edges, embeddings, topics(), queries(), "en", settings)


def test_labels_follow_passage_order() -> None:
    documents, _ = levels(topics())
    found = labels_of(shuffled(index()[0]), documents)
    assert np.array_equal(found["dbscan"], np.repeat(np.arange(8), 5))


# The clustering that joins what belongs together is chosen; one that does not weighs little.

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
