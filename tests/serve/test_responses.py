"""`/v1/responses` and `/v1/embeddings` with the official client of OpenAI."""

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import openai  # noqa: TID253
import pytest
from starlette.testclient import TestClient

from tests.conftest import CORPUS, House
from tests.serve.test_openai import MODEL, QUESTION

ASKED = str(QUESTION["content"])


@pytest.fixture(scope="module")
def official(address: str) -> Iterator[Any]:
    with openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as client:
        yield client


@pytest.mark.parametrize(
    "given",
    [
        ASKED,
        [QUESTION],
        [{**QUESTION, "type": "message", "content": [{"type": "input_text", "text": ASKED}]}],
        [
            {"role": "developer", "content": "Be brief."},
            QUESTION,
            {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "1", "output": "done"},
        ],
    ],
)
def test_an_input_is_answered_as_a_chat(official: Any, given: object) -> None:
    chat = official.chat.completions.create(model=MODEL, messages=[QUESTION])
    reply = official.responses.create(model=MODEL, input=given, instructions="Be brief.")
    assert reply.output_text == chat.choices[0].message.content
    assert reply.status == "completed"
    assert reply.model_extra["citations"] == chat.model_extra["citations"]
    usage = (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.total_tokens)
    assert usage == tuple(
        getattr(chat.usage, name) for name in ("prompt_tokens", "completion_tokens", "total_tokens")
    )


def test_the_output_of_a_response_is_the_conversation_of_the_next(
    official: Any, indexed: House
) -> None:
    asked = {"role": "user", "content": "What met the orchard of ash?"}
    first = official.responses.create(model=MODEL, input=[asked])
    follow_up = {"role": "user", "content": "and what about the birch?"}
    said = [item.model_dump() for item in first.output]
    official.responses.create(model=MODEL, input=[asked, *said, follow_up])
    (rewriting,) = [r for r in indexed.model.requests if r.question == follow_up["content"]]
    assert rewriting.passages[0].startswith(f"Question: {asked['content']}\nAnswer: ")
    assert "Sources:" not in rewriting.passages[0]


@pytest.mark.parametrize(("limit", "status"), [(None, "completed"), (4, "incomplete")])
def test_the_events_of_a_stream_are_those_of_the_protocol(
    official: Any, limit: int | None, status: str
) -> None:
    asked = {"model": MODEL, "input": ASKED, "max_output_tokens": limit}
    whole = official.responses.create(**asked)
    events = list(official.responses.create(**asked, stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    kinds = [event.type.removeprefix("response.") for event in events]
    begun = ["created", "in_progress", "output_item.added", "content_part.added"]
    ended = ["output_text.done", "content_part.done", "output_item.done", status]
    assert kinds[:4] + kinds[-4:] == begun + ended
    assert set(kinds[4:-4]) == {"output_text.delta"}
    deltas = "".join(event.delta for event in events if event.type.endswith("delta"))
    last = events[-1].response
    assert deltas == last.output_text == whole.output_text == events[-4].text
    assert last.status == whole.status == status
    assert (last.incomplete_details is None) == (limit is None)
    with official.responses.stream(**asked) as stream:  # it builds a response from the events
        assert [event.type for event in stream if event.type == events[-1].type]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"previous_response_id": "resp_1"}, "no response 'resp_1'.* send the earlier messages"),
        ({"input": []}, "input"),
        ({"input": [{"type": "function_call_output", "output": "done"}]}, "input"),
        ({"input": 3}, "input"),
        ({"max_output_tokens": "few"}, "max_output_tokens: "),
        (
            {"text": {"format": {"type": "json_object"}}},
            "^text.format: .*'json_object'.* has no schema",
        ),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_what_cannot_be_answered_is_refused(
    client: TestClient, given: dict, error: str, stream: bool
) -> None:
    body = {"model": MODEL, "input": ASKED, "stream": stream, **given}
    reply = client.post("/v1/responses", json=body)
    assert reply.status_code == 400
    assert re.search(error, reply.json()["error"]["message"])


