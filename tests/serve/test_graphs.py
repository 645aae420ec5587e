"""Graphs from tables: nodes, edges, groups, neighbours, ways; checked by hand."""

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.serve.graph_kinds import entity_graph, jerr_graph, passage_graph, record_graph
from gsum_assets.serve.graphs import Graph, drawn, holding, named_in, neighbours, search, way
from gsum_resources.store.content_hash import numbers_of


def chain(n: int) -> Graph:
    """Return a graph of nodes '0' to 'n-1', each joined to the next."""
    names = [str(i) for i in range(n)]
    ends = np.stack([np.arange(n - 1), np.arange(1, n)], 1)
    groups = np.zeros(n, np.int64)
    return Graph(names, names, ["x"] * n, groups, ["g"], ends, np.ones(n - 1), ["before"] * (n - 1))


def rows(name: str, *rows: dict) -> pa.Table:
    """Return rows of a table; columns that are not given are null."""
    return pa.Table.from_pylist(
        list(rows), pa.schema([f.with_nullable(True) for f in TABLES[name].schema])
    )


def test_records() -> None:
    nodes = rows(
        "gor.record_nodes",
        {"node_id": "c1", "kind": "chunk", "degree": 1, "text": "The  boat\nleft."},
        {"node_id": "c2", "kind": "chunk", "degree": 0, "text": "x" * 200},
        {"node_id": "r1", "kind": "response", "degree": 1, "text": "It left."},
    )
    edges = rows(
        "gor.record_edges",
        {"source_id": "c1", "target_id": "r1", "rank": 2},
        {"source_id": "elsewhere", "target_id": "r1", "rank": 1},
    )
    graph = record_graph(nodes, edges)
    assert graph.ends.tolist() == [[0, 2]]
    assert graph.weights.tolist() == [0.5]
    assert graph.kinds == ["passage", "passage", "response"]
    assert [graph.group_labels[g] for g in graph.groups] == [
        "passage used by responses",
        "passage not used",
        "response",
    ]
    assert graph.labels[0] == "The boat left."
    assert len(graph.labels[1]) == 90
    assert graph.labels[1].endswith("x…")


def test_passages_are_joined_once_with_the_weight_of_both_directions() -> None:
    ids = pa.array(["c1", "c2", "c3"])
    number = dict(zip(ids.to_pylist(), numbers_of(ids).tolist(), strict=True))
    chunks = rows(
        "chunks",
        *(
            {"chunk_id": c, "document_id": d, "text": c}
            for c, d in (("c1", "a"), ("c2", "a"), ("c3", "b"))
        ),
    )
    edges = rows(
        "lightpal.passage_edges",
        {"source_id": "c1", "targets": [number["c2"], number["c3"]], "weights": [2.0, 0.5]},
        {"source_id": "c2", "targets": [number["c1"], 12345], "weights": [1.0, 9.0]},
        {"source_id": "deleted", "targets": [number["c1"]], "weights": [9.0]},
    )
    graph = passage_graph(chunks, edges, {"a": "First", "b": "Second"})
    assert graph.ends.tolist() == [[0, 1], [0, 2]]
    assert graph.weights.tolist() == [3.0, 0.5]
    assert list(graph.relations) == ["similar, in one document", "similar, in another document"]
    assert graph.group_labels == ["First", "Second"]
    assert graph.groups.tolist() == [0, 0, 1]


def test_entities_have_the_colour_of_their_community() -> None:
    entities = rows(
        "graphrag.entities",
        {"entity_id": "e1", "name": "Ada", "type": "person", "chunk_ids": ["c1"]},
        {"entity_id": "e2", "name": "Boat", "type": "", "chunk_ids": ["c1", "c2"]},
        {"entity_id": "e3", "name": "Cy", "type": "person", "chunk_ids": []},
    )
    relationships = rows(
        "graphrag.relationships",
        {"source_id": "e1", "target_id": "e2", "description": "Ada steers", "weight": 2.0},
    )
    communities = rows(
        "graphrag.communities",
        {"level": 0, "title": "Ada, Boat", "entity_ids": ["e1", "e2"]},
        {"level": 1, "title": "Ada", "entity_ids": ["e1"]},
    )
    graph = entity_graph(entities, relationships, communities)
    assert [graph.group_labels[g] for g in graph.groups] == ["Ada, Boat"] * 2 + ["in no community"]
    assert graph.kinds == ["person", "other", "person"]
    assert graph.relations == ["Ada steers"]
    assert holding(graph, "c2") == [1]
    assert holding(graph, "e1") == [0]
    assert holding(graph, "unknown") == []
    assert named_in(graph, "Who steers ADA's boat?") == [1, 0]
    assert named_in(graph, "Which boats?") == []
    longer = jerr_graph(
        rows("jerr.nodes", {"node_id": "n", "name": "the motor order", "document_ids": ["a"]}),
        rows("jerr.edges"),
        {},
    )
    assert named_in(longer, "Why a motor?") == [0]
    assert named_in(longer, "Why the boat?") == []


