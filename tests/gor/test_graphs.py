"""Record graphs: nodes, edges, degrees; and the graphs of documents from tables in any order."""

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gsum_assets.gor.encoders import batch_of, message_edges
from gsum_assets.gor.graphs import NO_SOURCE, record_graph, record_graphs, training_graphs
from gsum_assets.gor.losses import ranked_scores
from gsum_assets.gor.methods import EncoderForm
from tests.gor.toy_documents import chunk_table, embedding_table, shuffled
from tests.models import HashEmbedder

EMBEDDER = HashEmbedder()
DIRECTIONS = ("to_response", "to_retrieved", "both")


def responses(rows) -> pa.Table:
    """Rows of `gor.historical_responses` from (document, round, node ids)."""
    return pa.table(
        {
            "response_id": pa.array([f"{d}-r{i}" for d, i, _ in rows], pa.string()),
            "document_id": pa.array([d for d, _, _ in rows], pa.string()),
            "round": pa.array([i for _, i, _ in rows], pa.int32()),
            "text": pa.array([f"response {i} of {d}" for d, i, _ in rows], pa.string()),
            "node_ids": pa.array([list(ids) for _, _, ids in rows], pa.list_(pa.string())),
        }
    )


def chunks_of(sizes) -> tuple[pa.Table, pa.Table]:
    chunks = chunk_table({d: [f"passage {i} of {d}" for i in range(n)] for d, n in sizes.items()})
    return chunks, embedding_table(chunks, EMBEDDER.embed(chunks["text"].to_pylist()))


def test_record_graph_known_values():
    chunks, embeddings = chunks_of({"a": 3})
    north, east, south = chunks["chunk_id"].to_pylist()
    used = responses([("a", 1, (east, north)), ("a", 4, ("a-r1", north))])
    nodes, edges = record_graph(chunks, embeddings, used, EMBEDDER)
    assert nodes["node_id"].to_pylist() == [north, east, south, "a-r1", "a-r4"]
    assert nodes["kind"].to_pylist() == ["chunk"] * 3 + ["response"] * 2
    assert nodes["position"].to_pylist() == [0, 1, 2, 1, 4]
    assert nodes["degree"].to_pylist() == [2, 1, 0, 3, 2]
    ends = [(east, "a-r1", 1), (north, "a-r1", 2), ("a-r1", "a-r4", 1), (north, "a-r4", 2)]
    columns = (edges[name].to_pylist() for name in ("source_id", "target_id", "rank"))
    assert list(zip(*columns, strict=True)) == ends
    vectors = np.stack(nodes["embedding"].to_pylist())
    np.testing.assert_array_equal(vectors, EMBEDDER.embed(nodes["text"].to_pylist()))


def test_no_responses_and_no_rows():
    chunks, embeddings = chunks_of({"a": 2, "b": 1})
    nodes, edges = record_graph(chunks, embeddings, responses([]), EMBEDDER)
    assert nodes["degree"].to_pylist() == [0, 0, 0]
    assert edges.num_rows == 0
    none = chunks.slice(0, 0), embeddings.slice(0, 0), responses([])
    nodes, edges = record_graph(*none, EMBEDDER)
    assert nodes.schema.field("embedding").type.list_size == EMBEDDER.dimension
    assert record_graphs(nodes, edges) == []


@st.composite
def records(draw):
    """Documents, their passages, and responses that used any earlier nodes."""
    sizes = draw(st.dictionaries(st.sampled_from("abc"), st.integers(1, 6), min_size=1))
    chunks, embeddings = chunks_of(sizes)
    rows = []
    for document_id in sizes:
        own = pc.equal(chunks["document_id"], document_id)
        known = chunks.filter(own)["chunk_id"].to_pylist()
        for i in sorted(draw(st.sets(st.integers(1, 9), max_size=6))):
            rows.append((document_id, i, draw(st.sets(st.sampled_from(known), max_size=6))))
            known.append(f"{document_id}-r{i}")
    return chunks, embeddings, responses(rows)


@settings(max_examples=60)
@given(records(), st.integers(0, 5))
def test_any_record_gives_a_valid_graph_in_any_order_of_rows(tables, seed):
    nodes, edges = record_graph(*tables, EMBEDDER)
    chunks, _, used = tables
    ids = nodes["node_id"].to_pylist()
    assert sorted(ids) == sorted(chunks["chunk_id"].to_pylist() + used["response_id"].to_pylist())
    graph = nx.DiGraph()
    graph.add_nodes_from(ids)
    ends = (edges[end].to_pylist() for end in ("source_id", "target_id"))
    graph.add_edges_from(zip(*ends, strict=True))
    assert nx.is_directed_acyclic_graph(graph)
    assert graph.number_of_edges() == edges.num_rows
    degrees = dict(zip(ids, nodes["degree"].to_pylist(), strict=True))
    assert degrees == dict(graph.degree())
    assert record_graph(*(shuffled(t, seed) for t in tables), EMBEDDER) == (nodes, edges)


