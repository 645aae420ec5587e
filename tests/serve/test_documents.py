"""Documents and passages over HTTP."""

import pytest
from starlette.testclient import TestClient

from tests.conftest import CORPUS
from tests.serve.conftest import DOCUMENTS


def get(client: TestClient, path: str, **parameters: object) -> dict:
    reply = client.get(path, params={"corpus": CORPUS, **parameters})
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_documents_are_listed_found_and_paged(client: TestClient) -> None:
    whole = get(client, "/api/documents")
    assert whole["total"] == len(DOCUMENTS)
    assert [row["document_id"] for row in whole["documents"]] == sorted(DOCUMENTS)
    assert get(client, "/api/documents", q="BIR")["documents"] == whole["documents"][1:2]
    page = get(client, "/api/documents", offset=1, limit=1)
    assert (page["total"], page["documents"]) == (3, whole["documents"][1:2])
    assert get(client, "/api/documents", q="(.*")["total"] == 0  # words, no pattern


def test_a_document_has_its_text_and_passages(client: TestClient) -> None:
    document = get(client, "/api/document", id="cedar")
    positions = [chunk["position"] for chunk in document["chunks"]]
    assert positions == list(range(len(positions)))
    assert document["chunks"][-1]["end"] <= len(document["text"])


def test_a_passage_has_those_around_it(client: TestClient) -> None:
    document = get(client, "/api/document", id="cedar")
    second = document["chunks"][1]
    found = get(client, "/api/passage", id=second["chunk_id"], around=1)
    assert [row["position"] for row in found["passages"]] == [0, 1, 2]
    for row in found["passages"]:
        assert row["text"] == document["text"][row["start"] : row["end"]]
    alone = get(client, "/api/passage", id=second["chunk_id"], around=0)
    assert [row["chunk_id"] for row in alone["passages"]] == [second["chunk_id"]]
    assert found["n_passages"] == len(document["chunks"])


@pytest.mark.parametrize(
    ("path", "parameters", "status"),
    [
        ("/api/documents", {}, 400),
        ("/api/documents", {"corpus": CORPUS, "limit": "x"}, 400),
        ("/api/documents", {"corpus": CORPUS, "limit": "1001"}, 400),
        ("/api/documents", {"corpus": CORPUS, "offset": "-1"}, 400),
        ("/api/documents", {"corpus": ".."}, 404),
        ("/api/document", {"corpus": CORPUS}, 400),
        ("/api/document", {"corpus": CORPUS, "id": "../../gsum.toml"}, 404),
        ("/api/document", {"corpus": CORPUS, "id": "ash.txt"}, 404),
        ("/api/passage", {"corpus": CORPUS, "id": "c'; drop table chunks"}, 404),
        ("/api/passage", {"corpus": CORPUS, "id": "x", "around": "21"}, 400),
    ],
)
def test_what_does_not_exist_is_not_found(
    client: TestClient, path: str, parameters: dict, status: int
) -> None:
    reply = client.get(path, params=parameters)
    assert reply.status_code == status
    assert reply.json()["error"]["message"]
