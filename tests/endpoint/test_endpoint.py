"""Real sockets: what fails is tried again, what is hopeless ends at once, the key shows nowhere."""

import asyncio
import logging
import socket
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gsum_resources.endpoint import Endpoint, EndpointError, client
from gsum_resources.endpoint.rate_limit import RateLimiter
from gsum_resources.protocols.models import ModelUnavailableError
from gsum_resources.settings.schema import SettingsError
from gsum_resources.store.parquet_store import ParquetStore
from tests.servers.clients import settings_for
from tests.servers.scripted import ScriptedServer, scripted_server

KEY = "sk-Zq81MarkedKeyWxyz"


@contextmanager
def endpoint_at(base_url: str, store: Path | None = None, **settings: Any) -> Iterator[Endpoint]:
    chosen = settings_for(base_url, **{"timeout_s": 20.0, "max_retries": 4} | settings)
    endpoint = Endpoint(chosen, ParquetStore(str(store)) if store else None, backoff_s=0.02)
    try:
        yield endpoint
    finally:
        endpoint.close()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "requests.jsonl"


def send(endpoint: Endpoint, texts: list[str], tokens_out: int = 100, **options: Any) -> list[Any]:
    """Answers, or the errors of those requests that got none."""

    async def one(text: str) -> Any:
        body = {"model": endpoint.settings.model, "messages": [{"role": "user", "content": text}]}
        try:
            return await endpoint.post("/chat/completions", body, tokens_out, content_of)
        except EndpointError as error:
            return error

    return endpoint.map(one, texts, **options)


def content_of(reply: Any) -> str:
    return reply["choices"][0]["message"]["content"]


@pytest.mark.parametrize("fault", ["429", "500", "stall", "truncate", "garbage"])
def test_each_fault_is_recovered(log: Path, fault: str) -> None:
    with (
        scripted_server(log, first=(fault, "ok", fault, fault), retry_after="0.05") as server,
        endpoint_at(server.base_url, timeout_s=0.5, max_concurrent=1) as endpoint,
    ):
        first, second = send(endpoint, ["a", "b"])
        assert [first.retries, second.retries] == [1, 2]
        assert "a" in first.value
        assert (first.tokens_in, first.tokens_out) == (1, 7)
        assert [line["fault"] for line in server.lines()] == [fault, "", fault, fault, ""]


def test_concurrent_requests_survive_every_fault(log: Path) -> None:
    every = {"429": 5, "500": 7, "stall": 31, "truncate": 11, "garbage": 13}
    received: dict[int, str] = {}
    with (
        scripted_server(log, every=every, retry_after="0.05") as server,
        endpoint_at(server.base_url, timeout_s=1, max_concurrent=16, max_retries=25) as endpoint,
    ):
        texts = [f"text {i}" for i in range(150)]
        answers = send(
            endpoint, texts, on_value=lambda i, answer: received.update({i: answer.value})
        )
        assert all(text in answer.value for text, answer in zip(texts, answers, strict=True))
        assert received == {i: answer.value for i, answer in enumerate(answers)}
        answered = Counter(
            line["messages"]
            for line in server.lines()
            if line["status"] == 200 and not line["fault"]
        )
        assert set(answered.values()) == {1}  # answered requests are not repeated
        assert len(server.lines()) == 150 + sum(answer.retries for answer in answers)


def test_failing_text_costs_only_itself(log: Path) -> None:
    with (
        scripted_server(log, always_fail="poison") as server,
        endpoint_at(server.base_url, max_concurrent=2, max_retries=1) as endpoint,
    ):
        texts = [f"{'poison ' if i % 3 == 0 else ''}{i}" for i in range(30)]
        answers = send(endpoint, texts)
        failed = [i for i, answer in enumerate(answers) if isinstance(answer, EndpointError)]
        assert failed == list(range(0, 30, 3))
        assert answers[0].retries == 1
        assert str(answers[0]).startswith(f"no usable answer from {server.base_url}: 500: ")
        assert str(answers[0]).endswith(", tried 2 times")


def test_server_without_answers_ends_the_work(log: Path) -> None:
    with (
        scripted_server(log, every={"500": 1}) as server,
        endpoint_at(server.base_url, max_concurrent=4, max_retries=1) as endpoint,
    ):
        with pytest.raises(ModelUnavailableError, match=r"is away: 4 requests in a row.*500") as e:
            send(endpoint, [str(i) for i in range(1000)])
        assert server.base_url in str(e.value)
        assert "base_url in [llm] of gsum.toml" in str(e.value)
        assert len(server.lines()) < 20


def test_requested_pause_holds_all_requests(log: Path) -> None:
    with (
        scripted_server(log, first=("429",), retry_after="0.7", latency_s=0.05) as server,
        endpoint_at(server.base_url, max_concurrent=2) as endpoint,
    ):
        send(endpoint, [str(i) for i in range(8)])
        times = [line["time"] for line in server.lines()]
        assert max(later - sooner for sooner, later in pairwise(times)) >= 0.6


