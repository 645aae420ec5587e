"""Words of an answer arrive one by one, and the reply is the one that is not streamed."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from gsum_assets.cli.prompt import Preview
from gsum_resources.endpoint import Endpoint
from gsum_resources.endpoint.connection import assembled
from gsum_resources.llm.openai_compatible import OpenAICompatibleModel
from gsum_resources.protocols.models import Completion, CompletionError, Request
from gsum_resources.state.database import MemoryStore
from tests.servers.clients import settings_for
from tests.servers.scripted import scripted_server

REQUEST = Request("answer", "Answer.", "Who?", ("A boat on a river.",), document_id="d1")


@contextmanager
def streaming(log: Path, pieces: list[str | None] | None, **script: Any) -> Iterator[Any]:
    """A model that streams into `pieces`, or one that does not, and its server."""
    with scripted_server(log, **script) as server:
        settings = settings_for(server.base_url, max_retries=2, timeout_s=30.0)
        endpoint = Endpoint(settings, MemoryStore())
        on_words = None if pieces is None else pieces.append
        yield OpenAICompatibleModel(settings, endpoint, on_words=on_words), server
        endpoint.close()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "requests.jsonl"


def reply_of(log: Path, pieces: list[str | None] | None, **script: Any) -> Any:
    with streaming(log, pieces, **script) as (model, _):
        (reply,) = model.complete([REQUEST])
        return replace(reply, latency_s=0.0)


def test_streamed_reply_is_equal_to_the_whole_one(log: Path) -> None:
    pieces: list[str | None] = []
    streamed = reply_of(log, pieces)
    assert isinstance(streamed, Completion)
    assert pieces[0] is None
    assert len(pieces) > 3
    assert "".join(filter(None, pieces)) == streamed.text
    assert streamed == reply_of(log, None)


def test_server_that_does_not_stream_is_read_as_before(log: Path) -> None:
    pieces: list[str | None] = []
    assert reply_of(log, pieces, streams=False) == reply_of(log, None)
    assert pieces == [None]


def test_server_that_rejects_streams_is_asked_without(log: Path) -> None:
    pieces: list[str | None] = []
    with streaming(log, pieces, reject_parameters=("stream_options",)) as (model, server):
        (reply,) = model.complete([REQUEST])
        assert isinstance(reply, Completion)
        assert [line["status"] for line in server.lines()] == [400, 200]
        model.complete([replace(REQUEST, question="Where?")])
        assert [line["status"] for line in server.lines()] == [400, 200, 200]


@pytest.mark.parametrize("fault", ["truncate", "garbage", "500"])
def test_broken_stream_is_requested_again(log: Path, fault: str) -> None:
    pieces: list[str | None] = []
    reply = reply_of(log, pieces, first=(fault,))
    assert isinstance(reply, Completion)
    assert reply.retries == 1
    last = len(pieces) - pieces[::-1].index(None)
    assert "".join(filter(None, pieces[last:])) == reply.text
    assert pieces.count(None) == 2


def test_several_requests_are_not_streamed(log: Path) -> None:
    pieces: list[str | None] = []
    with streaming(log, pieces) as (model, _):
        replies = model.complete([REQUEST, replace(REQUEST, question="Where?")])
    assert not any(isinstance(reply, CompletionError) for reply in replies)
    assert pieces == []


def put_together(*lines: str) -> tuple[str, list[str]]:
    async def arriving() -> AsyncIterator[str]:
        for line in lines:
            yield line

    pieces: list[str] = []
    return asyncio.run(assembled(arriving(), pieces.append)), pieces


def test_events_are_put_together() -> None:
    text, pieces = put_together(
        ": comment",
        "event: message",
        'data: {"model": "m", "choices": [{"delta": {"reasoning_content": "Hm."}}]}',
        'data: {"choices": [{"delta": {"content": "A"}}]}',
        'data: {"choices": [{"delta": {"content": " boat"}, "finish_reason": "stop"}]}',
        'data:{"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}',
        "data: [DONE]",
    )
    body = json.loads(text)
    assert pieces == ["A", " boat"]
    assert body["choices"][0]["message"] == {"reasoning_content": "Hm.", "content": "A boat"}
    assert body["choices"][0]["finish_reason"] == "stop"
    assert body["usage"] == {"prompt_tokens": 3, "completion_tokens": 2}
    assert json.loads(put_together()[0]) == {}
    with pytest.raises(ValueError, match="Expecting"):
        json.loads(put_together("data: <html>")[0])


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        (["UNANS", "WERED", ": They do ", "not say."], "They do not say."),
        (["UNANSWERED"], ""),
        (["Un", "der the quay."], "Under the quay."),
        (["It was ", "UNANSWERED."], "It was UNANSWERED."),
        (["It was ", "\x1b[31mred."], "It was [31mred."),
    ],
)
def test_mark_of_a_refusal_is_not_shown(pieces: list[str], shown: str) -> None:
    output = StringIO()
    preview = Preview(Console(file=output, force_terminal=True, color_system=None, width=80))
    for piece in pieces:
        preview(piece)
    preview.clear()
    lines = re.split(r"\x1b\[[0-9;?]*[A-Za-z]|[\r\n]", output.getvalue())
    assert list(filter(str.strip, lines))[-1:] == ([shown] if shown else [])
    assert output.getvalue().endswith("\x1b[2K")  # nothing of it is left
