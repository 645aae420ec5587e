"""Each check of `gae` alone, on tables small enough to know the answer."""

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.gae.checks import (
    as_published,
    every_passage_once,
    not_degenerate,
    not_over_smoothed,
)
from gsum_assets.gae.settings import GaeSettings
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.content_hash import numbers_of
from tests.checks.small_tables import run_check

CHUNKS = pa.table(
    {"chunk_id": ["a0", "a1", "a2", "b0"], "document_id": ["a", "a", "a", "b"]}
    | {"position": pa.array([0, 1, 2, 0], pa.int32())}
)
PASSAGES = [("document", "a"), ("document", "b")]
PASSAGES += [("node", chunk_id) for chunk_id in ("a0", "a1", "a2", "b0")]
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
    return rows("gae.graph_edges", ("level", "kind", "source_id", "target_id"), *values)


EDGES = [
    ("document", "nearest", "a", "b"),
    ("document", "citation", "b", "a"),
    ("node", "neighbour", "a0", "a1"),
    ("node", "neighbour", "a2", "a1"),
    ("node", "nearest", "a0", "b0"),
]


def test_edges_join_passages():
    assert not join_passages(edges(*EDGES), CHUNKS).problem
    assert join_passages(edges(), NOTHING).checked == "0 edges"


@pytest.mark.parametrize(
    ("edge", "words"),
    [
        (("node", "nearest", "a0", "gone"), "an id that is no passage of"),
        (("node", "nearest", "a", "b0"), "an id that is no passage of"),
        (("document", "citation", "a", "b0"), "an id that is no passage of"),
        (("node", "neighbour", "gone", "a0"), "an id that is no passage of"),
        (("node", "nearest", "a0", "a0"), "a passage to itself"),
        (("node", "neighbour", "a0", "a0"), "a passage to itself"),
        (("node", "neighbour", "a0", "a2"), "as neighbours passages that"),
        (("node", "neighbour", "a1", "b0"), "as neighbours passages that"),
        (("document", "neighbour", "a", "b"), "as neighbours passages that"),
    ],
)
def test_invalid_edge_is_found(edge, words):
    finding = join_passages(edges(*EDGES, edge), CHUNKS)
    assert finding.problem.startswith(f"1 of 6 edges join {words}")
    assert finding.n_wrong == 1
    assert tuple(finding.offenders[0].values()) == edge


def embeddings(vectors, passages=PASSAGES):
    named = [(*passage, vector) for passage, vector in zip(passages, vectors, strict=True)]
    return rows("gae.embeddings", ("level", "passage_id", "embedding"), *named)


def spread(n):
    return np.random.default_rng(0).normal(size=(n, 8)).tolist()


def test_each_passage_has_a_finite_embedding():
    assert not finite(embeddings(spread(6)), CHUNKS).problem
    assert not finite(embeddings([], []), NOTHING).problem


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_non_finite_embedding_is_found(value):
    vectors = spread(6)
    vectors[3][5] = value
    finding = finite(embeddings(vectors), CHUNKS)
    assert finding.problem.startswith("1 of 6 embeddings are not finite; set a lower learning_rate")
    assert finding.offenders == [{"level": "node", "passage_id": "a1"}]


def test_passage_without_embedding_is_found():
    finding = finite(embeddings(spread(5), PASSAGES[1:]), CHUNKS)
    assert finding.problem.startswith("1 of 6 passages have no embedding")
    assert finding.offenders == [{"level": "document", "passage_id": "a"}]
    assert finite(embeddings([], []), CHUNKS).n_wrong == 6


def test_embedding_of_unknown_passage_is_found():
    finding = finite(embeddings(spread(7), [*PASSAGES, ("node", "a")]), CHUNKS)
    assert finding.problem.startswith("1 of 7 embeddings belong to no passage")
    assert finding.offenders == [{"level": "node", "passage_id": "a"}]


def of_nodes(vectors):
    return embeddings(vectors, [("node", f"n{i}") for i in range(len(vectors))])


