"""What a server supports is found out once, stored, and found out again when it has changed."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pydantic import BaseModel, Field

from gsum_assets.pipeline.tables import TABLES
from gsum_resources.models.by_work import Models
from gsum_resources.models.models_check import check_models
from gsum_resources.protocols.models import Completion, Request
from gsum_resources.settings.schema import Settings
from gsum_resources.store.parquet_store import ParquetStore
from tests.servers import rejections
from tests.servers.clients import settings_for
from tests.servers.raw import Raw, chat, raw_server
from tests.servers.replies import value_for, wanted_schema


class Note(BaseModel):
    title: str
    weight: int = Field(ge=1, le=10)


class Names(BaseModel):
    names: list[str]


def accepts(body: dict) -> tuple[int, dict] | None:
    return None


class Server:
    """A server that may change between runs, and the statuses and bodies of its answers."""

    def __init__(self) -> None:
        self.rejects: Callable[[dict], tuple[int, dict] | None] = accepts
        self.says: Callable[[dict], str] | None = None
        self.answers_as = "m"
        self.statuses: list[int] = []
        self.bodies: list[dict] = []
        self.url = ""

    def answer(self, body: dict) -> Raw:
        self.bodies.append(body)
        rejection = self.rejects(body)
        self.statuses.append(rejection[0] if rejection else 200)
        if rejection:
            return Raw(json.dumps(rejection[1]).encode(), rejection[0])
        says = self.says or (lambda body: json.dumps(value_for(wanted_schema(body) or {}, "d")))
        reply = json.loads(chat(content=says(body)).body)
        return Raw(json.dumps(reply | {"model": self.answers_as}).encode())


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    with raw_server(server.answer) as server.url:
        yield server


@contextmanager
def new_run(tmp_path: Path, server: Server, **settings: str) -> Iterator[Models]:
    """Yield the models of a new process with the database of the earlier ones."""
    llm = settings_for(server.url, **settings)
    yield Models(Settings(llm=llm), ParquetStore(str(tmp_path)), TABLES["llm_calls"])


def statuses_of_run(
    tmp_path: Path, server: Server, *schemas: type[BaseModel], **settings: str
) -> tuple[list[int], str]:
    """Return the statuses of the answers to a run's requests, and the format at its end."""
    server.statuses.clear()
    with new_run(tmp_path, server, **settings) as models:
        model = models.bare("language_model")
        for schema in schemas:
            (reply,) = model.complete([Request("facts", "Say so.", schema=schema)])
            assert isinstance(reply, Completion), reply
        return list(server.statuses), model.structure


def test_later_run_starts_from_what_is_stored(tmp_path: Path, server: Server) -> None:
    server.rejects = rejections.llama_cpp_python
    assert statuses_of_run(tmp_path, server, Note) == ([500, 200], "json_object_schema")
    assert statuses_of_run(tmp_path, server, Note) == ([200], "json_object_schema")
    assert statuses_of_run(tmp_path, server, Names) == ([200], "json_object_schema")


def test_omitted_parameters_are_stored(tmp_path: Path, server: Server) -> None:
    server.rejects = rejections.openai_reasoning
    assert statuses_of_run(tmp_path, server, Note) == ([400, 400, 200], "json_schema")
    assert statuses_of_run(tmp_path, server, Note) == ([200], "json_schema")
    assert "max_completion_tokens" in server.bodies[-1]


def test_lower_format_of_a_schema_is_stored_for_it_alone(tmp_path: Path, server: Server) -> None:
    server.rejects = rejections.vllm
    assert statuses_of_run(tmp_path, server, Names, Note) == ([200, 400, 400, 200], "json_schema")
    assert statuses_of_run(tmp_path, server, Note, Names) == ([200, 200], "json_schema")


@pytest.mark.parametrize(
    "changed", [{"model": "n"}, {"version": "2"}, {"structured_output": "json_schema"}]
)
def test_other_model_version_or_structure_is_probed_by_itself(
    tmp_path: Path, server: Server, changed: dict
) -> None:
    server.rejects = rejections.llama_cpp_python
    statuses_of_run(tmp_path, server, Note)
    server.rejects = accepts
    assert statuses_of_run(tmp_path, server, Note, **changed) == ([200], "json_schema")
    assert statuses_of_run(tmp_path, server, Note) == ([200], "json_object_schema")


def test_reply_of_another_model_starts_the_probe_anew(tmp_path: Path, server: Server) -> None:
    server.rejects = rejections.llama_cpp_python
    statuses_of_run(tmp_path, server, Note)
    server.rejects, server.answers_as = accepts, "m-2026"
    assert statuses_of_run(tmp_path, server, Note, Note) == ([200, 200], "json_schema")
    formats = [body["response_format"]["type"] for body in server.bodies[-2:]]
    assert formats == ["json_object", "json_schema"]
    assert statuses_of_run(tmp_path, server, Note) == ([200], "json_schema")


@pytest.mark.parametrize(
    ("rejects", "statuses", "form"),
    [
        (rejections.llama_cpp_python, [500, 200], "json_object"),
        # twice without a reason, a plain request, then each other format once
        (rejections.wordless, [500, 500, 200, 500, 500, 200], "guided_json"),
    ],
)
def test_rejection_of_the_stored_format_lowers_it(
    tmp_path: Path, server: Server, rejects: Callable, statuses: list[int], form: str
) -> None:
    assert statuses_of_run(tmp_path, server, Names) == ([200], "json_schema")
    server.rejects = rejects
    assert statuses_of_run(tmp_path, server, Names)[0] == statuses
    assert statuses_of_run(tmp_path, server, Names)[0] == [200]
    body = server.bodies[-1]
    assert body.get("response_format", {"type": "guided_json"})["type"] == form


def test_silently_ignored_schema_is_stored(tmp_path: Path, server: Server) -> None:
    def says(body: dict) -> str:
        is_ignored = body.get("response_format", {}).get("type") == "json_schema"
        return "A boat." if is_ignored else json.dumps(value_for(wanted_schema(body) or {}, "d"))

    server.says = says
    assert statuses_of_run(tmp_path, server, Note) == ([200, 200], "json_object_schema")
    assert statuses_of_run(tmp_path, server, Note) == ([200], "json_object_schema")


def test_single_prose_reply_among_valid_ones_is_not_stored(tmp_path: Path, server: Server) -> None:
    def says(body: dict) -> str:
        reply = json.dumps(value_for(wanted_schema(body) or {}, "d"))
        return "A boat." if len(server.bodies) == 2 else reply

    server.says = says
    run = statuses_of_run(tmp_path, server, Note, Note)
    assert run == ([200, 200, 200], "json_object_schema")
    assert statuses_of_run(tmp_path, server, Note) == ([200], "json_schema")


def test_check_of_the_models_probes_again(tmp_path: Path, server: Server) -> None:
    server.rejects = rejections.llama_cpp_python
    statuses_of_run(tmp_path, server, Note)
    server.rejects = accepts
    assert statuses_of_run(tmp_path, server, Note) == ([200], "json_object_schema")
    with new_run(tmp_path, server) as models:
        language_model = next(iter(check_models(models)))
        assert (language_model.failure, language_model.structure) == ("", "json_schema")
    assert statuses_of_run(tmp_path, server, Note) == ([200], "json_schema")