def test_limits_hold_across_callers(log: Path, tmp_path: Path, monkeypatch) -> None:
    """Three endpoints at once, as of three processes, and one that finds their window."""
    window_s, n_requests, n_tokens = 1.0, 20, 1500
    monkeypatch.setattr(
        RateLimiter.__init__, "__defaults__", (None, time.monotonic, window_s + 0.4)
    )
    limits = {"requests_per_minute": n_requests, "tokens_per_minute": n_tokens}

    def ask_all(number: int) -> None:
        with endpoint_at(server.base_url, tmp_path, max_concurrent=64, **limits) as endpoint:
            send(endpoint, [f"{number}: {i} " * 60 for i in range(6)], tokens_out=60)

    with scripted_server(log, every={"500": 5}) as server:
        threads = [threading.Thread(target=ask_all, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ask_all(3)
        lines = server.lines()
    windows = [
        [line for line in lines if first["time"] <= line["time"] < first["time"] + window_s]
        for first in lines
    ]
    assert len(lines) > 24
    assert max(map(len, windows)) <= n_requests
    assert max(sum(line["tokens"] for line in window) for window in windows) <= n_tokens


def test_callers_may_have_a_running_loop_or_many_threads(log: Path) -> None:
    with scripted_server(log) as server, endpoint_at(server.base_url, max_concurrent=3) as endpoint:

        async def inside() -> list[Any]:
            return send(endpoint, ["inside"])

        assert "inside" in asyncio.run(inside())[0].value
        found: list[Any] = []
        threads = [
            threading.Thread(target=lambda i=i: found.extend(send(endpoint, [f"t{i}", f"u{i}"])))
            for i in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 16


def test_callback_error_ends_the_work(log: Path) -> None:
    def full(index: int, answer: Any) -> None:
        raise OSError("disk full")

    with (
        scripted_server(log, latency_s=0.01) as server,
        endpoint_at(server.base_url, max_concurrent=2) as endpoint,
    ):
        with pytest.raises(OSError, match="disk full"):
            send(endpoint, [str(i) for i in range(1000)], on_value=full)
        time.sleep(0.3)
        n_seen = len(server.lines())
        time.sleep(0.3)
        assert len(server.lines()) == n_seen < 1000


def test_no_item_is_taken_after_an_error(log: Path) -> None:
    started: list[int] = []

    async def work(item: int) -> None:
        started.append(item)
        await asyncio.sleep(0)  # all workers go on in one pass of the loop
        if item == 0:
            raise RuntimeError("the first fails")

    with (
        scripted_server(log) as server,
        endpoint_at(server.base_url, max_concurrent=3) as endpoint,
        pytest.raises(RuntimeError, match="the first fails"),
    ):
        endpoint.map(work, range(9))
    assert started == [0, 1, 2]


def test_no_more_is_sent_while_values_are_not_consumed(log: Path) -> None:
    sent: list[int] = []
    with scripted_server(log) as server, endpoint_at(server.base_url, max_concurrent=2) as endpoint:

        def consume(*_: object) -> None:
            if not sent:
                time.sleep(1.0)
                sent.append(len(server.lines()))

        assert len(send(endpoint, [f"text {i}" for i in range(40)], on_value=consume)) == 40
    assert 0 < sent[0] <= 8


def test_missing_key_raises_before_any_request(log: Path, monkeypatch) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)  # not the configured one
    with (
        scripted_server(log) as server,
        endpoint_at(server.base_url, api_key_env="MY_KEY") as endpoint,
    ):
        for work in (endpoint.check, lambda: send(endpoint, ["a"])):
            with pytest.raises(SettingsError, match="MY_KEY is not set"):
                work()
        assert server.lines() == []


@pytest.mark.parametrize("given", [KEY, ""])
def test_refused_key_ends_the_work_and_is_never_shown(
    log: Path, monkeypatch, caplog, given: str
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    for name in ("", "openai", "httpx2", "httpcore2", "asyncio"):
        caplog.set_level(logging.DEBUG, name)
    with (
        scripted_server(log, key="sk-another-key-9876543") as server,
        endpoint_at(server.base_url, api_key_env="MY_KEY" if given else "") as endpoint,
    ):
        seen = [repr(endpoint), repr(vars(endpoint)), repr(vars(endpoint._connection))]
        for work in (endpoint.check, lambda: send(endpoint, [str(i) for i in range(500)])):
            message = (
                "refuses the key in environment variable MY_KEY" if given else "requires a key"
            )
            with pytest.raises(ModelUnavailableError, match=message) as error:
                work()
            seen += [str(error.value), *all_tracebacks(error.value)]
        assert len(server.lines()) < 50
    seen += [str(vars(record)) for record in caplog.records]
    assert not any(KEY in text or KEY[:7] in text or KEY[-4:] in text for text in seen)


def all_tracebacks(error: BaseException) -> Iterator[str]:
    """The traceback of an error and of its causes, suppressed or not."""
    yield "".join(traceback.format_exception(error))
    for other in (error.__cause__, error.__context__):
        if other is not None:
            yield from all_tracebacks(other)


def test_check_accepts_servers_without_a_model_list(log: Path) -> None:
    with (
        scripted_server(log) as server,
        endpoint_at(server.base_url.removesuffix("/v1") + "/other") as endpoint,
    ):
        endpoint.check()  # 404
        with pytest.raises(ModelUnavailableError, match="correct base_url"):
            send(endpoint, ["a", "b"])


def test_unknown_model_is_named(log: Path) -> None:
    with scripted_server(log, models=("n",)) as server, endpoint_at(server.base_url) as endpoint:
        endpoint.check()
        with pytest.raises(ModelUnavailableError, match=r"has no model 'm' .* model in \[llm\]"):
            send(endpoint, ["a"])


def test_configured_key_is_sent_and_masked_in_a_reply(log: Path, monkeypatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-must-not-be-sent")
    with (
        scripted_server(log, key=KEY) as server,
        endpoint_at(server.base_url, api_key_env="MY_KEY") as endpoint,
    ):
        endpoint.check()
        assert send(endpoint, [f"echo {KEY}"])[0].value.endswith("echo [key]")


@pytest.fixture
def endpoint_of() -> Iterator[Callable[[str], Endpoint]]:
    """A function from a URL to a client with two retries."""
    with ExitStack() as opened:

        def opens(base_url: str) -> Endpoint:
            chosen = settings_for(base_url, max_retries=2, max_concurrent=4)
            endpoint = Endpoint(chosen, backoff_s=0.02)
            opened.callback(endpoint.close)
            return endpoint

        yield opens


def error_of(endpoint: Endpoint) -> str:
    with pytest.raises(ModelUnavailableError) as raised:
        send(endpoint, [str(i) for i in range(20)])
    return str(raised.value)


def posts(server: ScriptedServer, since: float = 0.0) -> list[str]:
    lines = server.lines("/chat/completions")
    return [line["messages"] for line in lines if line["time"] >= since]


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2].partition("/")[0])


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        return closed.getsockname()[1]


def test_an_outage_is_found_out_once(endpoint_of, tmp_path: Path) -> None:
    with scripted_server(tmp_path / "log", every={"500": 1}) as server:
        url = server.base_url
        endpoint = endpoint_of(url)
        first = error_of(endpoint)
    with scripted_server(tmp_path / "later", port=port_of(url)) as server:  # nothing is in flight
        assert {error_of(endpoint) for _ in range(3)} == {first}
        assert posts(server) == []


def test_one_request_without_a_connection_is_enough(endpoint_of, tmp_path: Path) -> None:
    port = closed_port()
    url = f"http://127.0.0.1:{port}/v1"
    endpoint = endpoint_of(url)
    with pytest.raises(ModelUnavailableError, match=rf"{url} is away \(ConnectError"):
        endpoint.check()
    with pytest.raises(ModelUnavailableError, match=r"is away \(ConnectError"):
        send(endpoint_of(url), ["one"])
    with scripted_server(tmp_path / "log", port=port, first=("ok", "500")) as server:
        endpoint.check()
        send(endpoint, ["one"])
        (answer,) = send(endpoint, ["two"])
        assert answer.retries == 1  # patient as ever
        assert len(posts(server)) == 3


def test_single_attempts_while_the_server_is_away(
    endpoint_of, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted_server(tmp_path / "log", every={"500": 1}) as server:
        url = server.base_url
        endpoint = endpoint_of(url)
        first = error_of(endpoint)
        monkeypatch.setattr(client, "_PROBE_EVERY_S", 0.0)
        began = time.time()  # the first may have left requests that are answered later
        assert error_of(endpoint) == first
        tried = posts(server, began)
        assert tried
        assert len(set(tried)) == len(tried)  # none is repeated
    monkeypatch.setattr(client, "_PROBE_EVERY_S", 3600.0)
    with scripted_server(tmp_path / "later", port=port_of(url)) as server:
        assert error_of(endpoint) == first
        assert posts(server) == []


def test_an_answer_ends_the_outage(
    endpoint_of, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = closed_port()
    endpoint = endpoint_of(f"http://127.0.0.1:{port}/v1")
    assert "is away" in error_of(endpoint)
    with scripted_server(tmp_path / "log", port=port):
        assert "is away" in error_of(endpoint)  # it has not tried again yet
        monkeypatch.setattr(client, "_PROBE_EVERY_S", 0.0)
        assert len(send(endpoint, ["a"])) == 1
        monkeypatch.setattr(client, "_PROBE_EVERY_S", 3600.0)
        assert len(send(endpoint, ["b"])) == 1


def test_a_check_does_not_end_an_outage_of_requests(endpoint_of, tmp_path: Path) -> None:
    with scripted_server(tmp_path / "log", every={"500": 1}) as server:
        endpoint = endpoint_of(server.base_url)
        first = error_of(endpoint)
        endpoint.check()  # its list of models is answered
        began = time.time()  # the first may have left requests that are answered later
        assert error_of(endpoint) == first
        assert 1 <= len(posts(server, began)) < 2 * 4
        assert error_of(endpoint) == first