def test_distinct_embeddings_pass():
    assert not not_over_smoothed(of_nodes(spread(50))).problem
    assert not not_over_smoothed(of_nodes([[1.0, 0.0]] * 2)).problem  # too few to decide
    assert not_over_smoothed(of_nodes([])).checked == "0 levels"


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ([[3.0, 4.0]] * 5, "'node' 1.0000"),
        ([[0.0, 0.0]] * 5, "'node' 1.0000"),
        ([[1.0, 0.0], [5.0, 0.0], [0.995, 0.0998749]], "'node' 0.9967"),  # cosines 1, .995, .995
        ([*[[1.0, 0.01 * i] for i in range(9)], [float("nan"), 0.0]], "'node' 0.99"),
    ],
)
def test_nearly_equal_embeddings_are_found(vectors, message):
    finding = not_over_smoothed(of_nodes(vectors))
    assert finding.problem.startswith("1 of 1 level have embeddings that hardly differ")
    assert message in finding.problem
    assert "fewer layers in corpus.toml, [gae.training]" in finding.problem


def test_oversmoothing_is_reported_for_its_level_only():
    both = pa.concat_tables([of_nodes(spread(9)), embeddings([[1.0] * 8] * 2, PASSAGES[:2])])
    assert not not_over_smoothed(both).problem
    third = embeddings([[1.0] * 8], [("document", "c")])
    finding = not_over_smoothed(pa.concat_tables([both, third]))
    assert [row["level"] for row in finding.offenders] == ["document"]


def number(passage):
    return int(numbers_of(pa.array([passage]))[0])


def clustered(level, clustering, *groups):
    """Return rows of clusters, each named by the smallest number of its passages."""
    return [
        (level, clustering, passage, min(map(number, group)))
        for group in groups
        for passage in group
    ]


CLUSTERS = [
    *clustered("document", "dbscan", ["a"], ["b"]),
    *clustered("node", "dbscan", ["a0", "a1", "a2", "b0"]),
    *clustered("node", "leiden-3", ["a0"], ["a1", "a2"], ["b0"]),
]


def clusters(*values):
    return rows("gae.clusters", ("level", "clustering", "passage_id", "cluster"), *values)


def test_every_clustering_has_every_passage_once():
    assert not every_passage_once(clusters(*CLUSTERS), CHUNKS).problem
    assert not every_passage_once(clusters(*CLUSTERS[::-1]), CHUNKS).problem
    assert not every_passage_once(clusters(), NOTHING).problem


def test_passage_missing_from_a_clustering_is_found():
    finding = every_passage_once(clusters(*CLUSTERS[:-1]), CHUNKS)
    assert finding.problem.startswith("1 of 10 passages of clusterings are in no cluster")
    assert finding.offenders == [{"level": "node", "clustering": "leiden-3", "passage_id": "b0"}]


def test_passage_in_two_clusters_is_found():
    finding = every_passage_once(clusters(*CLUSTERS, CLUSTERS[7]), CHUNKS)
    assert finding.problem.startswith("1 of 10 passages of clusterings are in no cluster, or in")
    assert finding.offenders == [{"level": "node", "clustering": "leiden-3", "passage_id": "a1"}]


@pytest.mark.parametrize("stranger", ["gone", "a"])
def test_cluster_of_unknown_passage_is_found(stranger):
    finding = every_passage_once(clusters(*CLUSTERS, ("node", "dbscan", stranger, 1)), CHUNKS)
    assert finding.problem.startswith("1 of 11 rows name no passage of their level")
    assert finding.offenders[0]["passage_id"] == stranger


def test_clusters_are_named_by_their_passages():
    rows = [*CLUSTERS[:2], *((*row[:3], 7) for row in CLUSTERS[2:6]), *CLUSTERS[6:]]
    finding = every_passage_once(clusters(*rows), CHUNKS)
    assert finding.problem.startswith("1 of 3 clusterings do not name each cluster by the smallest")
    assert finding.offenders == [{"level": "node", "clustering": "dbscan"}]


def clusterings(*values, weight=1.0):
    names = ("level", "scope", "clustering", "is_chosen", "n_clusters", "largest", "weight")
    return rows("gae.clusterings", names, *((*value, weight) for value in values))


