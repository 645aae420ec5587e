"""The official client of OpenAI over HTTP: lists, asks, streams, continues a conversation."""

import base64
import json
import os
import re
import time
from collections.abc import Iterator

import httpx
import openai  # noqa: TID253
import pytest
from starlette.testclient import TestClient

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.serve.app import new_app
from gsum_assets.serve.chat import ChatBody
from gsum_assets.serve.http import pass_words_on
from gsum_assets.serve.limits import Limits
from gsum_assets.serve.service import Service
from gsum_resources.models.by_work import Models
from gsum_resources.protocols.models import OnReply, Reply, Request
from gsum_resources.settings.schema import Settings
from tests.conftest import CORPUS, House
from tests.models import FirstWords
from tests.serve.conftest import SECRETS, client_of, served

MODEL = f"{CORPUS}/bm25"
QUESTION = {"role": "user", "content": "What met the boat of cedar?"}


@pytest.fixture(scope="module")
def official(address: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as client:
        yield client


def test_models_are_corpora_and_their_methods(official: openai.OpenAI) -> None:
    names = {model.id for model in official.models.list()}
    assert {CORPUS, MODEL, f"{CORPUS}/hybrid", SECRETS} <= names
    assert not any("oracle" in name or name.endswith("/gor") for name in names)
    assert official.models.retrieve(MODEL).id == MODEL


def test_an_answer_has_citations_in_text_and_as_a_field(official: openai.OpenAI) -> None:
    reply = official.chat.completions.create(model=MODEL, messages=[QUESTION], temperature=0)
    message = reply.choices[0].message
    text, _, listed = (message.content or "").partition("\n\nSources:\n")
    numbers = {int(n) for n in re.findall(r"\[(\d+)\]", text)}
    assert numbers
    assert {int(n) for n in re.findall(r"^\[(\d+)\]", listed, re.MULTILINE)} == numbers
    citations = message.model_extra["citations"]
    assert [c["number"] for c in citations] == list(range(1, len(citations) + 1))
    assert numbers <= {c["number"] for c in citations}
    assert all(c["document_id"] and c["text"] for c in citations)
    assert reply.choices[0].finish_reason == "stop"
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens


def test_a_corpus_chooses_its_method(official: openai.OpenAI) -> None:
    whole = [
        official.chat.completions.create(model=name, messages=[QUESTION]).choices[0].message.content
        for name in (CORPUS, f"{CORPUS}/hybrid")
    ]
    assert whole[0] == whole[1]


def test_a_streamed_answer_is_the_same(official: openai.OpenAI) -> None:
    whole = official.chat.completions.create(model=MODEL, messages=[QUESTION])
    chunks = list(
        official.chat.completions.create(
            model=MODEL, messages=[QUESTION], stream=True, stream_options={"include_usage": True}
        )
    )
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert deltas[0].role == "assistant"
    assert "".join(d.content or "" for d in deltas) == whole.choices[0].message.content
    (last,) = [chunk for chunk in chunks if chunk.choices and chunk.choices[0].finish_reason]
    assert last.model_extra["citations"] == whole.model_extra["citations"]
    assert chunks[-1].usage == whole.usage


def test_a_conversation_goes_on(official: openai.OpenAI, indexed: House) -> None:
    first = official.chat.completions.create(model=MODEL, messages=[QUESTION])
    said = {"role": "assistant", "content": first.choices[0].message.content}
    follow_up = {"role": "user", "content": "and what about birch?"}
    official.chat.completions.create(model=MODEL, messages=[QUESTION, said, follow_up])
    # the model of this home "rewrites" a question to the first words of the conversation
    assert indexed.model.requests[-1].question.startswith(str(QUESTION["content"]))


@pytest.mark.parametrize("model", ["nowhere", f"{CORPUS}/gor", f"{CORPUS}/x", "../x", f"{CORPUS}/"])
def test_an_unknown_model_is_not_found(official: openai.OpenAI, model: str) -> None:
    if model.endswith("/"):
        assert official.chat.completions.create(model=model, messages=[QUESTION]).choices
        return
    with pytest.raises(openai.NotFoundError):
        official.chat.completions.create(model=model, messages=[QUESTION])


def test_messages_become_a_question_and_its_history() -> None:
    body = ChatBody.model_validate(
        {
            "model": MODEL,
            "temperature": 1,
            "messages": [
                {"role": "system", "content": "Ignore the documents."},
                {"role": "user", "content": "Who paid?"},
                {"role": "assistant", "content": "Ann [1] did [2?].\n\nSources:\n[1] Minutes"},
                {"role": "user", "content": "unanswered"},
                {"role": "user", "content": [{"type": "text", "text": "And who else?"}]},
            ],
        }
    )
    turns, last = body.conversation()
    assert last.text == "And who else?"
    assert [(t.question, t.answer) for t in turns] == [("Who paid?", "Ann did.")]


@pytest.mark.parametrize("messages", [[], [{"role": "system", "content": "x"}]])
def test_a_conversation_must_have_a_question(client: TestClient, messages: list) -> None:
    reply = client.post("/v1/chat/completions", json={"model": MODEL, "messages": messages})
    assert reply.status_code == 400
    assert "messages" in reply.json()["error"]["message"]


def picture(size: int) -> dict:
    data = base64.b64encode(os.urandom(size)).decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


SAID = {"role": "assistant", "content": "It met"}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
}


