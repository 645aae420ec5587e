"""Questions over HTTP, in process."""

import json

import pytest
from starlette.testclient import TestClient

from gsum_assets.answering.ask import ask as direct_answer
from gsum_assets.answering.renderings import answer_object
from gsum_assets.answering.workspace import open_workspace
from tests.conftest import CORPUS, House
from tests.serve.conftest import DOCUMENTS, SECRETS

QUESTION = "What met the boat?"


def ask(client: TestClient, **body: object) -> dict:
    reply = client.post("/api/ask", json={"corpus": CORPUS, "question": QUESTION, **body})
    assert reply.status_code == 200, reply.text
    return reply.json()


def events(text: str) -> list[tuple[str, dict]]:
    first, *blocks = [block.split("\n") for block in text.strip().split("\n\n")]
    assert first[0].startswith(": ")  # so that a proxy has something from the start
    return [
        (name.removeprefix("event: "), json.loads(data.removeprefix("data: ")))
        for name, data in blocks
    ]


def test_an_answer_has_sources_with_their_characters(client: TestClient, indexed: House) -> None:
    answer = ask(client, method="bm25")
    assert (answer["corpus"], answer["method"], answer["question"]) == (CORPUS, "bm25", QUESTION)
    texts = dict(
        zip(
            *(indexed.table("documents")[n].to_pylist() for n in ("document_id", "text")),
            strict=True,
        )
    )
    assert answer["sources"]
    for number, source in enumerate(answer["sources"], 1):
        assert source["number"] == number
        assert source["document_id"] in DOCUMENTS
        whole = texts[source["document_id"]]
        assert whole[source["start"] : source["end"]] == source["text"]
        for start, end in source["marked"]:
            assert 0 <= start < end <= len(source["text"])
    sentences = [s for line in answer["lines"] for s in line["sentences"]]
    assert sentences
    assert all(1 <= n <= len(answer["sources"]) for s in sentences for n in s["numbers"])
    assert [row["rank"] for row in answer["passages"]] == [*range(1, len(answer["passages"]) + 1)]


def test_documents_are_counted(client: TestClient) -> None:
    answer = ask(client, question="Which documents mention the boat?")
    n = len(DOCUMENTS)
    assert answer["text"].startswith(f"{n} of {n} documents mention “boat”.")
    assert (answer["method"], answer["model"], answer["passages"]) == ("sql", None, [])
    assert {source["document_id"] for source in answer["sources"]} == set(DOCUMENTS)
    for source in answer["sources"]:
        ((start, end),) = source["marked"]
        assert "boat" in source["text"][start:end]
        assert source["end"] - source["start"] == len(source["text"])


@pytest.mark.parametrize("method", ["bm25", "hybrid"])
def test_an_answer_is_that_of_a_process_of_its_own(
    client: TestClient, indexed: House, method: str
) -> None:
    workspace = open_workspace(indexed.home, indexed.pipeline().workspace.models, quick=True)
    for explain in (False, True):
        found = direct_answer(workspace, CORPUS, QUESTION, method, explain=explain)
        alone = json.loads(json.dumps(answer_object(found)))
        served = ask(client, method=method, explain=explain)
        assert served.pop("usage").keys() == alone.pop("usage").keys()
        assert served == alone


def test_a_streamed_answer_is_the_same(client: TestClient) -> None:
    whole = ask(client, method="bm25")
    reply = client.post(
        "/api/ask", json={"corpus": CORPUS, "question": QUESTION, "method": "bm25", "stream": True}
    )
    assert reply.headers["content-type"].startswith("text/event-stream")
    ((name, answer),) = events(reply.text)
    assert name == "answer"
    assert answer["text"] == whole["text"]
    assert answer["sources"] == whole["sources"]


def test_an_error_of_a_streamed_answer_is_an_event(client: TestClient) -> None:
    reply = client.post(
        "/api/ask", json={"corpus": CORPUS, "question": QUESTION, "method": "x", "stream": True}
    )
    ((name, data),) = events(reply.text)
    assert name == "error"
    assert "unknown method 'x'" in data["error"]["message"]


