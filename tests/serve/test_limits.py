"""Limits of requests, over an application that records what reaches it."""

import asyncio
import base64
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.types import Message, Receive, Scope, Send

from gsum_assets.serve.access import CLIENT
from gsum_assets.serve.limits import Limited, Limits, Rate

LIMITS = Limits(body_bytes=100, sending_s=30, idle_s=30)


class Recording:
    """An application that reads its body and replies with its length."""

    def __init__(self, never_ends: bool = False) -> None:
        self.bodies: list[bytes] = []
        self._never_ends = never_ends

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        message = await receive()
        assert not message["more_body"]
        self.bodies.append(message["body"])
        if self._never_ends:
            await asyncio.Event().wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": str(len(message["body"])).encode()})


def exchange(
    app: Limited,
    pieces: Sequence[bytes] | None,
    headers: dict[str, str] | None = None,
    **fields: object,
) -> tuple[int, dict[str, str], bytes, int]:
    """Send a body in pieces; None: a client that sends nothing. Return also the pieces left."""
    left = list(pieces or ())
    sent: list[Message] = []

    async def receive() -> Message:
        if pieces is None:
            await asyncio.Event().wait()
        body = left.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(left)}

    async def send(message: Message) -> None:
        sent.append(message)

    pairs = [(k.encode(), v.encode()) for k, v in (headers or {}).items()]
    scope = {"type": "http", "method": "POST", "path": "/", "headers": pairs}
    scope |= {"query_string": b"", "client": ("127.0.0.1", 1), **fields}
    asyncio.run(app(scope, receive, send))
    got = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], got, sent[1]["body"], len(left)


def code(body: bytes) -> str:
    return json.loads(body)["error"]["code"]


def test_a_body_within_the_limit_arrives_whole() -> None:
    app = Recording()
    status, _, body, _ = exchange(Limited(app, LIMITS), [b"a" * 60, b"b" * 40])
    assert (status, body) == (200, b"100")
    assert app.bodies == [b"a" * 60 + b"b" * 40]


@pytest.mark.parametrize(
    ("pieces", "n_left", "status", "reason"),
    [
        ([b"x" * 60] * 10, 8, 413, "large_body"),
        ([b"A" * 5_000] * 10, 8, 413, "large_body"),  # data without end
        (None, 0, 408, "slow_request"),
    ],
)
def test_what_exceeds_a_limit_is_refused(
    pieces: list[bytes] | None, n_left: int, status: int, reason: str
) -> None:
    app = Recording()
    limited = Limited(app, replace(LIMITS, sending_s=30 if pieces else 0.01))
    got, replied, body, left = exchange(limited, pieces)
    assert (got, code(body), left, app.bodies) == (status, reason, n_left, [])
    assert replied["connection"] == "close"


@pytest.mark.parametrize("escaped", [False, True])
@pytest.mark.parametrize("size", [1_000, 3_000, 300_000])
def test_pictures_are_dropped_from_a_large_body(escaped: bool, size: int) -> None:
    app, limits = Recording(), Limits(body_bytes=12_000)
    data = base64.b64encode(os.urandom(200_000)).decode()
    parts = [{"url": f"data:image/png;base64,{data}"}, {"data": data}, {"text": "a word " * 20}]
    text = json.dumps({"said": "x\\", "content": parts, "last": "question"})
    sent = (text.replace("/", "\\/") if escaped else text).encode()
    pieces = [sent[start : start + size] for start in range(0, len(sent), size)]
    assert exchange(Limited(app, limits), pieces)[0] == 200
    (body,) = app.bodies
    assert len(body) <= limits.body_bytes
    read = json.loads(body)
    assert (read["said"], read["content"][2], read["last"]) == ("x\\", parts[2], "question")


def test_an_answer_that_takes_too_long_is_ended() -> None:
    limits = Limits(idle_s=0.01)
    status, _, body, _ = exchange(Limited(Recording(never_ends=True), limits), [b""])
    assert (status, code(body)) == (504, "timeout")


def test_a_rate_admits_a_minute_at_once_and_refills_steadily() -> None:
    now = 0.0
    rate = Rate(60, lambda: now)
    assert [rate.wait_s(1) for _ in range(60)] == [0.0] * 60
    assert rate.wait_s(1) == 1.0
    assert rate.wait_s(2) == 0.0  # another client
    now = 1.5
    assert [rate.wait_s(1) > 0 for _ in range(3)] == [False, True, True]
    assert not any(Rate(0, lambda: now).wait_s(1) for _ in range(1_000))


def test_more_requests_than_the_rate_are_told_to_wait() -> None:
    app = Limited(Recording(), Limits(requests_per_minute=2), clock=lambda: 0.0)
    # a header that a client may choose does not make it another one
    headers = [{"authorization": f"Bearer {i}"} for i in range(3)]
    replies = [exchange(app, [b""], header) for header in headers]
    assert [status for status, *_ in replies] == [200, 200, 429]
    assert int(replies[2][1]["retry-after"]) >= 1
    assert exchange(app, [b""], **{CLIENT: b"digest of a token"})[0] == 200


def test_matrix_products_of_a_question_run_on_one_thread(tmp_path: Path) -> None:
    script = (
        "from click.testing import CliRunner\n"
        "from gsum_assets.cli.main import main\n"
        "refused = CliRunner().invoke(main, ['serve', '--host', '0.0.0.0'])\n"  # without a token
        "assert refused.exit_code == 1, refused.output\n"
        "import scipy.linalg\n"
        "from threadpoolctl import threadpool_info\n"
        "pools = [pool for pool in threadpool_info() if pool['user_api'] == 'blas']\n"
        "print(*{pool['num_threads'] for pool in pools})"
    )
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
    environment |= {"GSUM_HOME": str(tmp_path), "OMP_NUM_THREADS": "2"}
    command = [sys.executable, "-c", script]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert ended.stdout.split() == ["1"], ended.stderr
