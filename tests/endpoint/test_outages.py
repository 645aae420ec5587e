"""A server that one process found away is away for all, until an answer ends the outage."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from gsum_resources.endpoint import Endpoint, outages
from gsum_resources.protocols.models import ModelUnavailableError
from gsum_resources.store.parquet_store import ParquetStore
from tests.endpoint.test_endpoint import send
from tests.servers.clients import settings_for
from tests.servers.scripted import ScriptedServer, scripted_server


@pytest.fixture
def endpoints(tmp_path: Path) -> Iterator:
    """A function from a URL to the client of another process of one home."""
    with ExitStack() as opened:

        def another(base_url: str, **settings) -> Endpoint:
            store = ParquetStore(str(tmp_path / "warehouse"), str(tmp_path / "state.db"))
            chosen = settings_for(base_url, max_retries=2, max_concurrent=4, **settings)
            endpoint = Endpoint(chosen, store, backoff_s=0.02)
            opened.callback(endpoint.close)
            return endpoint

        yield another


def error_of(endpoint: Endpoint) -> str:
    with pytest.raises(ModelUnavailableError) as raised:
        send(endpoint, [str(i) for i in range(20)])
    return str(raised.value)


def posts(server: ScriptedServer) -> int:
    return len(server.lines("/chat/completions"))


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2].partition("/")[0])


def test_twenty_processes_find_an_outage_out_once(endpoints, tmp_path: Path) -> None:
    with scripted_server(tmp_path / "log", every={"500": 1}) as server:
        url = server.base_url
        first = error_of(endpoints(url))
    with scripted_server(tmp_path / "later", port=port_of(url)) as server:  # nothing is in flight
        assert {error_of(endpoints(url)) for _ in range(19)} == {first}
        assert posts(server) == 0


def test_one_request_without_a_connection_is_enough(endpoints, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    url = f"http://127.0.0.1:{port}/v1"
    with pytest.raises(ModelUnavailableError, match=rf"{url} is away \(ConnectError"):
        endpoints(url).check()
    with pytest.raises(ModelUnavailableError, match=r"is away \(ConnectError"):
        send(endpoints(url), ["one"])
    with scripted_server(tmp_path / "log", port=port, first=("ok", "500")) as server:
        endpoints(url).check()
        send(endpoints(url), ["one"])
        (answer,) = send(endpoints(url), ["two"])
        assert answer.retries == 1  # patient as ever
        assert posts(server) == 3


def test_one_process_at_a_time_tries_again_with_single_attempts(
    endpoints, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted_server(tmp_path / "log", every={"500": 1}) as server:
        first = error_of(endpoints(server.base_url))
        monkeypatch.setattr(outages, "PROBE_EVERY_S", 0.0)
        began = time.time()  # the first may have left requests that are answered later
        assert error_of(endpoints(server.base_url)) == first
        lines = server.lines("/chat/completions")
        tried = [line["messages"] for line in lines if line["time"] >= began]
        assert tried
        assert len(set(tried)) == len(tried)  # none is repeated
        url = server.base_url
    monkeypatch.setattr(outages, "PROBE_EVERY_S", 3600.0)
    with scripted_server(tmp_path / "later", port=port_of(url)) as server:
        assert error_of(endpoints(url)) == first
        assert posts(server) == 0


def test_an_answer_ends_the_outage_for_all(
    endpoints, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    url = f"http://127.0.0.1:{port}/v1"
    assert "is away" in error_of(endpoints(url))
    with scripted_server(tmp_path / "log", port=port):
        assert "is away" in error_of(endpoints(url))  # nobody has tried again yet
        monkeypatch.setattr(outages, "PROBE_EVERY_S", 0.0)
        assert len(send(endpoints(url), ["a"])) == 1
        monkeypatch.setattr(outages, "PROBE_EVERY_S", 3600.0)
        assert len(send(endpoints(url), ["b"])) == 1


def test_a_check_does_not_end_an_outage_of_requests(endpoints, tmp_path: Path) -> None:
    with scripted_server(tmp_path / "log", every={"500": 1}) as server:
        first = error_of(endpoints(server.base_url))
        endpoints(server.base_url).check()  # its list of models is answered
        began = time.time()  # the first may have left requests that are answered later
        assert error_of(endpoints(server.base_url)) == first
        lines = server.lines("/chat/completions")
        assert 1 <= sum(line["time"] >= began for line in lines) < 2 * 4
        assert error_of(endpoints(server.base_url)) == first


def test_another_model_at_the_server_is_not_away(endpoints, tmp_path: Path) -> None:
    def fails(body: dict) -> tuple[int, dict] | None:
        return (500, {}) if body["model"] == "m" else None

    with scripted_server(tmp_path / "log", rejects=fails) as server:
        error_of(endpoints(server.base_url))
        assert len(send(endpoints(server.base_url, model="other"), ["a"])) == 1