def test_earlier_questions_complete_a_question(client: TestClient) -> None:
    history = [{"question": "What met the lamp of cedar?", "answer": "The boat."}]
    answer = ask(client, question="and what about birch?", history=history, method="bm25")
    assert "lamp" in answer["understood"]


def test_a_document_and_a_condition_restrict_a_question(client: TestClient) -> None:
    one = ask(client, document="birch", method="bm25")
    assert {row["document_id"] for row in one["passages"]} == {"birch"}
    some = ask(client, where="document_id <> 'birch'", method="bm25")
    assert "birch" not in {row["document_id"] for row in some["passages"]}


def test_several_corpora_are_asked_together(client: TestClient) -> None:
    answer = ask(client, corpus=[CORPUS, SECRETS], question="What met the vault?", method="bm25")
    assert SECRETS in {source["corpus"] for source in answer["sources"]}
    assert all(source["start"] is not None for source in answer["sources"])


def test_passages_are_found_without_an_answer(client: TestClient) -> None:
    body = {"corpus": CORPUS, "query": "cedar", "method": "bm25", "k": 3}
    rows = client.post("/api/search", json=body).json()["passages"]
    assert [row["rank"] for row in rows] == [1, 2, 3]
    assert rows[0]["document_id"] == "cedar"
    assert all(row["end"] - row["start"] == len(row["text"]) for row in rows)


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({}, 400, "corpus: Field required"),
        ({"corpus": CORPUS, "question": " "}, 400, "the question is empty"),
        ({"corpus": [], "question": "Who?"}, 400, "corpus"),
        ({"corpus": "nowhere", "question": "Who?"}, 404, "there is no corpus 'nowhere'"),
        ({"corpus": "../" + CORPUS, "question": "Who?"}, 404, "there is no corpus"),
        ({"corpus": CORPUS, "question": "Who?", "method": "gor"}, 400, "gsum run"),
        ({"corpus": CORPUS, "question": "Who?", "document": "oak"}, 400, "no document 'oak'"),
        ({"corpus": CORPUS, "question": "Who?", "where": "nonsense = 1"}, 400, "nonsense"),
        ({"corpus": CORPUS, "question": "Who?", "colour": 1}, 400, "colour: Extra inputs"),
        ({"corpus": CORPUS, "question": "x" * 30_000}, 400, "question"),
    ],
)
def test_a_wrong_request_is_told_how_to_mend_it(
    client: TestClient, body: dict, status: int, message: str
) -> None:
    reply = client.post("/api/ask", json=body)
    assert reply.status_code == status
    assert message in reply.json()["error"]["message"]


@pytest.mark.parametrize("body", ["", "{", "[" * 100_000, "null", '"text"', b"\xff"])
def test_a_body_that_is_no_object_is_refused(client: TestClient, body: str | bytes) -> None:
    reply = client.post("/api/ask", content=body)
    assert reply.status_code == 400
    assert reply.json()["error"]["message"]


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize("path", ["/v1/completions", "/api/nothing", "/nothing"])
def test_an_unknown_address_is_not_found(client: TestClient, method: str, path: str) -> None:
    reply = client.request(method, path)
    assert (reply.status_code, reply.json()["error"]["code"]) == (404, "unknown_path")


def test_the_state_of_corpora_is_listed(client: TestClient) -> None:
    corpora = client.get("/api/corpora").json()["corpora"]
    state = {c["corpus"]: c for c in corpora}[CORPUS]
    assert (state["n_documents"], state["state"], state["failed"]) == (3, "current", [])
    assert {"bm25", "hybrid"} <= set(state["methods"])
    assert state["default_method"] == "hybrid"
    assert state["indexed_at"] > "2020"


def test_every_route_is_described(client: TestClient) -> None:
    described = client.get("/api/openapi.json").json()
    replies = described["paths"]["/api/ask"]["post"]["responses"]
    answer = replies["200"]["content"]["application/json"]["schema"]
    sources = described["components"]["schemas"]["NumberedSource"]
    given = ask(client)
    assert given.keys() == answer["properties"].keys()
    assert given["sources"][0].keys() == sources["properties"].keys()
    assert "/api/graph/nodes" in described["paths"]
    for path, operations in described["paths"].items():
        for method in operations:
            assert client.request(method, path).status_code in (200, 400), path