@pytest.mark.parametrize(
    "messages",
    [
        [QUESTION, SAID],  # to be continued
        [QUESTION, CALL, {"role": "tool", "tool_call_id": "1", "content": "done"}],
        [{"role": "system", "content": "Be brief, with a title."}, QUESTION],
        [{"role": "developer", "content": [{"type": "text", "text": "Be brief."}]}, QUESTION],
        [{"role": "user", "content": [picture(9), {"type": "text", "text": QUESTION["content"]}]}],
    ],
)
def test_conversations_are_answered_as_clients_send_them(
    official: openai.OpenAI, messages: list
) -> None:
    alone = official.chat.completions.create(model=MODEL, messages=[QUESTION])
    reply = official.chat.completions.create(model=MODEL, messages=messages)
    assert reply.choices[0].message.content == alone.choices[0].message.content


def test_large_pictures_are_no_hindrance(official: openai.OpenAI, indexed: House) -> None:
    alone = {"role": "user", "content": [picture(2**20)]}
    reply = official.chat.completions.create(model=MODEL, messages=[alone])
    answer = reply.choices[0].message
    assert "not read here" in (answer.content or "")
    n_requests = len(indexed.model.requests)
    before = [alone, {"role": "assistant", "content": answer.content}]
    later = {"role": "user", "content": "What met the lamp of ash?"}
    reply = official.chat.completions.create(model=MODEL, messages=[*before, later])
    assert reply.model_extra["citations"]
    assert [r.question for r in indexed.model.requests[n_requests:]] == [later["content"]]


def test_a_header_names_what_is_not_used(official: openai.OpenAI) -> None:
    given = {"n": 2, "presence_penalty": 0.5, "temperature": 0.5, "seed": 3, "logprobs": True}
    for stream in (False, True):
        raw = official.chat.completions.with_raw_response.create(
            model=MODEL, messages=[QUESTION], stream=stream, extra_body={"x\r\ny": 2}, **given
        )
        assert raw.headers["warning"] == f'299 gsum "not used: {", ".join(sorted(given))}"'
    raw = official.chat.completions.with_raw_response.create(
        model=MODEL, messages=[QUESTION], n=1, stop=["?"], max_tokens=5
    )
    assert "warning" not in raw.headers


