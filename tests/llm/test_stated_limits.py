"""What a server states about a request's length, pause or content is learnt and remembered."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gsum_assets.pipeline.tables import TABLES
from gsum_resources.endpoint.failures import EndpointError, TransientError, failure_of, stated_pause
from gsum_resources.llm.context_limit import stated_limit
from gsum_resources.llm.ledger import Ledger
from gsum_resources.models.by_work import Models
from gsum_resources.protocols.models import Completion, CompletionError, Request
from gsum_resources.protocols.results import Score
from gsum_resources.settings.schema import Settings
from gsum_resources.store.parquet_store import ParquetStore
from tests.servers.clients import client_of, settings_for
from tests.servers.raw import Raw, chat, raw_server
from tests.servers.replies import tokens_of
from tests.servers.scripted import ScriptedServer, scripted_server

CONTEXT = 1024


@pytest.mark.parametrize(
    ("answer", "context", "prompt"),
    [
        (  # OpenAI and vLLM
            "This model's maximum context length is 1024 tokens. However, you requested 1746 "
            "tokens (1234 in the messages, 512 in the completion). Please reduce the length.",
            1024,
            1234,
        ),
        (
            "This model's maximum context length is 8192 tokens. However, your messages resulted "
            "in 9001 tokens. Please reduce the length of the messages.",
            8192,
            9001,
        ),
        (  # vLLM
            "'max_tokens' or 'max_completion_tokens' is too large: 512. This model's maximum "
            "context length is 1024 tokens and your request has 900 input tokens (512 > 124)",
            1024,
            900,
        ),
        (
            "You passed 1025 input tokens and requested 512 output tokens. However, the model's "
            "context length is only 1024 tokens, resulting in a maximum input length of 512.",
            1024,
            1025,
        ),
        (  # llama.cpp
            '{"error":{"code":400,"message":"the request exceeds the available context size. try '
            'increasing it","type":"exceed_context_size_error","n_prompt_tokens":5000,'
            '"n_ctx":4096}}',
            4096,
            5000,
        ),
        ("request (5010 tokens) exceeds the available context size (4096 tokens)", 4096, 5010),
        ("Requested tokens (5010) exceed context window of 4096", 4096, None),
        (  # TGI
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: "
            "4000 `inputs` tokens and 200 `max_new_tokens`",
            4096,
            4000,
        ),
        (
            "Input validation error: `inputs` must have less than 1024 tokens. Given: 1500",
            1024,
            1500,
        ),
        (  # SGLang
            "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
            4096,
            5000,
        ),
        (  # LM Studio
            "Trying to keep the first 5000 tokens when context the overflows. However, the model "
            "is loaded with context length of only 4096 tokens, which is not enough.",
            4096,
            5000,
        ),
        (  # Mistral
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 "
            "maximum context length",
            32768,
            40000,
        ),
        ("prompt is too long: 210,000 tokens > 200,000 maximum", 200_000, 210_000),  # Anthropic
        (  # Gemini
            "The input token count (1200000) exceeds the maximum number of tokens allowed "
            "(1048576).",
            1048576,
            1200000,
        ),
    ],
)
def test_limit_is_read_from_the_words_of_servers(
    answer: str, context: int, prompt: int | None
) -> None:
    assert stated_limit(answer) == (context, prompt)


@pytest.mark.parametrize(
    "answer",
    [
        "input length exceeds the context length",  # Ollama states no number
        "Unsupported parameter: 'max_tokens' is not supported with this model.",
        "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
        "Rate limit reached: limit 30000, used 29000, requested 1746 tokens.",
        "",
    ],
)
def test_other_answers_state_no_limit(answer: str) -> None:
    assert stated_limit(answer) is None


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        ("Rate limit reached for model. Please try again in 1m30.002s. Visit us.", 90.002),
        ("Please try again in 6ms.", 0.006),
        ("Please try again in 7m12s", 432),
        ("Please retry after 20 seconds.", 20),
        ('{"@type": "RetryInfo", "retryDelay": "34s"}', 34),
        ("Please retry in 34.07s.", 34.07),
        ("Try again in 24 hours.", 86400),
        ("Please wait 2 minutes before you try again.", 120),
        ("Please try again later.", None),
        ("Gave up; retry after 3 attempts", None),
        ("", None),
    ],
)
def test_pause_is_read_from_the_words_of_servers(answer: str, seconds: float | None) -> None:
    found = stated_pause(answer)
    assert found == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize("status", [429, 503])
def test_stated_pause_is_required_as_by_the_header(status: int) -> None:
    body = '{"error": {"message": "Please try again in 1m30.002s."}}'
    failure = failure_of(status, {"retry-after": "1"}, body)
    assert isinstance(failure, TransientError)
    assert failure.retry_after_s == pytest.approx(90.002)


AZURE = {
    "error": {
        "message": "The response was filtered due to the prompt triggering Azure OpenAI's content "
        "management policy. Please modify your prompt and retry.",
        "code": "content_filter",
        "innererror": {"code": "ResponsibleAIPolicyViolation"},
    }
}


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, AZURE),
        (400, {"error": {"message": "Rejected.", "code": "content_policy_violation"}}),
        (400, {"error": {"message": "Content Exists Risk"}}),
        (400, {"error": {"code": "data_inspection_failed", "message": "inappropriate content"}}),
        (403, {"error": {"message": "This model requires moderation. Your input was flagged."}}),
    ],
)
def test_filtered_request_is_no_fault_of_key_or_form(status: int, body: dict) -> None:
    failure = failure_of(status, {}, json.dumps(body))
    assert type(failure) is EndpointError
    assert failure.is_filtered
    assert not failure_of(429, {}, json.dumps(body)).is_filtered


def vllm(body: dict) -> tuple[int, dict] | None:
    """Reject as vLLM what exceeds a context of 1024 tokens."""
    n_prompt = sum(tokens_of(message["content"]) for message in body["messages"])
    if n_prompt + body["max_tokens"] <= CONTEXT:
        return None
    message = (
        f"This model's maximum context length is {CONTEXT} tokens. However, you requested "
        f"{n_prompt + body['max_tokens']} tokens ({n_prompt} in the messages, "
        f"{body['max_tokens']} in the completion). Please reduce the length of the messages."
    )
    return 400, {"object": "error", "message": message, "type": "BadRequestError", "code": 400}


@contextmanager
def models_of(tmp_path: Path, **script: Any) -> Iterator[tuple[Models, ScriptedServer]]:
    """Models of a new process, with the database of the earlier ones."""
    with scripted_server(tmp_path / "log.jsonl", **script) as server:
        llm = settings_for(server.base_url)
        yield Models(Settings(llm=llm), ParquetStore(str(tmp_path)), TABLES["llm_calls"]), server


def said_by(models: Models, *requests: Request) -> list[Any]:
    ledger = Ledger(models.store, TABLES["llm_calls"], "tales", "a")
    return models.language_model(ledger).complete(requests)


def request(n_words: int, **fields: Any) -> Request:
    return Request("answer", "Answer.", "Who?", ("boat " * n_words,), max_words=300, **fields)


def test_stated_context_limits_replies_and_later_requests(tmp_path: Path) -> None:
    with models_of(tmp_path, rejects=vllm) as (models, server):
        short, long = said_by(models, request(100), request(2000))
        assert isinstance(short, Completion)  # with a shorter reply than was requested at first
        assert short.retries == 1
        assert isinstance(long, CompletionError)
        assert "exceed the model's context of 1,024; set prompt_tokens" in long.message
        assert [line["status"] for line in server.lines("/chat/completions")].count(400) <= 2
        assert models.window().context == CONTEXT
        n_sent = len(server.lines("/chat/completions"))
        again = Models(models.settings, models.store, models.ledger_table)
        assert again.window().context == CONTEXT
        room = again.window().room(request(0))
        assert room is not None
        assert 0 < room < CONTEXT
        other, long = said_by(again, request(90), request(2000))
        assert isinstance(other, Completion)
        assert "is not sent" in long.message
        # one request, that was accepted at once
        assert [line["status"] for line in server.lines("/chat/completions")[n_sent:]] == [200]
    own = models.settings.llm.model_copy(update={"context_tokens": 4096})
    set_ = Models(
        models.settings.model_copy(update={"llm": own}), models.store, TABLES["llm_calls"]
    )
    assert set_.window().context == 4096  # a setting takes precedence


def test_limit_is_no_complaint_about_the_form(tmp_path: Path) -> None:
    with models_of(tmp_path, rejects=vllm) as (models, server):
        (reply,) = said_by(models, request(2000, schema=Score))
        assert isinstance(reply, CompletionError)
        assert [line["status"] for line in server.lines("/chat/completions")] == [400]
        assert models.bare("language_model").structure == "json_schema"


@pytest.mark.parametrize("schema", [None, Score])
def test_filtered_request_is_sent_once_for_all_runs(
    tmp_path: Path, schema: type[Score] | None
) -> None:
    def filters(body: dict) -> tuple[int, dict] | None:
        return (400, AZURE) if "boat boat" in str(body["messages"]) else None

    filtered: list[str] = []
    failed: list[str] = []
    with models_of(tmp_path, rejects=filters) as (models, server):
        for _ in range(2):
            again = Models(models.settings, models.store, models.ledger_table)
            ledger = Ledger(models.store, TABLES["llm_calls"], "tales", "a")
            model = again.language_model(ledger, None, failed.append, on_filtered=filtered.append)
            bad, good = model.complete(
                [request(5, schema=schema, document_id="d"), request(0, schema=schema)]
            )
            assert isinstance(bad, CompletionError)
            assert "filtered by the server" in bad.message
            assert isinstance(good, Completion)
        assert [line["status"] for line in server.lines("/chat/completions")] == [400, 200]
        assert (filtered, failed) == (["d", "d"], [])
        own = models.settings.llm.model_copy(update={"filter_version": "2"})
        retry = Models(
            models.settings.model_copy(update={"llm": own}), models.store, TABLES["llm_calls"]
        )
        said_by(retry, request(5, schema=schema), request(0, schema=schema))
        assert [line["status"] for line in server.lines("/chat/completions")][2:] == [400]
        assert retry.version("language_model") != models.version("language_model")


@pytest.mark.parametrize(
    ("reply", "message", "is_filtered"),
    [
        (chat(content=None, refusal="I cannot."), "refused: I cannot.", True),
        (chat(content="", finish="content_filter"), "filtered by the server", True),
        (chat(content="Half an", finish="content_filter"), "filtered by the server", True),
        (chat(content=None, reasoning_content="Noon."), "reasoning parser took the whole", False),
        (chat(content=None, reasoning="Noon."), "llama.cpp: --reasoning-format none", False),
        (chat(content=None, reasoning="No", finish="length"), "within its reasoning", False),
        (chat(content="<think>No", finish="length"), "set reasoning_effort lower", False),
        (chat(content=None), "it is empty", False),
    ],
)
@pytest.mark.parametrize("schema", [None, Score])
def test_reply_without_an_answer_names_its_cause(
    reply: Raw, message: str, is_filtered: bool, schema: type[Score] | None
) -> None:
    with raw_server(lambda body: reply) as base_url, client_of(settings_for(base_url)) as model:
        (found,) = model.complete([request(1, schema=schema)])
    assert isinstance(found, CompletionError)
    assert message in found.message
    assert found.is_filtered is is_filtered
