"""The graph of records: nodes, edges, degrees, and invariants for any responses."""

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gsum_assets.gor.record_graph import record_graph
from tests.gor.toy_documents import chunk_table, embedding_table, shuffled
from tests.models import HashEmbedder

EMBEDDER = HashEmbedder()


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


def test_graph_known_values():
    chunks, embeddings = chunks_of({"a": 3})
    north, east, south = chunks["chunk_id"].to_pylist()
    given_ = responses([("a", 1, (east, north)), ("a", 4, ("a-r1", north))])
    nodes, edges = record_graph(chunks, embeddings, given_, EMBEDDER)
    assert nodes["node_id"].to_pylist() == [north, east, south, "a-r1", "a-r4"]
    assert nodes["kind"].to_pylist() == ["chunk"] * 3 + ["response"] * 2
    assert nodes["position"].to_pylist() == [0, 1, 2, 1, 4]
    assert nodes["degree"].to_pylist() == [2, 1, 0, 3, 2]
    assert edges.to_pylist() == [
        {"source_id": s, "target_id": t, "document_id": "a", "rank": r}
        for s, t, r in [
            (east, "a-r1", 1),
            (north, "a-r1", 2),
            ("a-r1", "a-r4", 1),
            (north, "a-r4", 2),
        ]
    ]
    vectors = nodes["embedding"].combine_chunks().flatten().to_numpy().reshape(5, -1)
    np.testing.assert_array_equal(vectors, EMBEDDER.embed(nodes["text"].to_pylist()))


def test_documents_without_responses_keep_their_passages():
    chunks, embeddings = chunks_of({"a": 2, "b": 1})
    nodes, edges = record_graph(chunks, embeddings, responses([]), EMBEDDER)
    assert nodes["degree"].to_pylist() == [0, 0, 0]
    assert edges.num_rows == 0
    assert edges.schema.field("rank").type == "int32"


def test_no_rows():
    chunks, embeddings = chunks_of({"a": 1})
    nodes, edges = record_graph(chunks.slice(0, 0), embeddings.slice(0, 0), responses([]), EMBEDDER)
    assert (nodes.num_rows, edges.num_rows) == (0, 0)
    assert nodes.schema.field("embedding").type.list_size == EMBEDDER.dimension


@pytest.mark.parametrize("source", ["nowhere", "a-r2", "b-r1"])
def test_only_passages_and_earlier_responses_of_the_document_are_used(source):
    chunks, embeddings = chunks_of({"a": 2, "b": 1})
    given_ = responses([("a", 1, (source,)), ("a", 2, ()), ("b", 1, ())])
    with pytest.raises(ValueError, match=f"round 1 of document 'a' used node '{source}'"):
        record_graph(chunks, embeddings, given_, EMBEDDER)


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
def test_any_record_gives_a_valid_graph(tables, seed):
    nodes, edges = record_graph(*tables, EMBEDDER)
    chunks, _, given_ = tables
    ids = nodes["node_id"].to_pylist()
    assert sorted(ids) == sorted(chunks["chunk_id"].to_pylist() + given_["response_id"].to_pylist())
    assert len(set(ids)) == len(ids)
    row_of = {row["node_id"]: row for row in nodes.to_pylist()}
    graph = nx.DiGraph()
    graph.add_nodes_from(ids)
    for edge in edges.to_pylist():
        source, target = row_of[edge["source_id"]], row_of[edge["target_id"]]
        assert source["document_id"] == target["document_id"] == edge["document_id"]
        assert target["kind"] == "response"
        assert source["kind"] == "chunk" or source["position"] < target["position"]
        graph.add_edge(edge["source_id"], edge["target_id"])
    assert nx.is_directed_acyclic_graph(graph)
    assert graph.number_of_edges() == edges.num_rows
    assert {i: row["degree"] for i, row in row_of.items()} == dict(graph.degree())
    assert sum(nodes["degree"].to_pylist()) == 2 * edges.num_rows
    assert record_graph(*(shuffled(t, seed) for t in tables), EMBEDDER) == (nodes, edges)
