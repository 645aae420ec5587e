"""Graphs from tables: independent of row order; rejected tables."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from gsum_assets.gor.graphs import NO_SOURCE, record_graphs, side_by_side, training_graphs

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


def ranking_rows(ranked):
    return {
        "document_id": [document for (document, _), nodes in ranked.items() for _ in nodes],
        "query_id": [query for (_, query), nodes in ranked.items() for _ in nodes],
        "node_id": [node for nodes in ranked.values() for node in nodes],
        "rank": pa.array([i for n in ranked.values() for i in range(1, len(n) + 1)], pa.int32()),
    }


def tables(seed=None, **changed):
    """The five tables, shuffled by `seed`."""
    given = {
        "nodes": NODES,
        "edges": EDGES,
        "queries": QUERIES,
        "responses": RESPONSES,
        "rankings": ranking_rows(RANKED),
        **changed,
    }
    shuffled_tables = [pa.table(columns) for columns in given.values()]
    if seed is None:
        return shuffled_tables
    random = np.random.default_rng(seed)
    return [table.take(random.permutation(len(table))) for table in shuffled_tables]


def test_graph_of_a_document():
    a, b = training_graphs(*tables())
    assert (a.document_id, b.document_id) == ("a", "b")
    assert b.node_ids.tolist() == ["c1", "c2", "c3", "r1", "r2"]
    assert b.features[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert b.edges.T.tolist() == [[0, 3], [2, 4], [3, 4]]
    assert b.queries.tolist() == [[1, 0], [0, 1]]
    assert b.rankings.tolist() == [[2, 4, 0, 1, 3], [3, 4, 2, 1, 0]]
    assert b.sources.tolist() == [2, NO_SOURCE]
    assert [g.document_id for g in record_graphs(*tables()[:2])] == ["a", "b", "quiet"]


@pytest.mark.parametrize("seed", range(3))
def test_row_order_does_not_matter(seed):
    for one, other in zip(training_graphs(*tables()), training_graphs(*tables(seed)), strict=True):
        for name in vars(one):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def edges_of(graph):
    return sorted(zip(*(end.tolist() for end in graph.edges()), strict=True))


def test_messages_reach_neighbours_by_direction_with_self_loops():
    _, b = training_graphs(*tables())
    itself, used = [(i, i) for i in range(5)], [(0, 3), (2, 4), (3, 4)]
    back = [(target, source) for source, target in used]
    assert edges_of(b.as_dgl("to_response")) == sorted([*itself, *used])
    assert edges_of(b.as_dgl("to_retrieved")) == sorted([*itself, *back])
    assert edges_of(b.as_dgl("both")) == sorted([*itself, *used, *back])
    assert b.as_dgl("both").ndata["feat"].tolist() == b.features.tolist()


def test_batched_graphs_number_nodes_consecutively():
    a, b = training_graphs(*tables())
    batch = side_by_side([a, b], "both")
    shifted = [(source + 2, target + 2) for source, target in edges_of(b.as_dgl("both"))]
    assert edges_of(batch.graph) == edges_of(a.as_dgl("both")) + shifted
    assert batch.features.tolist() == [*a.features.tolist(), *b.features.tolist()]
    assert batch.queries.tolist() == [*a.queries.tolist(), *b.queries.tolist()]
    assert batch.ranked_shapes == ((1, 2), (2, 5))
    scores = np.arange(3 * 7).reshape(3, 7)
    expected = [0, 1, *(7 + 2 + b.rankings[0]), *(14 + 2 + b.rankings[1])]
    assert scores.ravel()[batch.ranked.numpy()].tolist() == expected


def test_no_rows_give_no_graphs():
    assert training_graphs(*(table.slice(0, 0) for table in tables())) == []


def test_sliced_fixed_length_vectors_are_read_correctly():
    nodes, edges, *_ = tables()
    vectors = pc.cast(nodes["embedding"], pa.list_(pa.float32(), 2))
    fixed = nodes.set_column(nodes.column_names.index("embedding"), "embedding", vectors)
    for one, other in zip(record_graphs(nodes, edges), record_graphs(fixed, edges), strict=True):
        np.testing.assert_array_equal(one.features, other.features)


def test_inconsistent_tables_are_reported():
    stale = {**EDGES, "source_id": ["gone", "c3", "r1", "c4"]}
    with pytest.raises(ValueError, match=r"record_edges of 'b': 1 of 3 ids .* \(first: gone\)"):
        training_graphs(*tables(edges=stale))
    short = RANKED | {("b", "q2"): ["r1", "r2", "c3", "c2"]}
    with pytest.raises(ValueError, match=r"'b': 1 of 2 questions .* 5 nodes once \(first: q2, 4 "):
        training_graphs(*tables(rankings=ranking_rows(short)))
    unranked = {key: nodes for key, nodes in RANKED.items() if key[0] != "a"}
    with pytest.raises(ValueError, match=r"'a': 1 of 1 questions .* \(first: q3, 0 nodes\)"):
        training_graphs(*tables(rankings=ranking_rows(unranked)))
    unknown = {**QUERIES, "query_id": ["q1", "other", "failed", "q3"]}
    with pytest.raises(ValueError, match=r"1 of 2 ids are not in gor.simulated_queries .*: q2\)"):
        training_graphs(*tables(queries=unknown))
    mixed = {**NODES, "embedding": [[0.0, 1.0]] * 7 + [[0.0]]}
    with pytest.raises(ValueError, match=r"'a' have lengths \[1, 2\]"):
        training_graphs(*tables(nodes=mixed))
