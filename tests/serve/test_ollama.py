"""Ollama's protocol; `ollama.json` has the bodies that its client for Python, 0.6.3, sent."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.serve.app import new_app
from gsum_assets.serve.http import pass_words_on
from gsum_assets.serve.service import Service
from gsum_resources.models.by_work import Models
from gsum_resources.protocols.models import ModelUnavailableError, OnReply, Reply, Request
from gsum_resources.settings.schema import Settings
from tests.conftest import CORPUS, House
from tests.models import FirstWords
from tests.serve.conftest import client_of
from tests.serve.test_openai import MODEL, QUESTION

SENT = json.loads((Path(__file__).parent / "ollama.json").read_text())
ASKED = {"model": MODEL, "messages": [QUESTION]}


def lines_of(client: TestClient, **body: Any) -> list[dict[str, Any]]:
    """Return the lines of a streamed reply, as a client reads them that knows many line ends."""
    reply = client.post("/api/chat", json={**ASKED, **body})
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in reply.text.splitlines()]


def text_in(lines: list[dict[str, Any]]) -> str:
    return "".join(line["message"]["content"] for line in lines)


def test_models_are_those_of_the_other_protocol(client: TestClient) -> None:
    models = client.get("/api/tags").json()["models"]
    names = [model["id"] for model in client.get("/v1/models").json()["data"]]
    assert [model["name"] for model in models] == [model["model"] for model in models] == names
    assert len({model["digest"] for model in models}) == len(models) > 2
    assert client.get("/api/version").json()["version"].count(".") == 2


@pytest.mark.parametrize("name", [name for name in SENT if name != "format"])
def test_what_the_client_sends_is_answered(client: TestClient, name: str) -> None:
    body = {**SENT[name], "model": MODEL}
    reply = client.post("/v1/chat/completions", json=ASKED).json()
    citations, usage = reply["citations"], reply["usage"]
    expected, reason = reply["choices"][0]["message"]["content"], "stop"
    if name == "stop":
        expected = expected.partition(" cedar")[0]
    if name == "num_predict":
        expected, reason = " ".join(expected.split()[:4]) + " ", "length"
    if name == "image alone":
        expected = "Pictures and files are not read here: ask about the documents in words."
        citations, usage = [], {"prompt_tokens": 0, "completion_tokens": 0}
    given = client.post("/api/chat", json={**body, "stream": False}).json()
    *pieces, last = lines_of(client, **{**body, "stream": True})
    assert text_in(pieces) == given["message"]["content"] == expected
    assert {(p["done"], p["message"]["role"]) for p in pieces} == {(False, "assistant")}
    assert last["message"] == {"role": "assistant", "content": ""}
    for end in (given, last):
        assert (end["model"], end["done"], end["done_reason"]) == (MODEL, True, reason)
        assert end["citations"] == citations
        assert end["prompt_eval_count"] == usage["prompt_tokens"]
        assert end["eval_count"] == usage["completion_tokens"]
        assert end["total_duration"] > 1_000  # nanoseconds


@pytest.mark.parametrize("more", [{}, {"stream": None}, {"options": None}, {"options": {}}])
def test_a_reply_is_streamed_unless_the_client_says_no(client: TestClient, more: dict) -> None:
    assert lines_of(client, **more)[-1]["done"]
    assert text_in(lines_of(client, model=f"{MODEL}:latest", **more)) == text_in(lines_of(client))


def test_what_is_not_used_is_named(client: TestClient) -> None:
    for stream in (False, True):
        body = {**ASKED, "stream": stream, "think": True, "keep_alive": "5m", "tools": [{}]}
        reply = client.post("/api/chat", json=body)
        assert reply.headers["warning"] == '299 gsum "not used: keep_alive, think, tools"'
    assert "warning" not in client.post("/api/chat", json=SENT["stop"] | {"model": MODEL}).headers


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ({"model": "nowhere"}, 404, "there is no corpus 'nowhere'; there are: "),
        ({"model": f"{CORPUS}/gor"}, 404, f"model '{CORPUS}/gor': "),
        ({"messages": []}, 400, "messages: "),
        ({"options": {"stop": [3]}}, 400, "options.stop: numbers of tokens"),
        ({"options": {"num_predict": "many"}}, 400, "options.num_predict: "),
        ({"format": "json"}, 400, "format: 'json' is no JSON schema; send one"),
        ({"format": {"type": "thing"}}, 400, "format: it is no JSON schema: 'thing'"),
    ],
)
def test_an_error_is_a_text(client: TestClient, body: dict, status: int, error: str) -> None:
    for stream in (False, True):
        reply = client.post("/api/chat", json={**ASKED, "stream": stream, **body})
        assert (reply.status_code, list(reply.json())) == (status, ["error"])
        assert reply.json()["error"].startswith(error)
    assert "no such address or method" in client.get("/api/chat").json()["error"]


class Slow(FirstWords):
    """A model that writes what ends a line for some clients, and thinks, then may fail."""

    def __init__(self, fails: bool) -> None:
        super().__init__(name=f"slow-{fails}")
        self._fails = fails

    def complete(self, requests: Sequence[Request], on_reply: OnReply | None = None) -> list[Reply]:
        pass_words_on("One\u2028two\u0085three\n")
        time.sleep(0.2)
        if self._fails:
            raise ModelUnavailableError("the server of models is down; start it")
        return super().complete(requests, on_reply)


@pytest.mark.parametrize("fails", [False, True])
def test_a_stream_has_lines_of_the_protocol_alone(
    indexed: House, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gsum_assets.serve.http.COMMENT_S", 0.02)
    overrides = {"embedding_model": indexed.embedder, "language_model": Slow(fails)}
    models = Models(Settings(), indexed.store, TABLES["llm_calls"], overrides)
    with client_of(new_app(Service.over(indexed.home, models))) as client:
        *pieces, last = lines_of(client)
    assert text_in(pieces).startswith("One\u2028two\u0085three\n")
    assert [p["message"]["content"] for p in pieces].count("") > 2
    expected = {"error": "the server of models is down; start it"} if fails else {"done": True}
    assert expected.items() <= last.items()
