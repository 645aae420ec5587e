"""The guard before the real webserver, started in the folder of another project."""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ui.served import eventually, served

pytestmark = pytest.mark.slow

READ, MUTATION = "{ __typename }", "mutation { __typename }"
SET_SENSOR = """mutation { reloadWorkspace { __typename ... on UnauthorizedError { message } } }"""
LOCATIONS = """{ workspaceOrError { ... on Workspace { locationEntries {
    name loadStatus locationOrLoadError { __typename } } } } }"""


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of another project of Dagster, with modules that would hide others."""
    folder = tmp_path_factory.mktemp("foreign")
    (folder / "workspace.yaml").write_text("load_from: [{python_file: elsewhere.py}]\n")
    (folder / "pyproject.toml").write_text('[tool.dagster]\nmodule_name = "elsewhere"\n')
    (folder / "dagster.yaml").write_text("nonsense: 1\n")
    (folder / ".env").write_text(f"GSUM_HOME={folder / 'wrong'}\n")
    (folder / "queue.py").write_text("raise SystemExit('foreign')\n")
    (folder / "gsum_assets").mkdir()
    (folder / "gsum_assets" / "__init__.py").write_text("raise SystemExit('foreign')\n")
    return folder


@pytest.fixture(scope="module", params=[(), ("--read-only", "--host", "0.0.0.0")])
def ui(
    request: pytest.FixtureRequest, foreign: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Path, bool]]:
    """Address, home, and whether it is read-only."""
    home = tmp_path_factory.mktemp("home")
    with served(home, arguments=request.param, folder=foreign) as address:
        eventually(
            lambda: " shows " in (home / "printed.log").read_text(), "ready", home / "printed.log"
        )
        yield address, home, bool(request.param)


def status_of(address: str, query: str, method: str = "POST", **headers: str) -> tuple[int, str]:
    url, body = f"{address}/graphql", json.dumps({"query": query}).encode()
    if method == "GET":
        url, body = f"{url}?query={urllib.parse.quote(query)}", None
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(
        url, body, {"Content-Type": "application/json", **named}, method=method
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_only_reading_requests_are_answered_by_get(ui: tuple[str, Path, bool]) -> None:
    address = ui[0]
    assert status_of(address, MUTATION, "GET")[0] == 405
    assert status_of(address, READ, "GET") == (200, '{"data":{"__typename":"Query"}}')


def test_requests_of_other_sites_reach_no_graphql(ui: tuple[str, Path, bool]) -> None:
    address = ui[0]
    for query in (READ, MUTATION):
        assert status_of(address, query, Origin="http://evil.example")[0] == 403
        assert status_of(address, query, Host="evil.example")[0] == 403
        assert status_of(address, query, Sec_Fetch_Site="cross-site")[0] == 403
        assert status_of(address, query, Origin=address)[0] == 200
        assert status_of(address, query)[0] == 200


def test_websockets_of_other_sites_are_refused(ui: tuple[str, Path, bool]) -> None:
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    url = ui[0].replace("http", "ws") + "/graphql"
    with connect(url, origin=ui[0], subprotocols=["graphql-ws"]) as socket:  # pyright: ignore
        socket.send('{"type": "connection_init"}')
        assert json.loads(socket.recv(60)) == {"type": "connection_ack"}
    with pytest.raises(InvalidStatus, match="403"):
        connect(url, origin="http://evil.example")  # pyright: ignore


def test_gsum_is_loaded_whatever_is_in_the_folder(ui: tuple[str, Path, bool]) -> None:
    address, home, _ = ui
    _, answer = status_of(address, LOCATIONS)
    (entry,) = json.loads(answer)["data"]["workspaceOrError"]["locationEntries"]
    assert entry["name"] == "gsum"
    assert entry["locationOrLoadError"] == {"__typename": "RepositoryLocation"}
    last = (home / "printed.log").read_text().splitlines()[-1]
    assert last == f"{address} shows {home}; log: {home}/dagster/ui.log"
    assert "dagster-webserver - INFO" in (home / "dagster" / "ui.log").read_text()


def test_read_only_ui_changes_nothing(ui: tuple[str, Path, bool]) -> None:
    address, home, is_read_only = ui
    _, answer = status_of(address, SET_SENSOR)
    assert ("UnauthorizedError" in answer) == is_read_only
    assert ("dagster.daemon" in (home / "dagster" / "ui.log").read_text()) != is_read_only


def test_other_addresses_are_refused_at_once(tmp_path: Path) -> None:
    command = [str(Path(sys.executable).with_name("gsum")), "ui", "--host", "0.0.0.0"]
    environment = {**os.environ, "GSUM_HOME": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1
    assert "--read-only" in done.stderr
    assert "--login-is-before-it" in done.stderr
    assert list(tmp_path.iterdir()) == []