NODES = {
    "node_id": ["c1", "c2", "c3", "r1", "r2", "c4", "c5", "r3"],
    "document_id": ["b"] * 5 + ["a", "quiet", "a"],
    "kind": ["chunk"] * 3 + ["response"] * 2 + ["chunk", "chunk", "response"],
    "position": pa.array([0, 1, 2, 1, 2, 0, 0, 1], pa.int32()),
    "embedding": pa.array([[float(i), 1.0] for i in range(8)], pa.list_(pa.float32())),
}
EDGES = {"source_id": ["c1", "c3", "r1", "c4"], "target_id": ["r1", "r2", "r2", "r3"]} | {
    "document_id": ["b", "b", "b", "a"]
}
QUERIES = {"query_id": ["q1", "q2", "failed", "q3"], "document_id": ["b", "b", "b", "a"]} | {
    "chunk_id": ["c3", None, "c1", "c4"]
}
RESPONSES = (
    {"query_id": ["q1", "q2", "q3"], "document_id": ["b", "b", "a"]}
    | {"round": pa.array([1, 2, 1], pa.int32())}
    | {"query_embedding": pa.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]], pa.list_(pa.float32()))}
)
RANKED = {
    ("b", "q1"): ["c3", "r2", "c1", "c2", "r1"],
    ("b", "q2"): ["r1", "r2", "c3", "c2", "c1"],
    ("b", "failed"): ["c1", "c2", "c3", "r1", "r2"],
    ("a", "q3"): ["c4", "r3"],
}


def tables(seed=None, ranked=RANKED, edges=EDGES):
    """The five tables, shuffled by `seed`."""
    rankings = {
        "document_id": [document for (document, _), nodes in ranked.items() for _ in nodes],
        "query_id": [query for (_, query), nodes in ranked.items() for _ in nodes],
        "node_id": [node for nodes in ranked.values() for node in nodes],
        "rank": pa.array([i for n in ranked.values() for i in range(1, len(n) + 1)], pa.int32()),
    }
    ordered = [pa.table(columns) for columns in (NODES, edges, QUERIES, RESPONSES, rankings)]
    return ordered if seed is None else [shuffled(table, seed) for table in ordered]


@pytest.mark.parametrize("seed", [None, 0, 1])
def test_training_graphs_have_known_values_in_any_order_of_rows(seed):
    a, b = training_graphs(*tables(seed))
    assert (a.document_id, b.document_id) == ("a", "b")
    assert b.node_ids.tolist() == ["c1", "c2", "c3", "r1", "r2"]
    assert b.features[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert b.edges.T.tolist() == [[0, 3], [2, 4], [3, 4]]
    assert b.queries.tolist() == [[1, 0], [0, 1]]
    assert b.rankings.tolist() == [[2, 4, 0, 1, 3], [3, 4, 2, 1, 0]]
    assert b.sources.tolist() == [2, NO_SOURCE]
    assert [g.document_id for g in record_graphs(*tables()[:2])] == ["a", "b", "quiet"]


def test_inconsistent_tables_are_reported():
    stale = {**EDGES, "source_id": ["gone", "c3", "r1", "c4"]}
    with pytest.raises(ValueError, match=r"record_edges of 'b': 1 of 3 ids .* \(first: gone\)"):
        training_graphs(*tables(edges=stale))
    short = RANKED | {("b", "q2"): ["r1", "r2", "c3", "c2"]}
    with pytest.raises(ValueError, match=r"'b': 9 rows for 2 questions and 5 nodes"):
        training_graphs(*tables(ranked=short))


def ends_of(edges):
    return sorted(zip(*edges.tolist(), strict=True))


def test_messages_go_by_direction_with_self_loops():
    _, b = training_graphs(*tables())
    itself, used = [(i, i) for i in range(5)], [(0, 3), (2, 4), (3, 4)]
    back = [(target, source) for source, target in used]
    expected = ([*itself, *used], [*itself, *back], [*itself, *used, *back])
    for direction, ends in zip(DIRECTIONS, expected, strict=True):
        assert ends_of(message_edges(b, EncoderForm(direction=direction))) == sorted(ends)


def test_batched_graphs_number_nodes_consecutively():
    a, b = training_graphs(*tables())
    form = EncoderForm(direction="both")
    batch = batch_of([a, b], form)
    shifted = [(source + 2, target + 2) for source, target in ends_of(message_edges(b, form))]
    assert ends_of(batch.graph.edges) == ends_of(message_edges(a, form)) + shifted
    assert batch.features.tolist() == [*a.features.tolist(), *b.features.tolist()]
    assert batch.queries.tolist() == [*a.queries.tolist(), *b.queries.tolist()]
    for ranks, graph in zip(batch.rankings, (a, b), strict=True):
        assert ranks.tolist() == graph.rankings.tolist()
    scores = torch.arange(3 * 7).reshape(3, 7)
    of_a, of_b = ranked_scores(scores, batch)
    assert of_a.tolist() == [[0, 1]]
    assert of_b.tolist() == [(7 + 2 + b.rankings[0]).tolist(), (14 + 2 + b.rankings[1]).tolist()]
