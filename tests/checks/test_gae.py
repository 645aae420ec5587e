"""Each check of `gae` alone, on tables small enough to know the answer."""

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.gae.checks import mean_cosine, not_over_smoothed
from gsum_assets.pipeline.tables import TABLES
from tests.checks.small_tables import run_check

CHUNKS = pa.table(
    {"chunk_id": ["a0", "a1", "a2", "b0"], "document_id": ["a", "a", "a", "b"]}
    | {"position": pa.array([0, 1, 2, 0], pa.int32())}
)
PASSAGES = ["a0", "a1", "a2", "b0"]
NOTHING = CHUNKS.slice(0, 0)


def rows(table, names, *values):
    dicts = [dict(zip(names, row, strict=True)) for row in values]
    schema = TABLES[table].schema
    return pa.Table.from_pylist(dicts, pa.schema([schema.field(name) for name in names]))


def join_passages(edges, chunks):
    return run_check(
        "gae.graph_edges", "join_passages", {"gae.graph_edges": edges, "chunks": chunks}
    )


def finite(embeddings, chunks):
    tables = {"gae.embeddings": embeddings, "chunks": chunks}
    return run_check("gae.embeddings", "finite", tables)


def made_from_contexts(refined, contexts):
    tables = {"gae.refined_contexts": refined, "contexts": contexts}
    return run_check("gae.refined_contexts", "made_from_contexts", tables)


def edges(*values):
    return rows("gae.graph_edges", ("kind", "source_id", "target_id"), *values)


EDGES = [
    ("citation", "b0", "a0"),
    ("neighbour", "a0", "a1"),
    ("neighbour", "a2", "a1"),
    ("nearest", "a0", "b0"),
]


def test_edges_join_passages():
    assert not join_passages(edges(*EDGES), CHUNKS).problem
    assert join_passages(edges(), NOTHING).checked == "0 edges"


@pytest.mark.parametrize(
    ("edge", "words"),
    [
        (("nearest", "a0", "gone"), "an id that is no passage"),
        (("nearest", "a", "b0"), "an id that is no passage"),
        (("neighbour", "gone", "a0"), "an id that is no passage"),
        (("nearest", "a0", "a0"), "a passage to itself"),
        (("neighbour", "a0", "a0"), "a passage to itself"),
        (("neighbour", "a0", "a2"), "as neighbours passages that"),
        (("neighbour", "a1", "b0"), "as neighbours passages that"),
    ],
)
def test_invalid_edge_is_found(edge, words):
    finding = join_passages(edges(*EDGES, edge), CHUNKS)
    assert finding.problem.startswith(f"1 of 5 edges join {words}")
    assert finding.n_wrong == 1
    assert tuple(finding.offenders[0].values()) == edge


def embeddings(vectors, passages=PASSAGES):
    return rows("gae.embeddings", ("chunk_id", "embedding"), *zip(passages, vectors, strict=True))


def spread(n):
    return np.random.default_rng(0).normal(size=(n, 8)).tolist()


def test_each_passage_has_a_finite_embedding_or_none_has():
    assert not finite(embeddings(spread(4)), CHUNKS).problem
    assert not finite(embeddings([], []), CHUNKS).problem
    assert not finite(embeddings([], []), NOTHING).problem


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_non_finite_embedding_is_found(value):
    vectors = spread(4)
    vectors[1][5] = value
    finding = finite(embeddings(vectors), CHUNKS)
    assert finding.problem.startswith("1 of 4 embeddings are not finite; set a lower learning_rate")
    assert finding.offenders == [{"chunk_id": "a1"}]


def test_passage_without_embedding_is_found():
    finding = finite(embeddings(spread(3), PASSAGES[1:]), CHUNKS)
    assert finding.problem.startswith("1 of 4 passages have no embedding")
    assert finding.offenders == [{"chunk_id": "a0"}]


def test_embedding_of_unknown_passage_is_found():
    finding = finite(embeddings(spread(5), [*PASSAGES, "a"]), CHUNKS)
    assert finding.problem.startswith("1 of 5 embeddings belong to no passage")
    assert finding.offenders == [{"chunk_id": "a"}]


def of_nodes(vectors):
    return embeddings(vectors, [f"n{i}" for i in range(len(vectors))])


def test_distinct_embeddings_pass():
    assert not not_over_smoothed(of_nodes(spread(50))).problem
    assert not not_over_smoothed(of_nodes([[1.0, 0.0]] * 2)).problem  # too few to decide
    assert not not_over_smoothed(of_nodes([])).problem


