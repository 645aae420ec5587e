"""What a chat front end sends, as Open WebUI 0.12.4 sent it: questions, and tasks about the chat.

`open_webui.json` has the bodies of two questions in one chat; of the 36 tools that a question
offers the model, two are kept.
"""

import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from gsum_assets.serve.openai_api import task_reply
from tests.conftest import CORPUS

SENT = json.loads((Path(__file__).parent / "open_webui.json").read_text())
TITLE = SENT[0]["messages"][0]["content"]
QUESTION = "What went wrong with the hatch?"


def test_a_question_with_tools_is_answered_and_streamed(client: TestClient) -> None:
    questions = [body for body in SENT if "tools" in body]
    assert [len(body["messages"]) for body in questions] == [1, 3]
    for body in questions:
        reply = client.post("/v1/chat/completions", json={**body, "model": f"{CORPUS}/bm25"})
        assert reply.status_code == 200, reply.text
        chunks = [line.removeprefix("data: ") for line in reply.text.split("\n") if line]
        assert chunks.pop() == "[DONE]"
        last = json.loads(chunks[-1])["choices"][0]
        assert (last["finish_reason"], last["delta"]) == ("stop", {})


def test_tasks_about_the_chat_get_what_they_request(client: TestClient) -> None:
    replies = []
    for body in SENT:
        if "tools" not in body:
            reply = client.post("/v1/chat/completions", json={**body, "model": f"{CORPUS}/bm25"})
            assert reply.status_code == 200, reply.text
            message = reply.json()["choices"][0]["message"]
            assert message["citations"] == []
            replies.append(json.loads(message["content"]))
    none = {"follow_ups": []}
    assert replies == [{"title": QUESTION}, none, {"tags": [CORPUS]}, none]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (QUESTION, None),
        ("### Task:\nWho has which task?", None),
        (f"What does this mean? {TITLE}", None),
        (TITLE.replace("USER: ", "nobody: "), {"title": ""}),
        (
            TITLE.replace(QUESTION, "word " * 20 + "\nand more"),
            {"title": f"{' '.join(['word'] * 12)} …"},
        ),
        (TITLE.replace('"title": "your concise', '"text": "your'), {"text": ""}),
        (
            TITLE.replace('"title": "your concise title here"', '"queries": ["one"]'),
            {"queries": []},
        ),
    ],
)
def test_a_task_is_told_from_a_question(text: str, expected: dict | None) -> None:
    reply = task_reply(text, "board")
    assert (reply and json.loads(reply)) == expected


def test_a_token_without_the_corpus_gets_no_title(client: TestClient) -> None:
    reply = client.post("/v1/chat/completions", json={**SENT[0], "model": "unknown"})
    assert reply.status_code == 404
