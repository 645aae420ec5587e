"""Known servers give a valid structured reply with the fewest requests."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field

from gsum_resources.llm.dialect import is_rejection, is_unexplained
from gsum_resources.llm.openai_compatible import OpenAICompatibleModel
from gsum_resources.protocols.models import Completion, ModelUnavailableError, Request
from tests.servers import rejections
from tests.servers.clients import client_of, settings_for
from tests.servers.replies import value_for, wanted_schema
from tests.servers.scripted import scripted_server


class Note(BaseModel):
    title: str
    weight: int = Field(ge=1, le=10)


class Names(BaseModel):
    names: list[str]


class Server:
    """A model behind a server that rejects like a known one, and what was sent to it."""

    def __init__(self, model: OpenAICompatibleModel, sent: list[dict], log: Path) -> None:
        self.model, self.sent, self._log = model, sent, log

    @property
    def statuses(self) -> list[int]:
        return [json.loads(line)["status"] for line in self._log.read_text().splitlines()]

    @property
    def format(self) -> str:
        return self.model.structure

    def complete(self, *schemas: type[BaseModel] | None) -> list[Completion]:
        requests = [
            Request("facts", "Say so.", passages=(f"text {i}",), schema=schema)
            for i, schema in enumerate(schemas)
        ]
        replies = self.model.complete(requests)
        for reply, schema in zip(replies, schemas, strict=True):
            assert isinstance(reply, Completion), reply
            assert schema is None or isinstance(reply.parsed, schema)
        return replies  # type: ignore[return-value]


Rejects = Callable[[dict], tuple[int, dict] | None]


@contextmanager
def serving(
    tmp_path: Path,
    rejects: Rejects = lambda body: None,
    says: Callable[[dict], str] | None = None,
    **settings: Any,
) -> Iterator[Server]:
    sent: list[dict] = []

    def noted(body: dict) -> tuple[int, dict] | None:
        sent.append(body)
        return rejects(body)

    log = tmp_path / "requests.jsonl"
    with (
        scripted_server(log, says, rejects=noted) as server,
        client_of(settings_for(server.base_url, **{"max_retries": 3} | settings)) as model,
    ):
        yield Server(model, sent, log)


@pytest.mark.parametrize(
    ("rejects", "format_", "statuses"),
    [
        (rejections.llama_cpp_python, "json_object_schema", [500]),
        (rejections.litellm_proxy, "guided_json", [500, 500]),
        # twice the same, a plain request, then each other form once
        (rejections.wordless, "guided_json", [500, 500, 200, 500, 500]),
    ],
)
def test_format_failing_at_the_server_is_lowered(
    tmp_path: Path, rejects: Rejects, format_: str, statuses: list[int]
) -> None:
    with serving(tmp_path, rejects) as server:
        # several at once: the first finds out for all
        server.complete(*[Note] * 6)
        assert server.statuses == [*statuses, *[200] * 6]
        server.complete(Names)
        assert server.statuses == [*statuses, *[200] * 7]
        assert server.format == format_


def test_schema_is_sent_with_every_format(tmp_path: Path) -> None:
    with serving(tmp_path, rejections.llama_cpp_python) as server:
        server.complete(Note)
        assert server.sent[-1]["response_format"]["schema"]["properties"]["weight"]["maximum"] == 10
        said = server.sent[-1]["messages"][0]["content"]
        assert '{"title": "…", "weight": <1 to 10: weight>}' in said  # words would be copied
    with serving(tmp_path, rejections.wordless) as server:
        server.complete(Note)
        assert server.sent[-1]["guided_json"] == server.sent[-1]["json_schema"]


def most_names(body: dict) -> int | None:
    return body["response_format"]["json_schema"]["schema"]["properties"]["names"].get("maxItems")


def test_lists_are_bounded_if_reply_tokens_are_limited(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        server.complete(Names)
        assert most_names(server.sent[-1]) is None
    with serving(tmp_path, max_reply_tokens=400) as server:
        server.complete(Names)
        assert most_names(server.sent[-1]) == 24
    with serving(tmp_path, rejections.azure, max_reply_tokens=400) as server:
        server.complete(Names)
        server.complete(Names)
        assert server.statuses[-3:] == [400, 200, 200]
        assert most_names(server.sent[-1]) is None
        assert server.format == "json_schema"


def test_lists_are_bounded_after_a_runaway_reply(tmp_path: Path) -> None:
    endless = '{"names": [' + ", ".join(f'"Name {i}"' for i in range(4000))

    def says(body: dict) -> str:
        return '{"names": ["a"]}' if most_names(body) else endless

    with serving(tmp_path, says=says) as server:
        first, second = server.complete(Names)[0], server.complete(Names)[0]
        assert (first.calls, second.calls) == (2, 1)
        assert [most_names(body) for body in server.sent] == [None, 24, 24]


def test_unsupported_schema_lowers_only_its_own_format(tmp_path: Path) -> None:
    with serving(tmp_path, rejections.vllm) as server:
        server.complete(Names)
        server.complete(Note)
        assert server.statuses == [200, 400, 400, 200]
        server.complete(Names, Note)
        assert server.statuses[4:] == [200, 200]
        assert server.format == "json_schema"


def test_openai_reasoning_models(tmp_path: Path) -> None:
    with serving(tmp_path, rejections.openai_reasoning) as server:
        server.complete(Note)
        server.complete(Names, None)
        assert server.statuses == [400, 400, 200, 200, 200]
        assert server.format == "json_schema"
        assert "max_completion_tokens" in server.sent[-1]
        assert "temperature" not in server.sent[-1]


@pytest.mark.parametrize("ignored", ['{"note": "A boat."}', "A boat of weight {7}.", "A boat."])
def test_silently_ignored_format_is_lowered(tmp_path: Path, ignored: str) -> None:
    """Older servers of Ollama take `json_schema` and pass it over."""

    def says(body: dict) -> str:
        if body.get("response_format", {}).get("type") == "json_schema":
            return ignored
        return json.dumps(value_for(wanted_schema(body) or {}, "d"))

    with serving(tmp_path, says=says) as server:
        assert [reply.calls for reply in server.complete(Note)] == [2]
        assert [reply.calls for reply in server.complete(Note)] == [1]


def test_schema_ignored_in_endless_prose_is_lowered(tmp_path: Path) -> None:
    """`transformers serve` 5 takes `response_format` and passes it over; SmolLM2 then rambled."""
    prose = "She read the note under the sugar bowl. " * 400

    def says(body: dict) -> str:
        if body.get("response_format", {}).get("type") in ("json_schema", None):
            return prose
        return json.dumps(value_for(wanted_schema(body) or {}, "d"))

    with serving(tmp_path, says=says, max_reply_tokens=400) as server:
        assert [reply.calls for reply in server.complete(Note)] == [2]
        assert server.format == "json_object_schema"


def test_several_prose_replies_lower_the_format_once(tmp_path: Path) -> None:
    formats: list[str] = []

    def says(body: dict) -> str:
        formats.append(body.get("response_format", {}).get("type", ""))
        if formats[-1] == "json_schema" and len(formats) > 1:
            return "A boat."
        return json.dumps(value_for(wanted_schema(body) or {}, "d"))

    with serving(tmp_path, says=says) as server:
        server.complete(Note)
        server.complete(*[Note] * 6)  # under way together
        assert server.format == "json_object_schema"


def test_loop_is_not_retried_after_prose_lowered_the_format(tmp_path: Path) -> None:
    n_requests: Counter[str] = Counter()

    def of(body: dict) -> str:
        return body["messages"][1]["content"].removeprefix("[1]\n")

    def rejects(body: dict) -> tuple[int, dict] | None:
        n_requests[of(body)] += 1
        return (503, {}) if n_requests["circle"] == 1 and of(body) == "circle" else None

    def says(body: dict) -> str:
        is_first = body.get("response_format", {}).get("type") == "json_schema"
        said = {"circle": '{"' * 20_000, "prose": "A boat." if is_first else ""}.get(of(body))
        return said or json.dumps(value_for(wanted_schema(body) or {}, "d"))

    with serving(tmp_path, rejects, says=says) as server:
        server.complete(Note)
        requests = [
            Request("facts", "Say.", passages=(text,), schema=Note) for text in ("circle", "prose")
        ]
        circle, _ = server.model.complete(requests)
        assert circle.calls == 1
        assert server.format == "json_object_schema"


def test_model_that_is_still_reasoning_gets_more_tokens_and_the_same_format(tmp_path: Path) -> None:
    thoughts = "<think>" + " ".join(f"Perhaps it weighs {i}." for i in range(4000))

    def says(body: dict) -> str:
        if body["max_tokens"] < 3000:
            return thoughts
        return json.dumps(value_for(wanted_schema(body) or {}, "d"))

    with serving(tmp_path, says=says) as server:
        server.complete(Note)
        assert server.format == "json_schema"


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_outage_never_lowers_the_format(tmp_path: Path, status: int) -> None:
    words = "The schema service is overloaded." if status == 503 else "Overloaded."
    left = [3]

    def rejects(body: dict) -> tuple[int, dict] | None:
        left[0] -= 1
        return (status, {"error": {"message": words}}) if left[0] >= 0 else None

    with serving(tmp_path, rejects) as server:
        server.complete(Note)
        assert server.format == "json_schema"
        assert "response_format" in server.sent[-1]
        assert server.statuses[:3] == [status] * 3


def test_outage_after_a_first_reply_is_waited_for(tmp_path: Path) -> None:
    away = [False]
    with serving(tmp_path, lambda body: (500, {}) if away[0] else None, max_retries=1) as server:
        server.complete(Note)
        away[0] = True
        with pytest.raises(ModelUnavailableError):
            server.model.complete([Request("facts", "Say so.", schema=Note)] * 20)
        away[0] = False
        server.complete(Note)
        assert server.format == "json_schema"
        assert all("response_format" in body for body in server.sent)


def test_unreachable_server_is_no_rejection(tmp_path: Path) -> None:
    with client_of(settings_for("http://127.0.0.1:9/v1", max_retries=1)) as model:
        with pytest.raises(ModelUnavailableError):
            model.complete([Request("facts", "Say so.", schema=Note)] * 4)
        assert model.structure == "json_schema"


def test_overlong_prompt_is_sent_again_only_with_a_reply_that_fits(tmp_path: Path) -> None:
    words = "This model's maximum context length is 512 tokens, you requested 900."

    def rejects(body: dict) -> tuple[int, dict] | None:
        return 400, {"error": {"message": words, "code": "context_length_exceeded"}}

    with serving(tmp_path, rejects) as server:
        (reply,) = server.model.complete([Request("facts", "Say so.", schema=Note)])
        assert "maximum context length" in vars(reply)["message"]
        assert server.statuses == [400, 400]  # the second time with a reply of 500 tokens


@pytest.mark.parametrize(
    ("status", "words", "rejected"),
    [
        (400, "no", True),
        (422, "no", True),
        (500, "1 validation error: response_format", True),
        (500, "The server had an error.", False),
        (501, "Unknown parameter: 'guided_json'", True),
        (503, "schema registry is overloaded", False),
        (429, "unsupported value", False),
        (401, "invalid key", False),
        (0, "grammar", False),
    ],
)
def test_rejections_are_recognized(status: int, words: str, rejected: bool) -> None:
    assert is_rejection(status, words) is rejected
    assert is_unexplained(status) is (status in (500, 501))
