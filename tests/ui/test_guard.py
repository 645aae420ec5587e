"""What the guard before the Dagster UI lets through: pages of the UI, and programs."""

from pathlib import Path

import pytest
from starlette.datastructures import Headers

from gsum_assets.cli.ui import (
    UiLog,
    UnprotectedError,
    choose_port,
    require_protection,
)
from gsum_assets.serve.server import PortError, address_of
from gsum_resources.dagster_io.guard import RefuseForeignRequests, changes_something

HERE = {"host": "127.0.0.1:3000"}
LINK = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}


async def app(*_: object) -> None:
    """Answer nothing."""


def refusal(headers: dict[str, str], method: str = "POST", path: str = "/graphql") -> str | None:
    guard = RefuseForeignRequests(app, ["gsum.example.org"])
    return guard.refusal(Headers(headers), method, path)


@pytest.mark.parametrize(
    "headers",
    [
        HERE,
        {"host": "localhost:8080", "origin": "http://localhost:8080"},  # ssh -L 8080:localhost:3000
        {"host": "[::1]:3000", "origin": "http://[::1]:3000"},
        {"host": "10.0.0.7:3000", "origin": "http://10.0.0.7:3000"},
        {"host": "gsum.example.org", "origin": "https://gsum.example.org"},
        {"host": "GSUM.example.org:443", "origin": "https://gsum.example.org"},
        HERE | {"origin": "https://gsum.example.org"},  # a proxy that replaces the header Host
        HERE | {"origin": "http://127.0.0.1:3000", "sec-fetch-site": "same-origin"},
        HERE | {"sec-fetch-site": "none"},
    ],
)
def test_pages_of_the_ui_and_programs_are_answered(headers: dict[str, str]) -> None:
    assert refusal(headers) is None


@pytest.mark.parametrize(
    ("headers", "named"),
    [
        ({}, "header Host"),
        ({"host": "evil.example:3000"}, "'evil.example'"),  # DNS rebinding
        ({"host": "[::1"}, "header Host"),
        (HERE | {"origin": "https://evil.example"}, "'https://evil.example'"),
        (HERE | {"origin": "http://127.0.0.1:8888"}, "127.0.0.1:8888"),  # another server here
        (HERE | {"origin": "http://127.0.0.1"}, "another origin"),
        (HERE | {"origin": "null"}, "'null'"),
        (HERE | {"sec-fetch-site": "cross-site"}, "'cross-site'"),
        (HERE | LINK | {"sec-fetch-site": "cross-site"}, "'cross-site'"),
    ],
)
def test_requests_of_other_sites_are_refused(headers: dict[str, str], named: str) -> None:
    assert named in (refusal(headers) or "")


def test_link_on_another_site_opens_a_page_but_no_frame() -> None:
    foreign = HERE | LINK | {"sec-fetch-site": "cross-site"}
    assert refusal(foreign, "GET", "/assets/chunks") is None
    assert refusal(foreign | {"sec-fetch-dest": "iframe"}, "GET", "/assets/chunks")
    assert refusal(foreign, "GET", "/graphql")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("{ version }", False),
        ("mutation { x }", True),
        ("query a { version } mutation b { x }", True),  # operationName could choose it
        ("# query\nmutation{x}", True),
        ("subscription { x }", True),
        ("{ no query", False),
        ("", False),
    ],
)
def test_operations_that_may_change_something_are_known(query: str, expected: bool) -> None:
    assert changes_something(query) is expected


def test_other_addresses_than_loopback_need_protection() -> None:
    for host in ("127.0.0.1", "127.8.0.1", "::1", "localhost"):
        require_protection(host, is_protected=False)
    for host in ("0.0.0.0", "::", "10.0.0.7", "example.org", ""):
        require_protection(host, is_protected=True)
        with pytest.raises(UnprotectedError, match=r"no login|a login.*--read-only"):
            require_protection(host, is_protected=False)


def test_port_in_use_is_an_error_if_it_was_named() -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PortError, match=f"--port {port}"):
            choose_port("127.0.0.1", port)
        assert choose_port("127.0.0.1", None) != port


def test_address_is_one_that_a_browser_here_reaches() -> None:
    assert address_of("0.0.0.0", 3000) == "http://127.0.0.1:3000"
    assert address_of("::1", 3000) == "http://[::1]:3000"


def test_log_has_all_lines_and_the_terminal_errors(tmp_path: Path) -> None:
    lines = [
        "\x1b[32m2026-11-25 12:00:00 +0000\x1b[0m - dagster.daemon - INFO - Checking",
        "2026-11-25 12:00:01 +0000 - dagster - ERROR - gor_scores failed",
        "Stack Trace:",
        "2026-11-25 12:00:02 +0000 - dagster.daemon - INFO - Checking an ERROR",
        "INFO:     Started",
        "ERROR:    Exception in ASGI application",
    ]
    shown: list[str] = []
    for _ in range(2):
        shown.clear()
        log = UiLog(tmp_path / "ui.log", shown.append)
        for line in lines:
            log.write(line)
        assert shown == [lines[1], lines[2], lines[5]]
        written = (tmp_path / "ui.log").read_text().splitlines()
        assert written[1:] == lines[1:]
        assert written[0].startswith("2026-11-25")  # without colours
    assert (tmp_path / "ui.log.1").read_text() == (tmp_path / "ui.log").read_text()
