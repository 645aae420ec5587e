"""Answers as JSON: by a language model, with the official client, or refused."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import httpx
import openai  # noqa: TID253
import pytest
from pydantic import BaseModel
from starlette.testclient import TestClient

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.serve.app import new_app
from gsum_assets.serve.service import Service
from gsum_resources.models.by_work import Models
from gsum_resources.protocols.models import Completion, Reply, Request
from gsum_resources.settings.schema import Settings
from tests.conftest import House
from tests.models import FirstWords
from tests.serve.conftest import client_of, served
from tests.serve.test_openai import MODEL, QUESTION


class Meeting(BaseModel):
    """What a client wants to know."""

    who: str
    kind: Literal["boat", "other"]
    year: int | None
    parts: list[str] = []


GIVEN = {"who": "the boat [1]", "kind": "boat", "year": None, "parts": ["ash", "{oak}"]}
WANTED = json.dumps(GIVEN)


class Filling(FirstWords):
    """A model that replies to requests for JSON with texts in turn, the last again and again."""

    def __init__(self, replies: Sequence[str]) -> None:
        super().__init__(name=f"filling-{replies}")
        self._left = list(replies)

    def _one(self, request: Request) -> Reply:
        if "JSON schema" not in request.instructions:
            return super()._one(request)
        text = self._left.pop(0) if len(self._left) > 1 else self._left[0]
        return Completion(text, self.identity, 7, 3, 0.0)


@pytest.fixture
def filling(indexed: House, request: pytest.FixtureRequest) -> Iterator[tuple[Any, Filling]]:
    model = Filling(request.param)
    overrides = {"embedding_model": indexed.embedder, "language_model": model}
    models = Models(Settings(), indexed.store, TABLES["llm_calls"], overrides)
    with served(new_app(Service.over(indexed.home, models))) as address:
        yield openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0), model


@pytest.mark.parametrize(
    "filling",
    [
        [WANTED],
        [f"Here it is:\n```json\n{WANTED}\n```\nAsk me for more."],
        ['{"who": "the boat"}', WANTED],
        ["The boat.", WANTED],
    ],
    indirect=True,
)
def test_a_model_writes_what_a_schema_requests(filling: tuple[Any, Filling]) -> None:
    client, model = filling
    asked = {"model": MODEL, "messages": [QUESTION]}
    reply = client.chat.completions.parse(**asked, response_format=Meeting)
    assert reply.choices[0].message.parsed == Meeting(**GIVEN)
    assert reply.model_extra["citations"]
    request = model.requests[-1]
    assert '"year"' in request.instructions
    assert request.passages
    assert "Answer: " in request.render()
    assert reply.usage.completion_tokens > 3  # that of the answer and that of its form
    with client.chat.completions.stream(**asked, response_format=Meeting) as stream:
        assert stream.get_final_completion().choices[0].message.parsed == Meeting(**GIVEN)
    response = client.responses.parse(
        model=MODEL, input=str(QUESTION["content"]), text_format=Meeting
    )
    assert response.output_parsed == Meeting(**GIVEN)
    body = {**asked, "format": Meeting.model_json_schema(), "stream": False}
    reply = httpx.post(str(client.base_url.join("/api/chat")), json=body)
    assert Meeting.model_validate_json(reply.json()["message"]["content"]) == Meeting(**GIVEN)
    assert (
        "warning"
        not in client.responses.with_raw_response.parse(
            model=MODEL, input="What met the boat?", text_format=Meeting
        ).headers
    )


@pytest.mark.parametrize(
    "filling", [["The boat."], ['{"who": 3}'], ['{"who": "it", "kind"'], ["{}"]], indirect=True
)
def test_json_of_another_form_is_an_error(filling: tuple[Any, Filling]) -> None:
    client, _ = filling
    asked = {"model": MODEL, "messages": [QUESTION], "response_format": Meeting}
    with pytest.raises(openai.BadRequestError, match=r"no JSON of the requested form: .*ask again"):
        client.chat.completions.parse(**asked)


SCHEMA = {"type": "object", "properties": {"who": {"type": "string"}}}


def form(schema: object) -> dict:
    return {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}


@pytest.mark.parametrize(
    ("wanted", "error"),
    [
        ({"type": "json_object"}, "'json_object'} has no schema; send type 'json_schema' with one"),
        ({"type": "json_schema"}, "'json_schema'} has no schema"),
        (form([]), "has no schema"),
        (form({"type": "thing"}), "no JSON schema: 'thing' is not valid"),
        (form({"$ref": "http://127.0.0.1:1/x"}), "nothing in its $defs is named 'http"),
        (form({"$ref": "#"}), "is named '#'"),
        (form({"properties": {"x": {"pattern": "(a+)+$"}}}), "patterns are not supported"),
        ("json", "should be an object"),
        (3, "should be an object"),
    ],
)
def test_what_is_no_form_is_refused(client: TestClient, wanted: object, error: str) -> None:
    body = {"model": MODEL, "messages": [QUESTION], "response_format": wanted}
    reply = client.post("/v1/chat/completions", json=body)
    assert reply.status_code == 400, reply.text
    message = reply.json()["error"]["message"]
    assert message.startswith("response_format: ")
    assert error in message


def test_without_a_language_model_json_is_refused(indexed: House) -> None:
    quoting = FirstWords(name="extractive-9")
    overrides = {"embedding_model": indexed.embedder, "language_model": quoting}
    models = Models(Settings(), indexed.store, TABLES["llm_calls"], overrides)
    bodies = {
        "/v1/chat/completions": {"messages": [QUESTION], "response_format": form(SCHEMA)},
        "/v1/responses": {
            "input": "What met the boat?",
            "text": {"format": {"type": "json_schema", "name": "x", "schema": SCHEMA}},
        },
        "/api/chat": {"messages": [QUESTION], "format": SCHEMA},
    }
    with client_of(new_app(Service.over(indexed.home, models))) as client:
        for path, body in bodies.items():
            for stream in (False, True):
                reply = client.post(path, json={"model": MODEL, "stream": stream, **body})
                assert reply.status_code == 400
                error = reply.json()["error"]
                message = error if path == "/api/chat" else error["message"]
                assert message.startswith("response_format, text.format, format: JSON needs")
                assert "set one in [llm]" in message
        text = {"response_format": {"type": "text"}, "model": MODEL, "messages": [QUESTION]}
        assert client.post("/v1/chat/completions", json=text).status_code == 200
    assert not any("JSON schema" in request.instructions for request in quoting.requests)
