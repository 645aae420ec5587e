"""Attacks over HTTP and sockets: each is bounded, and the service is well afterwards."""

import json
import logging
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest
from starlette.testclient import TestClient

from gsum_assets.serve.access import Access, Token
from gsum_assets.serve.app import new_app
from gsum_assets.serve.limits import Limits
from tests.conftest import CORPUS, House
from tests.serve.conftest import SECRETS, client_of, service_of, serving

ALL, ONE = "token-of-all-corpora", "token-of-one-corpus-"
QUESTION = {"corpus": SECRETS, "question": "What met the boat?", "method": "bm25"}
GUARDED = (
    ("GET", "/api/corpora"),
    ("POST", "/api/ask"),
    ("GET", f"/api/documents?corpus={SECRETS}"),
    ("GET", f"/api/graph?corpus={SECRETS}"),
    ("GET", "/api/openapi.json"),
    ("GET", "/api/none"),
    ("GET", "/api/tags"),
    ("GET", "/api/version"),
    ("POST", "/api/chat"),
    ("GET", "/v1/models"),
    ("POST", "/v1/chat/completions"),
    ("POST", "/v1/responses"),
    ("POST", "/v1/embeddings"),
    ("POST", "/v1/none"),
    ("POST", "/mcp"),
    ("GET", "/mcp"),
)
LIMITS = Limits(body_bytes=2**16, sending_s=0.5, connections=20)


@pytest.fixture(scope="module")
def guarded(indexed: House) -> Iterator[TestClient]:
    access = Access([Token.of(ALL), Token.of(ONE, [CORPUS])])
    with client_of(new_app(service_of(indexed), access)) as client:
        yield client


@pytest.fixture(scope="module")
def limited(indexed: House) -> Iterator[tuple[str, int]]:
    """Host and port of a service with small limits."""
    with serving(indexed, limits=LIMITS) as address:
        yield urlsplit(address).hostname or "", urlsplit(address).port or 0


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.parametrize(("method", "path"), GUARDED)
def test_nothing_is_answered_without_a_known_token(
    guarded: TestClient, method: str, path: str
) -> None:
    for headers in ({}, bearer(""), bearer("wrong-token-of-nobody"), bearer(ONE[:-1])):
        reply = guarded.request(method, path, headers=headers, json=QUESTION)
        assert reply.status_code == 401
        assert reply.headers["www-authenticate"] == "Bearer"
        assert SECRETS not in reply.text


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api/ask", QUESTION),
        ("POST", "/api/ask", {**QUESTION, "corpus": [CORPUS, SECRETS]}),
        ("POST", "/api/ask", {**QUESTION, "stream": True}),
        ("POST", "/api/search", {"corpus": SECRETS, "query": "boat"}),
        ("GET", f"/api/documents?corpus={SECRETS}", None),
        ("GET", f"/api/document?corpus={SECRETS}&id=vault", None),
        ("GET", f"/api/passage?corpus={SECRETS}&id=x", None),
        ("GET", f"/api/graph?corpus={SECRETS}", None),
        ("GET", f"/api/graph/nodes?corpus={SECRETS}&graph=passages", None),
        ("GET", f"/v1/models/{SECRETS}", None),
        (
            "POST",
            "/v1/chat/completions",
            {"model": f"{SECRETS}/bm25", "messages": [{"role": "user", "content": "?"}]},
        ),
        (
            "POST",
            "/api/chat",
            {"model": f"{SECRETS}/bm25", "messages": [{"role": "user", "content": "?"}]},
        ),
        ("POST", "/v1/responses", {"model": SECRETS, "input": "?"}),
        ("POST", "/v1/embeddings", {"model": SECRETS, "input": "?"}),
    ],
)
def test_a_token_does_not_open_other_corpora(
    guarded: TestClient, method: str, path: str, body: dict | None
) -> None:
    assert guarded.request(method, path, headers=bearer(ALL), json=body).status_code != 403
    refused = guarded.request(method, path, headers=bearer(ONE), json=body)
    assert refused.status_code == 403
    # a corpus that does not exist is refused in the same words
    absent = guarded.request(
        method,
        path.replace(SECRETS, "absentt"),
        headers=bearer(ONE),
        json=json.loads(json.dumps(body).replace(SECRETS, "absentt")),
    )
    assert absent.status_code == 403
    assert absent.text.replace("absentt", SECRETS) == refused.text


def test_a_token_sees_its_corpora_alone(guarded: TestClient) -> None:
    listed = guarded.get("/api/corpora", headers=bearer(ONE)).json()["corpora"]
    assert [state["corpus"] for state in listed] == [CORPUS]
    for path in ("/v1/models", "/api/tags"):
        assert SECRETS not in guarded.get(path, headers=bearer(ONE)).text
        assert SECRETS in guarded.get(path, headers=bearer(ALL)).text


def test_the_page_and_health_need_no_token_and_hold_nothing(guarded: TestClient) -> None:
    assert guarded.get("/health").json() == {"status": "ok"}
    page = guarded.get("/")
    assert page.status_code == 200
    assert CORPUS not in page.text
    assert "script-src 'self'" in page.headers["content-security-policy"]