@pytest.mark.parametrize(
    ("vectors", "mean"),
    [
        ([[3.0, 4.0]] * 5, 1.0),
        ([[0.0, 0.0]] * 5, 1.0),
        ([[1.0, 0.0], [5.0, 0.0], [0.995, 0.0998749]], 0.9967),  # cosines 1, .995, .995
        ([*[[1.0, 0.01 * i] for i in range(9)], [float("nan"), 0.0]], 0.9984),
    ],
)
def test_nearly_equal_embeddings_are_found(vectors, mean):
    assert mean_cosine(np.array(vectors)) == pytest.approx(mean, abs=1e-3)
    finding = not_over_smoothed(of_nodes(vectors))
    assert "have embeddings that hardly differ" in finding.problem
    assert "fewer layers in corpus.toml, [gae.training]" in finding.problem


def clusters(*passages):
    return rows("gae.clusters", ("chunk_id", "cluster"), *((passage, 1) for passage in passages))


def every_passage(clusters, chunks):
    return run_check("gae.clusters", "every_passage", {"gae.clusters": clusters, "chunks": chunks})


def test_every_passage_has_a_cluster_or_none_has():
    assert not every_passage(clusters(*PASSAGES), CHUNKS).problem
    assert not every_passage(clusters(), CHUNKS).problem  # of a method without clusters
    finding = every_passage(clusters(*PASSAGES[:3]), CHUNKS)
    assert finding.problem.startswith("1 of 4 passages are in no cluster")
    assert finding.offenders == [{"chunk_id": "b0"}]
    assert every_passage(clusters(*PASSAGES, "gone"), CHUNKS).problem.startswith(
        "1 of 5 rows name no passage"
    )


def not_degenerate(n_clusters, largest, n_chunks=4):
    chunks = pa.table({"chunk_id": [f"c{i}" for i in range(n_chunks)]})
    names = ("scope", "clustering", "n_clusters", "largest")
    scopes = ((scope, "dbscan", n_clusters, largest) for scope in ("corpus", "document"))
    tables = {"gae.clusterings": rows("gae.clusterings", names, *scopes), "chunks": chunks}
    return run_check("gae.clusterings", "not_degenerate", tables)


def test_clustering_that_splits_passages_passes():
    assert not not_degenerate(2, 0.5).problem
    assert not not_degenerate(1, 1.0, n_chunks=2).problem  # too few to judge
    assert not not_degenerate(18, 0.1, n_chunks=20).problem


def test_one_dominant_cluster_and_all_singletons_name_different_settings():
    large, small = not_degenerate(2, 0.75), not_degenerate(19, 0.1, n_chunks=20)
    assert large.problem.startswith("1 of 1 clustering have over half of the passages in one")
    assert "a smaller dbscan_eps" in large.problem
    assert "fewer layers in [gae.training]" in large.problem
    assert small.problem.startswith("1 of 1 clustering have nearly every passage alone")
    assert "a greater dbscan_eps" in small.problem
    assert "greater n_nearest in [gae.graph]" in small.problem


CONTEXTS = pa.table({"query_id": ["q", "q", "p"], "node_id": ["a0", "b0", "a0"]})
REFINED = [
    ("q", 1, "a0", "edited", 10, 12),
    ("q", 2, "b0", "dropped", 10, 0),
    ("p", 1, "a0", "whole", 10, 10),
]


def refined(*values):
    names = ("query_id", "rank", "node_id", "fate", "tokens_before", "tokens_after")
    return rows("gae.refined_contexts", names, *values)


def test_refined_passages_come_from_contexts():
    assert not made_from_contexts(refined(*REFINED), CONTEXTS).problem
    assert not made_from_contexts(refined(), CONTEXTS.slice(0, 0)).problem


@pytest.mark.parametrize("node_id", ["gone", "b0"])  # which another question has
def test_refined_passage_outside_contexts_is_found(node_id):
    wrong = ("p", 2, node_id, "whole", 10, 10)
    finding = made_from_contexts(refined(*REFINED, wrong), CONTEXTS)
    assert finding.problem.startswith("1 of 4 refined passages are not among their question's")
    assert (finding.offenders[0]["query_id"], finding.offenders[0]["node_id"]) == ("p", node_id)


@pytest.mark.parametrize("fate", ["whole", "condensed", "reduced", "cut", "dropped"])
def test_unedited_passage_that_grew_is_found(fate):
    finding = made_from_contexts(refined(*REFINED[:2], ("p", 1, "a0", fate, 10, 11)), CONTEXTS)
    assert finding.problem.startswith(
        "1 of 3 refined passages are longer though they were not edited"
    )
    assert finding.offenders[0]["fate"] == fate