def test_an_error_of_a_stream_is_its_last_event(official: Any) -> None:
    events = list(official.responses.create(model=MODEL, input=" ", stream=True))
    assert events[-1].type == "response.failed"
    assert "question is empty" in events[-1].response.error.message


def test_unused_settings_are_named(official: Any) -> None:
    raw = official.responses.with_raw_response.create(
        model=MODEL, input=ASKED, temperature=0.3, store=False, text={"format": {"type": "text"}}
    )
    assert raw.headers["warning"] == '299 gsum "not used: temperature"'


def test_the_description_names_fields_as_they_are_sent(client: TestClient) -> None:
    paths = client.get("/api/openapi.json").json()["paths"]
    described = paths["/v1/responses"]["post"]["requestBody"]["content"]["application/json"]
    names = {"model", "input", "text", "max_output_tokens", "instructions"}
    assert names <= set(described["schema"]["properties"])
    assert not {"form", "messages", "stops", "most_tokens"} & set(described["schema"]["properties"])


TEXTS = ["The boat met the lamp.", "Tide tables.", "The boat met the lamp."]


def test_vectors_are_those_of_the_embedder(official: Any, indexed: House) -> None:
    expected = indexed.embedder.embed(TEXTS)
    decoded = official.embeddings.create(model=CORPUS, input=TEXTS)  # the client asks for base64
    plain = official.embeddings.create(model=MODEL, input=TEXTS, encoding_format="float")
    for reply in (decoded, plain):
        assert [item.index for item in reply.data] == [0, 1, 2]
        vectors = np.array([item.embedding for item in reply.data], np.float32)
        np.testing.assert_array_equal(vectors, expected)
        assert reply.usage.total_tokens == 15
    (one,) = official.embeddings.create(
        model=CORPUS, input=TEXTS[1], dimensions=indexed.embedder.dimension
    ).data
    assert one.embedding == decoded.data[1].embedding


@pytest.mark.parametrize(
    ("given", "status", "error"),
    [
        ({"input": [3, 4]}, 400, "input: numbers of tokens .*send texts"),
        ({"input": [[3, 4], [5]]}, 400, "input: numbers of tokens .*send texts"),
        ({"input": []}, 400, "input: "),
        ({"input": [None]}, 400, "input.0: "),
        ({"dimensions": 3}, 400, "dimensions: 3 is not 8, .*leave it out"),
        ({"encoding_format": "int8"}, 400, "encoding_format: "),
        ({"model": "text-embedding-3-small"}, 404, "no corpus 'text-embedding-3-small'; there are"),
    ],
)
def test_what_cannot_be_embedded_is_refused(
    client: TestClient, given: dict, status: int, error: str
) -> None:
    reply = client.post("/v1/embeddings", json={"model": CORPUS, "input": TEXTS, **given})
    assert reply.status_code == status
    assert re.search(error, reply.json()["error"]["message"])


def test_half_a_character_is_no_text(client: TestClient) -> None:
    body = json.dumps({"model": CORPUS, "input": "\ud800"}).encode()
    reply = client.post("/v1/embeddings", content=body)
    assert reply.status_code == 400
    assert "Invalid JSON" in reply.json()["error"]["message"]


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize("path", ["/v1/completions", "/v1/chat", "/v1", "/v1/responses/resp_1"])
def test_an_unknown_path_is_an_error_of_the_protocol(
    client: TestClient, method: str, path: str
) -> None:
    reply = client.request(method, path)
    assert reply.status_code == 404
    error = reply.json()["error"]
    assert (error["type"], error["code"]) == ("invalid_request_error", "unknown_path")
    assert "no such address" in error["message"]


def test_the_official_client_says_what_an_unknown_path_is(official: Any) -> None:
    with pytest.raises(openai.NotFoundError, match="no such address"):
        official.completions.create(model=MODEL, prompt="x")
    with pytest.raises(openai.NotFoundError, match="no such address"):
        official.responses.retrieve("resp_1")
