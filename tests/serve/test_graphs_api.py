"""The routes of graphs over a corpus with GraphRAG's tables."""

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.serve.app import new_app
from gsum_resources.store.parquet_store import Partition, Provenance
from tests.conftest import CORPUS, House
from tests.pipeline.homes import copy_of
from tests.serve.conftest import client_of, filled, service_of

ENTITIES = [("e1", "Ada", ["e2"]), ("e2", "Boat", ["e1", "e3"]), ("e3", "Cy", ["e2"])]


@pytest.fixture(scope="module")
def chunk_id(indexed: House) -> str:
    return indexed.table("chunks")["chunk_id"][0].as_py()


@pytest.fixture(scope="module")
def client(
    indexed: House, chunk_id: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TestClient]:
    with copy_of(indexed, tmp_path_factory.mktemp("graphs")) as house:
        entities = [
            {"entity_id": i, "name": n, "type": "person", "degree": len(of), "description": f"{n}."}
            | {"chunk_ids": [chunk_id] if i == "e3" else []}
            for i, n, of in ENTITIES
        ]
        pairs = [("e1", "e2"), ("e2", "e3")]
        write(house, "graphrag.entities", entities)
        write(
            house,
            "graphrag.relationships",
            [{"relationship_id": a + b, "source_id": a, "target_id": b, "weight": 1.0,
              "description": f"{a} knows {b}"} for a, b in pairs],
        )  # fmt: skip
        community = {"community_id": "c", "level": 0, "title": "All", "size": 3}
        community |= {"entity_ids": ["e1", "e2", "e3"], "is_reported": True}
        write(house, "graphrag.communities", [community])
        report = {"community_id": "c", "title": "The crew", "summary": "They sail."}
        write(house, "graphrag.community_reports", [report])
        with client_of(new_app(service_of(house))) as client:
            yield client


def write(house: House, name: str, rows: list[dict]) -> None:
    """Write rows of a table of the corpus."""
    house.store.write(TABLES[name], Partition(CORPUS), filled(name, rows), Provenance("", ""))


def get(client: TestClient, path: str, **query: Any) -> dict:
    """Return the reply of a route about the entities of the corpus."""
    reply = client.get(f"/api/{path}", params={"corpus": CORPUS, "graph": "entities", **query})
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_graphs_of_a_corpus_are_those_with_edges(client: TestClient) -> None:
    (graph,) = get(client, "graph")["graphs"]
    assert (graph["graph"], graph["n_nodes"], graph["has_documents"]) == ("entities", 3, False)


def test_nodes_and_edges(client: TestClient) -> None:
    shown = get(client, "graph/nodes")
    assert [node["label"] for node in shown["nodes"]] == ["Ada", "Boat", "Cy"]
    assert [edge[:2] for edge in shown["edges"]] == [[0, 1], [1, 2]]
    assert [entry["label"] for entry in shown["legend"]] == ["All"]


def test_row_of_an_entity_has_its_communities(client: TestClient) -> None:
    found = get(client, "graph/row", id="e2")
    assert (found["label"], found["degree"]) == ("Boat", 2)
    assert found["row"]["description"] == "Boat."
    assert found["row"]["communities"][0]["report"] == "The crew"
    assert found["row"]["communities"][0]["summary"] == "They sail."


def test_neighbours_and_search(client: TestClient) -> None:
    near = get(client, "graph/neighbours", id="e1")
    assert [node["id"] for node in near["nodes"]] == ["e1", "e2"]
    assert [node["id"] for node in get(client, "graph/search", q="bo")["nodes"]] == ["e2"]


def test_way_from_what_a_question_names_to_a_passage(client: TestClient, chunk_id: str) -> None:
    found = get(client, "why", to=chunk_id, question="What did Ada do?")
    assert found["from_question"]
    steps = [(step["id"], step["relation"]) for step in found["steps"]]
    assert steps == [
        ("e1", ""),
        ("e2", "e1 knows e2"),
        ("e3", "e2 knows e3"),
        (chunk_id, "mentioned in"),
    ]


def test_way_to_a_report_and_to_a_relationship(client: TestClient) -> None:
    for item, node, kind in (("c", "e1", "report"), ("e2e3", "e2", "relationship")):
        *_, before, last = get(client, "why", to=item, question="What did Ada do?")["steps"]
        assert (before["id"], last["kind"], last["id"]) == (node, kind, item)


def test_graph_of_a_method(client: TestClient, chunk_id: str) -> None:
    query = {"corpus": CORPUS, "method": "graphrag-local", "to": chunk_id, "question": "Cy?"}
    assert client.get("/api/why", params=query).json()["graph"] == "entities"
    query["method"] = "no such method"
    assert client.get("/api/why", params=query).status_code == 400


@pytest.mark.parametrize(
    ("path", "query", "code"),
    [
        ("graph/nodes", {"graph": "spiders"}, "unknown_graph"),
        ("graph/nodes", {"graph": "records"}, "no_graph"),
        ("graph/nodes", {"corpus": "elsewhere"}, "unknown_corpus"),
        ("graph/nodes", {"document": "ash"}, "no_documents"),
        ("graph/row", {"id": "../../etc/passwd"}, "unknown_node"),
        ("graph/neighbours", {"id": "e1", "depth": "99"}, "invalid_request"),
        ("graph/row", {}, "invalid_request"),
    ],
)
def test_errors_name_what_is_wrong(
    client: TestClient, path: str, query: dict[str, str], code: str
) -> None:
    asked = {"corpus": CORPUS, "graph": "entities", **query}
    error = client.get(f"/api/{path}", params=asked)
    assert error.json()["error"]["code"] == code
    assert 400 <= error.status_code < 500