@pytest.mark.parametrize(
    ("ends", "finish", "pattern"),
    [
        ({}, "stop", ".*"),
        ({"stop": " cedar"}, "stop", ".*"),
        ({"stop": ["no such words", "\n\nSources", " [1"]}, "stop", ".*"),
        ({"stop": ["\n"]}, "stop", "[^\n]*"),
        ({"max_tokens": 4}, "length", r"\S+( \S+){3} ?"),
        ({"max_completion_tokens": 4, "max_tokens": 900}, "length", r"\S+( \S+){3} ?"),
        ({"max_tokens": 900}, "stop", ".*"),
        ({"max_tokens": -1}, "stop", ".*"),  # as some clients say that there is no limit
        ({"max_tokens": 900, "stop": [""]}, "stop", ".*"),
        ({"max_tokens": 30, "stop": [" "]}, "stop", r"\S+"),
    ],
)
def test_a_text_ends_where_the_client_wants(
    official: openai.OpenAI, ends: dict, finish: str, pattern: str
) -> None:
    asked = {"model": MODEL, "messages": [QUESTION]}
    full = official.chat.completions.create(**asked).choices[0].message.content
    (choice,) = official.chat.completions.create(**asked, **ends).choices
    chunks = list(official.chat.completions.create(**asked, **ends, stream=True))
    text = choice.message.content
    assert full.startswith(text)
    assert re.fullmatch(pattern, text, re.DOTALL)
    stops = [stop for stop in ends.get("stop", []) if stop in full and stop]
    if isinstance(ends.get("stop"), list) and stops:
        assert len(text) == min(map(full.index, stops))
    assert "".join(c.choices[0].delta.content or "" for c in chunks) == text
    assert choice.finish_reason == chunks[-1].choices[0].finish_reason == finish
    assert choice.message.model_extra["citations"]


class Thinking(FirstWords):
    """A model that writes a word, thinks for some time, and writes another one, twice."""

    def __init__(self, seconds: float) -> None:
        super().__init__(name=f"thinking-{seconds}")
        self._seconds = seconds

    def complete(self, requests: list[Request], on_reply: OnReply | None = None) -> list[Reply]:
        pass_words_on("One ")
        for word in ("two ", "three"):
            time.sleep(self._seconds)
            pass_words_on(word)
        return super().complete(requests, on_reply)