FINE = [
    ("node", "corpus", "leiden-3", True, 2, 0.5),
    ("node", "corpus", "k_means", False, 1, 1.0),  # no method re-ranks by it
    ("document", "corpus", "dbscan", True, 1, 1.0),  # two documents
    ("document", "corpus", "leiden-1", True, 2, 0.5),
]


def test_clusterings_that_split_passages_pass():
    assert not not_degenerate(clusterings(*FINE), CHUNKS).problem
    assert not not_degenerate(clusterings(), NOTHING).problem


def test_refinement_that_moves_no_document_may_have_one_document_cluster():
    documents = ("document", "corpus", "leiden-1", True, 1, 1.0)
    chunks = ("node", "corpus", "leiden-1", True, 1, 1.0)  # they have topics by it
    many = pa.concat_tables(
        pa.table(
            {"chunk_id": [f"c{i}-{j}" for j in range(2)], "document_id": [f"d{i}"] * 2}
            | {"position": pa.array([0, 1], pa.int32())}
        )
        for i in range(6)
    )
    assert not not_degenerate(clusterings(documents, weight=0.0), many).problem
    assert "document" in not_degenerate(clusterings(documents), many).problem
    assert "node" in not_degenerate(clusterings(chunks, weight=0.0), many).problem


SETTING = {
    "leiden-0.5": "resolutions",
    "dbscan": "dbscan_eps",
    "hdbscan": "hdbscan_min_size",
    "k_means": "k_means_size",
}


@pytest.mark.parametrize(("name", "setting"), SETTING.items())
def test_one_dominant_cluster_is_found(name, setting):
    finding = not_degenerate(clusterings(*FINE, ("node", "document", name, True, 2, 0.75)), CHUNKS)
    assert finding.problem.startswith(
        "1 of 4 chosen clusterings have over half of the passages in one cluster "
        f"({name} of level 'node', scope 'document': 75% in one); set "
    )
    assert f" {setting} in corpus.toml, [gae.clusters], or method = " in finding.problem
    assert "fewer layers in [gae.training]" in finding.problem
    assert setting in type(GaeSettings().clusters).model_fields
    assert [row["clustering"] for row in finding.offenders] == [name]


@pytest.mark.parametrize(("name", "setting"), SETTING.items())
def test_all_singletons_are_found(name, setting):
    finding = not_degenerate(clusterings(("node", "corpus", name, True, 4, 0.25)), CHUNKS)
    assert finding.problem.startswith(
        f"1 of 1 chosen clustering have nearly every passage alone in its cluster ({name} of level "
        "'node', scope 'corpus': 25% in one); set "
    )
    assert f" {setting} in corpus.toml, [gae.clusters]" in finding.problem
    assert "greater n_nearest in [gae.graph]" in finding.problem


def test_too_large_and_too_small_clusters_name_different_settings():
    too_large = not_degenerate(clusterings(("node", "corpus", "dbscan", True, 1, 1.0)), CHUNKS)
    too_small = not_degenerate(clusterings(("node", "corpus", "dbscan", True, 4, 0.25)), CHUNKS)
    assert "a smaller dbscan_eps" in too_large.problem
    assert "a greater dbscan_eps" in too_small.problem


def test_one_pair_among_singletons_is_no_clustering():
    many = pa.table(
        {"chunk_id": [f"c{i}" for i in range(20)], "document_id": ["d"] * 20}
        | {"position": pa.array(range(20), pa.int32())}
    )
    alone = not_degenerate(clusterings(("node", "corpus", "dbscan", True, 19, 0.1)), many)
    assert "nearly every passage alone" in alone.problem
    assert not not_degenerate(
        clusterings(("node", "corpus", "dbscan", True, 18, 0.1)), many
    ).problem


def test_published_clusters_are_checked_if_a_method_uses_them():
    rows = clusterings(("node", "corpus", "dbscan", False, 1, 1.0), FINE[0], weight=0.0)
    assert not not_degenerate(rows, CHUNKS).problem
    followed = not_degenerate(as_published(rows, "gae-dbscan"), CHUNKS)
    assert "100% in one" in followed.problem
    assert not not_degenerate(as_published(rows, "gae"), CHUNKS).problem


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