def test_jerr_nodes_are_of_a_document_or_of_several() -> None:
    nodes = rows(
        "jerr.nodes",
        {"node_id": "n1", "name": "boat", "document_ids": ["a"], "chunk_ids": ["l1"]},
        {"node_id": "n2", "name": "lake", "document_ids": ["a", "b"], "chunk_ids": ["l1", "l2"]},
        {"node_id": "n3", "name": "hatch", "document_ids": ["b"], "chunk_ids": ["l2"]},
    )
    edges = rows(
        "jerr.edges", {"source_id": "n1", "target_id": "n2", "relation": "crosses", "weight": 1}
    )
    graph = jerr_graph(nodes, edges, {"a": "First"})
    assert graph.kinds == ["first concept", "last concept", "unconnected concept"]
    assert [graph.group_labels[g] for g in graph.groups] == ["First", "in several documents", "b"]


def test_way_is_a_shortest_one_in_both_directions() -> None:
    graph = chain(6)
    assert way(graph, [5, 4], [1]) == [(4, ""), (3, "before"), (2, "before"), (1, "before")]
    assert way(graph, [2], [2]) == [(2, "")]
    assert way(graph, [], [2]) == []
    assert way(chain(3).part(np.array([0, 2])), [0], [1]) == []


def test_neighbours_begin_with_the_node() -> None:
    near = neighbours(chain(9), "4", depth=2, most=100)
    assert near.ids[0] == "4"
    assert set(near.ids) == {"2", "3", "4", "5", "6"}
    assert neighbours(chain(9), "4", depth=2, most=3).ids == ["4", "3", "5"]


def test_search_needs_every_word() -> None:
    graph = chain(12)
    assert [graph.ids[i] for i in search(graph, "1", 10)] == ["1", "10", "11"]
    assert search(graph, "1 2", 10) == []
    assert search(graph, "  ", 10) == []


def test_drawn_keeps_the_most_connected_nodes() -> None:
    graph = chain(5)
    shown = drawn(graph, 3)
    assert [node["id"] for node in shown["nodes"]] == ["1", "2", "3"]
    assert shown["edges"] == [[0, 1, 1.0, 0], [1, 2, 1.0, 0]]
    assert (shown["total_nodes"], shown["total_edges"]) == (5, 4)
    assert shown["relations"] == ["before"]
    assert [entry["count"] for entry in shown["legend"]] == [3]


@pytest.mark.parametrize("n", [1, 2, 50, 1_500])
def test_positions_are_finite_distinct_and_repeatable(n: int) -> None:
    graph = chain(n)
    assert np.isfinite(graph.positions).all()
    assert len(np.unique(np.round(graph.positions, 6), axis=0)) == n
    assert np.array_equal(graph.positions, chain(n).positions)


def test_neighbours_are_nearer_than_others() -> None:
    """Of a chain of 400 nodes: the mean distance of neighbours, and of all pairs."""
    at = chain(400).positions
    apart = np.linalg.norm(at[:, None] - at[None], axis=2)
    assert np.linalg.norm(np.diff(at, axis=0), axis=1).mean() < 0.2 * apart.mean()


def test_graph_without_nodes() -> None:
    graph = passage_graph(rows("chunks"), rows("lightpal.passage_edges"), {})
    assert drawn(graph, 10)["nodes"] == []
    assert search(graph, "a", 10) == []


def test_many_groups_become_others() -> None:
    chunks = rows(
        "chunks",
        *({"chunk_id": f"c{i}", "document_id": f"d{i:02d}", "text": ""} for i in range(30)),
    )
    graph = passage_graph(chunks, rows("lightpal.passage_edges"), {})
    legend = drawn(graph, 100)["legend"]
    assert legend[-1]["label"] == "others"
    assert len({entry["color"] for entry in legend}) == len(legend)
