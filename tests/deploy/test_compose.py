"""The compose file: its parts agree, and its processes serve one home, here without containers."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from gsum_assets.cli.main import main
from gsum_resources.settings.schema import load_settings
from tests.servers.transformers_serve import free_port, wait_for
from tests.ui.served import eventually

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "compose"
COMPOSE = yaml.safe_load((FOLDER / "compose.yaml").read_text())
SERVICES: Mapping[str, Mapping[str, Any]] = COMPOSE["services"]
LINES = (FOLDER / "Containerfile").read_text().splitlines()
TOKEN = "0123456789abcdef0123456789abcdef"


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """A value with its variables as compose has them: `${A}`, `${A:-default}`, `${A:?message}`."""

    def value(match: re.Match[str]) -> str:
        name, kind, rest = match[1], match[2], match[3]
        if name in variables or kind == ":-":
            return variables.get(name, rest)
        raise KeyError(f"{name}: {rest}")

    return re.sub(r"\$\{(\w+)(?:(:[-?])([^}]*))?\}", value, text)


def instructions(name: str) -> list[str]:
    return [line.split(maxsplit=1)[1] for line in LINES if line.startswith(f"{name} ")]


@pytest.mark.parametrize("service", SERVICES)
def test_commands_are_of_gsum(service: str) -> None:
    name, *arguments = SERVICES[service]["command"]
    assert instructions("ENTRYPOINT") == ['["gsum"]']
    command = main.commands[name]
    # below the group: a command keeps the names of its help option from its first context
    parent = main.make_context("gsum", [name, *arguments])
    context = command.make_context(name, arguments, parent=parent)
    assert isinstance(context, click.Context)
    assert context.params["host"] == "0.0.0.0"


def test_the_services_share_home_and_image() -> None:
    assert set(SERVICES) == {"ui", "serve"}
    for service in SERVICES.values():
        assert service["volumes"] == ["${GSUM_HOME:-../../home}:/srv/gsum"]
        assert service["image"] == "gsum"
        assert service["environment"]["GSUM_HOME"] == "/srv/gsum"
        build = service["build"]
        assert (FOLDER / build["context"]).resolve() == ROOT
        assert (ROOT / build["dockerfile"]).samefile(FOLDER / "Containerfile")
        assert set(build["args"]) == {arg.partition("=")[0] for arg in instructions("ARG")}


def test_nothing_is_published_beyond_this_machine() -> None:
    for service in SERVICES.values():
        (port,) = service["ports"]
        address, outside, inside = port.split(":")
        assert address == "127.0.0.1"
        arguments = service["command"]
        assert outside == inside == arguments[arguments.index("--port") + 1]
        assert f"http://127.0.0.1:{inside}/" in service["healthcheck"]["test"][-1]


def test_the_service_does_not_start_without_a_token() -> None:
    token = SERVICES["serve"]["environment"]["GSUM_SERVE_TOKEN"]
    with pytest.raises(KeyError, match="set a token"):
        expanded(token, {})
    assert expanded(token, {"GSUM_SERVE_TOKEN": TOKEN}) == TOKEN
    assert expanded("${A:-x}/${B:-}", {}) == "x/"


@pytest.mark.parametrize("service", SERVICES)
def test_settings_know_the_variables(service: str, tmp_path: Path) -> None:
    given = {"GSUM_SERVE_TOKEN": TOKEN}
    environment = SERVICES[service]["environment"].items()
    load_settings(tmp_path / "gsum.toml", {name: expanded(v, given) for name, v in environment})


def test_what_is_copied_exists_and_is_not_ignored() -> None:
    kept = (ROOT / ".dockerignore").read_text().splitlines()
    assert kept[0] == "*"
    copied = [source for line in instructions("COPY") for source in line.split()[:-1]]
    assert {f"!{source}" for source in copied} == {line for line in kept if line.startswith("!")}
    assert all((ROOT / source).exists() for source in copied)
    python = re.search(r"python:(\S+?)-slim", instructions("FROM")[0])
    assert python
    assert f">={python[1]}" in (ROOT / "pyproject.toml").read_text()


@contextmanager
def running(service: str, home: Path) -> Iterator[str]:
    """The process of a service, as its container would start it, on a free port; its address."""
    port, log = str(free_port()), home / f"{service}.log"
    declared = SERVICES[service]
    command = list(declared["command"])
    command[command.index("--port") + 1] = port
    given = {"GSUM_SERVE_TOKEN": TOKEN}
    variables = {name: expanded(v, given) for name, v in declared["environment"].items()}
    environment = {**os.environ, **variables, "GSUM_HOME": str(home), "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = str(ROOT)
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "gsum_assets.cli.main", *command],
            env=environment,
            cwd=home,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    url = re.search(r"http://127.0.0.1:\d+(/\w+)", declared["healthcheck"]["test"][-1])
    assert url
    try:
        wait_for(f"http://127.0.0.1:{port}{url[1]}", process, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


@pytest.mark.slow
def test_the_same_processes_serve_one_home(tmp_path: Path) -> None:
    """A document that is dropped into the home is indexed by one and answered from by the other."""
    corpus = tmp_path / "corpora" / "harbour"
    corpus.mkdir(parents=True)
    (corpus / "ferry.txt").write_text("The pump of the ferry broke in March. Bob Teal mended it.\n")
    (corpus / "corpus.toml").write_text('methods = ["bm25"]\n')
    with ExitStack() as stack:
        addresses = {name: stack.enter_context(running(name, tmp_path)) for name in SERVICES}

        def reply(path: str, body: object = None, token: str = TOKEN) -> Any:
            request = urllib.request.Request(
                addresses["serve"] + path,
                json.dumps(body).encode() if body else None,
                {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
            )
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)

        def is_indexed() -> bool:
            (state,) = reply("/api/corpora")["corpora"]
            return "bm25" in state["methods"]

        eventually(is_indexed, "the daemon indexed the corpus", tmp_path / "ui.log")
        question = {"corpus": "harbour", "question": "What broke in March?", "method": "bm25"}
        assert "pump" in reply("/api/ask", question)["text"]
        with pytest.raises(urllib.error.HTTPError, match="401"):
            reply("/api/corpora", token="wrong")