@pytest.fixture
def thinking(
    indexed: House, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """The address of a service that comments every 0.1 s and gives up after 2 s of silence."""
    monkeypatch.setattr("gsum_assets.serve.http.COMMENT_S", 0.1)
    overrides = {"embedding_model": indexed.embedder, "language_model": Thinking(request.param)}
    models = Models(Settings(), indexed.store, TABLES["llm_calls"], overrides)
    limits = Limits(idle_s=2)
    with served(new_app(Service.over(indexed.home, models), limits=limits), limits) as address:
        yield address


def asking(word: str) -> dict:
    question = {"role": "user", "content": f"What met the {word} of cedar?"}
    return {"model": MODEL, "messages": [question], "stream": True}  # no stored reply is streamed


@pytest.mark.slow
@pytest.mark.parametrize("thinking", [1.2], indirect=True)
def test_a_slow_answer_is_whole_and_never_silent(thinking: str) -> None:
    with openai.OpenAI(base_url=f"{thinking}/v1", api_key="none", timeout=1) as client:
        chunks = list(client.chat.completions.create(**asking("lamp")))
    assert "One two three" in "".join(c.choices[0].delta.content or "" for c in chunks)
    body = {"corpus": CORPUS, "question": "What met the coin?", "method": "bm25", "stream": True}
    for path, sent in {"/v1/chat/completions": asking("river"), "/api/ask": body}.items():
        with httpx.stream("POST", f"{thinking}{path}", json=sent, timeout=1) as reply:
            lines = [line for line in reply.iter_lines() if line]
        assert sum(line.startswith(": ") for line in lines) > 5
        assert lines[-1] == "data: [DONE]" or "event: answer" in lines
        assert not any('"error"' in line for line in lines)


@pytest.mark.slow
@pytest.mark.parametrize("thinking", [3.0], indirect=True)
def test_an_answer_that_stops_ends_with_an_error(thinking: str) -> None:
    late = "nothing of the answer arrived for 2 s; .* --idle-timeout"
    with openai.OpenAI(base_url=f"{thinking}/v1", api_key="none", max_retries=0) as client:
        chunks = client.chat.completions.create(**asking("winter"))
        with pytest.raises(openai.APIError, match=late):
            list(chunks)
        with pytest.raises(openai.InternalServerError, match=late):
            client.chat.completions.create(**asking("mirror") | {"stream": False})
    text = httpx.post(f"{thinking}/v1/chat/completions", json=asking("signal")).text
    assert text.endswith("data: [DONE]\n\n")
    body = {"corpus": CORPUS, "question": "What met the door?", "method": "bm25", "stream": True}
    events = httpx.post(f"{thinking}/api/ask", json=body).text
    assert re.search(f"event: error\ndata: .*{late}", events)


class Talking(FirstWords):
    """A model that passes on words as they arrive, once after an attempt that it gives up."""

    def __init__(self, given_up: str = "") -> None:
        super().__init__(name=f"talking-{given_up}")
        self._given_up = given_up

    def complete(self, requests: list[Request], on_reply: OnReply | None = None) -> list[Reply]:
        replies = super().complete(requests, on_reply)
        if self._given_up:
            pass_words_on(self._given_up)
        pass_words_on(None)
        for word in replies[0].text.split(" "):
            pass_words_on(f"{word} ")
        return replies


@pytest.mark.parametrize("stop", [" boat", "the boat of", "no such words"])
@pytest.mark.parametrize("given_up", ["", "A first attempt "])
def test_a_stop_may_lie_across_the_pieces_of_a_stream(
    indexed: House, given_up: str, stop: str
) -> None:
    texts = []
    for ends in ({"stop": stop}, {}):
        model = Talking(given_up)
        model.identity += f"{stop}{ends}"  # no stored reply is streamed
        overrides = {"embedding_model": indexed.embedder, "language_model": model}
        models = Models(Settings(), indexed.store, TABLES["llm_calls"], overrides)
        with client_of(new_app(Service.over(indexed.home, models))) as client:
            body = {"model": MODEL, "messages": [QUESTION], "stream": True, **ends}
            lines = client.post("/v1/chat/completions", json=body).text.splitlines()
        chunks = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
        pieces = [chunk["choices"][0]["delta"].get("content", "") for chunk in chunks]
        texts.append("".join(pieces))
        assert given_up or len(pieces) > 5
    assert texts[0] == texts[1].partition(stop)[0]


@pytest.mark.parametrize("given_up", ["", "A first attempt "])
def test_words_arrive_as_the_model_writes_them(indexed: House, given_up: str) -> None:
    overrides = {"embedding_model": indexed.embedder, "language_model": Talking(given_up)}
    models = Models(Settings(), indexed.store, TABLES["llm_calls"], overrides)
    body = {"model": MODEL, "messages": [QUESTION], "stream": True}
    with client_of(new_app(Service.over(indexed.home, models))) as client:
        lines = client.post("/v1/chat/completions", json=body).text.splitlines()
        chunks = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
        pieces = [chunk["choices"][0]["delta"].get("content", "") for chunk in chunks]
        asked = {"corpus": CORPUS, "question": "What met the lamp?", "method": "bm25"}
        events = client.post("/api/ask", json={**asked, "stream": True}).text
    assert lines[-2:] == ["data: [DONE]", ""] or lines[-1] == "data: [DONE]"
    text = "".join(pieces).partition("\n\nSources:")[0]
    if given_up:  # what was sent cannot be taken back: the answer follows as a whole
        assert text.startswith(given_up + "\n\n")
    else:
        assert len(pieces) > 20
    names = re.findall(r"^event: (\w+)$", events, re.MULTILINE)
    assert names[-1] == "answer"
    assert names.count("words") > 20
    assert names.index("restart") == len(given_up.split()[:1])
