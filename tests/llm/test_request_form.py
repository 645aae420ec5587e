"""The form of requests that a server supports is found out with few requests, and stored."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from pydantic import BaseModel, Field

from gsum_assets.pipeline.tables import TABLES
from gsum_resources.llm.request_form import Form, is_rejection
from gsum_resources.models.by_work import Models
from gsum_resources.models.models_check import check_models
from gsum_resources.protocols.models import Completion, ModelUnavailableError, Request
from gsum_resources.protocols.results import Entities, Score
from gsum_resources.settings.schema import Settings
from gsum_resources.store.parquet_store import ParquetStore
from tests.servers import rejections
from tests.servers.clients import client_of, settings_for
from tests.servers.raw import Raw, chat, raw_server
from tests.servers.replies import value_for, wanted_schema

CASES = yaml.safe_load((Path(__file__).parent / "cases.yaml").read_text("utf-8"))


class Note(BaseModel):
    title: str
    weight: int = Field(ge=1, le=10)


class Names(BaseModel):
    names: list[str]


class Free(BaseModel):
    fields: dict[str, str]


Rejects = Callable[[dict], tuple[int, dict] | None]


def accepts(body: dict) -> tuple[int, dict] | None:
    return None


def structure_of(body: dict) -> str:
    return "json_schema" if "response_format" in body else "prompt"


class Server:
    """A server that may change between runs, and the statuses and bodies of its answers."""

    def __init__(self, tmp_path: Path) -> None:
        self.rejects: Rejects = accepts
        self.says: Callable[[dict], str] | None = None
        self.statuses: list[int] = []
        self.bodies: list[dict] = []
        self.url = ""
        self._path = tmp_path

    def answer(self, body: dict) -> Raw:
        self.bodies.append(body)
        rejection = self.rejects(body)
        self.statuses.append(rejection[0] if rejection else 200)
        if rejection:
            return Raw(json.dumps(rejection[1]).encode(), rejection[0])
        says = self.says or (lambda body: json.dumps(value_for(wanted_schema(body) or {}, "d")))
        text = says(body)
        is_cut = len(text) > 4 * body.get("max_tokens", 1 << 20)
        return chat("length" if is_cut else "stop", content=text)

    def models(self, **settings) -> Models:
        """Return the models of a new process with the database of the earlier ones."""
        llm = settings_for(self.url, **{"max_retries": 2} | settings)
        return Models(Settings(llm=llm), ParquetStore(str(self._path)), TABLES["llm_calls"])

    def run(self, *schemas: type[BaseModel] | None, **settings) -> tuple[list[int], str]:
        """Send requests from a new process; return the statuses, and the structure at its end."""
        self.statuses.clear()
        model = self.models(**settings).bare("language_model")
        for number, schema in enumerate(schemas):
            request = Request("facts", "Say so.", passages=(f"text {number}",), schema=schema)
            (reply,) = model.complete([request])
            assert isinstance(reply, Completion), reply
            assert schema is None or isinstance(reply.parsed, schema)
        return list(self.statuses), model.structure


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path)
    with raw_server(server.answer) as server.url:
        yield server


@pytest.mark.parametrize(
    "rejects", [rejections.llama_cpp_python, rejections.litellm_proxy, rejections.old_vllm]
)
def test_rejected_structure_is_described_in_the_prompt(server: Server, rejects: Rejects) -> None:
    server.rejects = rejects
    statuses, structure = server.run(Note, Note)
    assert statuses[1:] == [200, 200]
    assert statuses[0] in (400, 500)
    assert structure == "prompt"
    assert '{"title": "<title>", "weight": <1 to 10: weight>}' in str(server.bodies[-1])
    assert server.run(Names) == ([200], "prompt")  # stored
    assert server.run(Names, structured_output="prompt") == ([200], "prompt")


def test_several_requests_at_once_wait_for_the_first(server: Server) -> None:
    server.rejects = rejections.llama_cpp_python
    model = server.models().bare("language_model")
    requests = [Request("facts", "Say.", passages=(str(i),), schema=Note) for i in range(6)]
    assert all(isinstance(reply, Completion) for reply in model.complete(requests))
    assert server.statuses == [500, *[200] * 6]


@pytest.mark.parametrize(
    "ignored",
    [
        '{"note": "A boat."}',
        "A boat of weight {7}.",
        "A boat.",
        # `transformers serve` 5 ignores `response_format`; SmolLM2 then rambled
        "She read the note under the sugar bowl. " * 400,
    ],
)
def test_ignored_structure_is_described_in_the_prompt(server: Server, ignored: str) -> None:
    def says(body: dict) -> str:
        if structure_of(body) == "json_schema":
            return ignored
        return json.dumps(value_for(wanted_schema(body) or {}, "d"))

    server.says = says
    assert server.run(Note) == ([200, 200], "prompt")
    assert server.run(Note) == ([200], "prompt")


def test_prose_after_a_valid_reply_is_a_reply_like_others(server: Server) -> None:
    def says(body: dict) -> str:
        reply = json.dumps(value_for(wanted_schema(body) or {}, "d"))
        return "A boat." if len(server.bodies) == 2 else reply

    server.says = says
    assert server.run(Note, Note) == ([200, 200, 200], "json_schema")


def test_model_that_is_still_reasoning_gets_more_tokens_and_the_same_form(server: Server) -> None:
    thoughts = "<think>" + " ".join(f"Perhaps it weighs {i}." for i in range(4000))

    def says(body: dict) -> str:
        if body["max_tokens"] < 3000:
            return thoughts
        return json.dumps(value_for(wanted_schema(body) or {}, "d"))

    server.says = says
    assert server.run(Note) == ([200, 200], "json_schema")


def test_unsupported_schema_alone_is_described_in_the_prompt(server: Server) -> None:
    server.rejects = rejections.vllm
    assert server.run(Names, Note, Names, Note) == ([200, 400, 200, 200, 200], "json_schema")
    assert server.run(Note, Names) == ([200, 200], "json_schema")
    assert [structure_of(body) for body in server.bodies[-2:]] == ["prompt", "json_schema"]


def test_openai_reasoning_models(server: Server) -> None:
    server.rejects = rejections.openai_reasoning
    assert server.run(Note, None) == ([400, 400, 200, 200], "json_schema")
    assert server.run(Note) == ([200], "json_schema")  # stored
    assert "max_completion_tokens" in server.bodies[-1]
    assert "temperature" not in server.bodies[-1]


@pytest.mark.parametrize(
    "changed", [{"model": "n"}, {"version": "2"}, {"structured_output": "json_schema"}]
)
def test_other_model_version_or_structure_is_probed_by_itself(
    server: Server, changed: dict
) -> None:
    server.rejects = rejections.llama_cpp_python
    server.run(Note)
    server.rejects = accepts
    assert server.run(Note, **changed) == ([200], "json_schema")
    assert server.run(Note) == ([200], "prompt")


def test_check_of_the_models_probes_again(server: Server) -> None:
    server.rejects = rejections.llama_cpp_python
    server.run(Note)
    server.rejects = accepts
    language_model = next(iter(check_models(server.models())))
    assert (language_model.failure, language_model.structure) == ("", "json_schema")
    assert server.run(Note) == ([200], "json_schema")


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_outage_never_changes_the_form(server: Server, status: int) -> None:
    words = "The json_schema service is overloaded." if status == 503 else "Overloaded."
    left = [3]

    def rejects(body: dict) -> tuple[int, dict] | None:
        left[0] -= 1
        return (status, {"error": {"message": words}}) if left[0] >= 0 else None

    server.rejects = rejects
    with client_of(settings_for(server.url, max_retries=3)) as model:
        (reply,) = model.complete([Request("facts", "Say so.", schema=Note)])
        assert isinstance(reply, Completion)
        assert model.structure == "json_schema"
    assert server.statuses == [*[status] * 3, 200]


def test_unreachable_server_is_no_rejection() -> None:
    with client_of(settings_for("http://127.0.0.1:9/v1", max_retries=1)) as model:
        with pytest.raises(ModelUnavailableError):
            model.complete([Request("facts", "Say so.", schema=Note)] * 4)
        assert model.structure == "json_schema"


def test_overlong_prompt_is_no_complaint_about_the_form(server: Server) -> None:
    words = "This model's maximum context length is 512 tokens, you requested 900."
    server.rejects = lambda body: (400, {"error": {"message": words}})
    with client_of(settings_for(server.url)) as model:
        (reply,) = model.complete([Request("facts", "Say so.", schema=Note)])
        assert "maximum context length" in vars(reply)["message"]
        assert server.statuses == [400]
        assert model.structure == "json_schema"


def most_names(body: dict) -> int | None:
    return body["response_format"]["json_schema"]["schema"]["properties"]["names"].get("maxItems")


def test_lists_are_bounded_if_reply_tokens_are_limited(server: Server) -> None:
    server.run(Names)
    assert most_names(server.bodies[-1]) is None
    server.run(Names, max_reply_tokens=400)
    assert most_names(server.bodies[-1]) == 24
    server.rejects = rejections.azure
    assert server.run(Names, Names, max_reply_tokens=400) == ([400, 200, 200], "json_schema")
    assert most_names(server.bodies[-1]) is None


def test_lists_are_bounded_after_a_runaway_reply(server: Server) -> None:
    endless = '{"names": [' + ", ".join(f'"Name {i}"' for i in range(4000))
    server.says = lambda body: '{"names": ["a"]}' if most_names(body) else endless
    assert server.run(Names, Names)[0] == [200, 200, 200]
    assert [most_names(body) for body in server.bodies] == [None, 24, 24]


def test_schemas_are_strict_if_possible() -> None:
    def wanted(schema: type[BaseModel]) -> dict:
        request = Request("entities", "Name them.", schema=schema)
        return Form().parameters(request, 10)["response_format"]["json_schema"]

    chosen = wanted(Entities)
    assert chosen["strict"] is True
    relationship = chosen["schema"]["$defs"]["Relationship"]
    assert relationship["additionalProperties"] is False
    assert set(relationship["required"]) == set(relationship["properties"])
    assert "default" not in relationship["properties"]["strength"]
    assert relationship["properties"]["strength"]["maximum"] == 10
    assert wanted(Free)["strict"] is False
    assert "response_format" not in Form("prompt").parameters(
        Request("score", "Rate it.", schema=Score), 10
    )


@pytest.mark.parametrize(
    ("complaint", "changed"),
    [
        ("Unsupported parameter: 'max_tokens'.", Form(omitted=("max_tokens",))),
        ("Use 'max_completion_tokens' instead.", Form(omitted=("max_tokens",))),
        ("Unknown parameter: 'seed'", Form(omitted=("seed",))),
        ("'maxItems' is not permitted", Form(omitted=("bounds",))),
        ("stream_options is not supported", Form(omitted=("stream",))),
        ("no", Form("prompt")),
        ("the prompt is too long", None),
    ],
)
def test_complaint_changes_what_it_names(complaint: str, changed: Form | None) -> None:
    assert Form().adapted(Score, complaint) == changed
    again = changed.adapted(None, complaint) if changed else None
    assert again is None


@pytest.mark.parametrize(("status", "words", "rejected"), CASES["rejections"])
def test_rejections_are_recognized(status: int, words: str, rejected: bool) -> None:
    assert is_rejection(status, words) is rejected