def test_no_token_is_logged(guarded: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    guarded.post("/api/ask", headers=bearer(ALL), content=b"{")
    guarded.get("/api/corpora", headers=bearer("wrong-token-of-nobody"))
    guarded.get(f"/api/corpora?token={ALL}")
    assert ALL not in caplog.text.replace(f"?token={ALL}", "")
    assert "wrong-token" not in caplog.text


@pytest.mark.parametrize(
    "headers", [{"Host": "evil.example"}, {"Host": "localhost", "Origin": "http://evil.example"}]
)
@pytest.mark.parametrize("path", ["/", "/api/corpora", "/v1/models", "/mcp"])
def test_a_page_elsewhere_cannot_ask_through_a_browser(
    client: TestClient, headers: dict[str, str], path: str
) -> None:
    reply = client.get(path, headers=headers)
    assert reply.status_code == 403
    assert CORPUS not in reply.text
    assert "access-control-allow-origin" not in reply.headers


@pytest.mark.parametrize(
    "name", ["..", "/etc", "tales/../secrets", ".", "", "tales\0", "%2e%2e", "a" * 5_000]
)
def test_no_name_of_a_corpus_leaves_the_folder(client: TestClient, name: str) -> None:
    for reply in (
        client.get("/api/documents", params={"corpus": name}),
        client.post("/api/ask", json={**QUESTION, "corpus": name}),
        client.post("/v1/chat/completions", json={"model": name, "messages": [{"role": "user"}]}),
    ):
        assert reply.status_code in (400, 404)
        assert "root:" not in reply.text


@pytest.mark.parametrize("path", ["/../../pyproject.toml", "/..%2f..%2fapp.py", "/app.py"])
def test_no_path_leaves_the_page(client: TestClient, path: str) -> None:
    reply = client.get(path)
    assert reply.status_code == 404
    assert "import" not in reply.text


def talk(place: tuple[str, int], *pieces: bytes) -> bytes:
    """Send pieces, and return all that is received until the connection is closed.

    The service may close it before everything is sent.
    """
    with socket.create_connection(place, timeout=60) as connection:
        try:
            for piece in pieces:
                connection.sendall(piece)
        except (BrokenPipeError, ConnectionResetError):
            pass
        return received(connection)


def received(connection: socket.socket) -> bytes:
    parts = []
    try:
        while part := connection.recv(2**16):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def status(reply: bytes) -> int:
    return int(reply.split(b" ", 2)[1])


def head(method: str, path: str, *headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *headers, "", ""]
    return "\r\n".join(lines).encode()


def is_well(place: tuple[str, int]) -> bool:
    return status(talk(place, head("GET", "/health", "Connection: close"))) == 200


def test_an_endless_body_is_not_read(limited: tuple[str, int]) -> None:
    request = head("POST", "/api/ask", "Transfer-Encoding: chunked")
    chunk = b"10000\r\n" + b"x" * 2**16 + b"\r\n"
    reply = talk(limited, request, *[chunk] * 1_600)  # the connection is closed long before
    assert not reply or status(reply) == 413
    assert is_well(limited)


def test_headers_that_never_end_are_refused(limited: tuple[str, int]) -> None:
    reply = talk(limited, b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 10 * 2**14)
    assert not reply or status(reply) in (400, 431)
    assert is_well(limited)


@pytest.mark.slow
@pytest.mark.parametrize(
    "sent",
    [
        [],
        [b"GET /health HTTP/1.1\r\nHost: local"],
        [head("POST", "/api/ask", "Content-Length: 100"), b"{"],
    ],
    ids=["nothing", "half a header", "half a body"],
)
def test_a_client_that_stops_sending_is_closed(
    limited: tuple[str, int], sent: Sequence[bytes]
) -> None:
    reply = talk(limited, *sent)  # returns once the service has closed the connection
    assert not reply or status(reply) == 408
    assert is_well(limited)


@pytest.mark.slow
def test_a_kept_connection_that_stops_sending_is_closed(limited: tuple[str, int]) -> None:
    reply = talk(limited, head("GET", "/health"), b"GET /hea")
    assert status(reply) == 200
    assert reply.count(b"HTTP/1.1") == 1
    assert is_well(limited)


@pytest.mark.slow
def test_more_connections_than_the_limit_are_closed(limited: tuple[str, int]) -> None:
    with ExitStack() as stack:
        held = [
            stack.enter_context(socket.create_connection(limited, timeout=60)) for _ in range(100)
        ]
        # all are closed, those beyond the limit at once, the others since they send nothing
        assert [received(connection) for connection in held] == [b""] * 100
    assert is_well(limited)


@pytest.mark.slow
@pytest.mark.parametrize(
    "request_",
    [
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"\0" * 1_000,
    ],
)
def test_what_is_no_request_is_refused(limited: tuple[str, int], request_: bytes) -> None:
    reply = talk(limited, request_)
    assert not reply or status(reply) in (400, 403)
    assert is_well(limited)
