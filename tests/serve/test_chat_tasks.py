"""What chat front ends send: questions, contexts around them, and tasks about the chat.

`open_webui.json` has what Open WebUI 0.12.4 sent for two questions in one chat; of the 36 tools
that a question offers the model, two are kept. The other texts have the form, in other words, of
templates of Open WebUI 0.12.4 (`open_webui/config.py`), LibreChat's agents (`src/utils/title.ts`),
Continue (`core/util/chatDescriber.ts`), LangChain (`rlm/rag-prompt` and the prompt that condenses
a question) and LlamaIndex 0.14 (`default_prompts.py`), or of what people make of them.
"""

import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from gsum_assets.serve.front_ends import MOST_CHARACTERS, question_in, task_reply
from tests.conftest import CORPUS, House

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


def test_tasks_about_the_chat_get_what_they_request(client: TestClient, indexed: House) -> None:
    replies, n_requests = [], len(indexed.model.requests)
    for body in SENT:
        if "tools" not in body:
            reply = client.post("/v1/chat/completions", json={**body, "model": f"{CORPUS}/bm25"})
            assert reply.status_code == 200, reply.text
            message = reply.json()["choices"][0]["message"]
            assert message["citations"] == []
            replies.append(json.loads(message["content"]))
    assert len(indexed.model.requests) == n_requests
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
    reply = task_reply("", text, "board")
    assert (reply and json.loads(reply)) == expected


CHAT = f"{QUESTION}\n{{}}: It was left open.\nThe rope was gone."
UPPER = f"USER: {CHAT.format('ASSISTANT')}"
LIBRE = f"User: {CHAT.format('AI')}"
HUMAN = f"Human: {CHAT.format('Assistant')}"
INDEX = "Context information is below.\n-----\n{}\n-----\nAnswer by it.\nQuery: {}\nAnswer: "
UP = "Follow Up"
CONDENSE = "Given this conversation and a follow up question, rephrase the question to stand alone."


@pytest.mark.parametrize(
    ("instructions", "text", "expected"),
    [
        ("", f"Gib diesem Gespräch einen kurzen Titel.\n\n{UPPER}", QUESTION),
        ("", f"Könntest du dem Gespräch einen Titel geben?\n{UPPER}", QUESTION),
        ("", f"次の会話に短いタイトルを付けてください。\n{UPPER}", QUESTION),
        ("", f"Give the talk a title.\n<chat_history>\n{UPPER}\n</chat_history>", QUESTION),
        ("", f"A title of five words, nothing else.\n\nConversation:\n{LIBRE}", QUESTION),
        ("", f"Resume la conversación en un título corto.\n\n{LIBRE}", QUESTION),
        ("Du fasst Gespräche als Titel zusammen.", UPPER, QUESTION),
        ("", f'Trois étiquettes, {{ "tags": ["a"] }}, pour :\n{UPPER}', '{"tags": ["board"]}'),
        ("", f"Nenne Schlagwörter zum Gespräch.\n{UPPER}", "board"),
        ("", f'Sugiere preguntas: {{"follow_ups": ["a"]}}\n{UPPER}', '{"follow_ups": []}'),
        ("", f"Welche Folgefragen passen?\n{UPPER}", ""),
        ("", "Reply with a title for the chat, 3 words.\n\nIt was open.", "It was open."),
        ("", "Choose a fitting emoji.\n\nMessage: ```It was open.```", "🙂"),
        ("", f"{CONDENSE}\n{HUMAN}\n{UP} Input: and who?\nStandalone question:", "and who?"),
        (
            "",
            f"{CONDENSE}\n{HUMAN}\n<{UP} Message>\nand who?\n\n<Standalone question>\n",
            "and who?",
        ),
        ("", "Which title has the report?", None),
        ("", "Give me the title of the report on the chat with Ann.\n\nThanks, Tom", None),
        ("", "Which emoji did Ann send in the chat?\n\nThanks, Tom", None),
        ("", f"Who is right here?\n{UPPER}", None),
        ("", f"Find what the board said about this.\n{UPPER}", None),
        ("Answer politely, with a title.", QUESTION, None),
        ("", "user: Ann, title: chair. Who is she?", None),
    ],
)
def test_tasks_in_any_words_need_no_model(
    instructions: str, text: str, expected: str | None
) -> None:
    assert task_reply(instructions, text, "board") == expected


PAGE = (
    "A budget was voted. Question: by whom?\nAnswer: by all.\n\nQuestion: when? It rained.\n" * 300
)
CONTEXT = f'<context>\n<source id="1">{PAGE}</source>\n</context>'


@pytest.mark.parametrize(
    "text",
    [
        f"### Task:\nAnswer from the context, with its numbers.\n\n{CONTEXT}\n\n{QUESTION}",
        f"Nutze den Kontext.\n{CONTEXT}\n<user_query>\n{QUESTION}\n</user_query>\n",
        f"{CONTEXT}\n\nQuery: {QUESTION}\nAnswer:",
        f"Be brief.\n\n{QUESTION}\n\n{CONTEXT}",
        f"Answer from the context. Be brief.\nQuestion: {QUESTION} \nContext: {PAGE} \nAnswer:",
        INDEX.format(PAGE, QUESTION),
        f"Use the pieces of context.\n\n{PAGE}\n\nQuestion: {QUESTION}\nHelpful Answer:",
        f"{PAGE}\n\n{QUESTION}",
        f"  {QUESTION}\n",
    ],
)
def test_a_question_is_found_within_its_context(text: str) -> None:
    assert question_in(text) == QUESTION


@pytest.mark.parametrize(
    "text",
    ["What is <context>?", "Is this right?\nAnswer: no", "x" * MOST_CHARACTERS, "Answer:", ""],
)
def test_other_texts_are_questions_as_they_are(text: str) -> None:
    assert question_in(text) == text


def test_a_question_with_a_context_is_answered_in_every_turn(client: TestClient) -> None:
    messages: list[dict] = []
    for question in ("What met the boat of cedar?", "and what about birch?"):
        asked = {"role": "user", "content": f"Use it.\n{CONTEXT}\n\n{question}"}
        body = {"model": f"{CORPUS}/bm25", "messages": [*messages, asked]}
        reply = client.post("/v1/chat/completions", json=body)
        assert reply.status_code == 200, reply.text
        content = reply.json()["choices"][0]["message"]["content"]
        assert "What came with the question was not read" in content
        messages += [asked, {"role": "assistant", "content": content}]
    assert "budget" not in content


def test_a_token_without_the_corpus_gets_no_title(client: TestClient) -> None:
    reply = client.post("/v1/chat/completions", json={**SENT[0], "model": "unknown"})
    assert reply.status_code == 404
