"""A real HTTP server that speaks the OpenAI protocol and fails by a script.

    python -m tests.servers.scripted --port 8000 --log requests.jsonl --every 429=7 --every 500=11

It answers chat completions (with a value that satisfies the JSON schema of the request, wherever
that stands), embeddings and the list of models, deterministically from what it was sent. For each
request it appends one line to the log when it answers, so that the log outlives any client; what
a line holds is documented at `Line`. Usage is counted by one rule, `tokens_of`.

Faults, by name: `401`, `429` (with Retry-After), `500`, `stall` (headers, then nothing), `truncate`
(the connection closes in mid-body), `garbage` (status 200, a body that is not JSON), `die` (the
process ends at once, and the port is closed); of chat
replies alone `fence` (valid JSON in a fence among prose), `partial` (cut off, finish_reason
length), `invalid` (the wrong structure), `empty`; of embeddings alone `nan`, `short` (a vector too
short), `few` (a vector too few).

What a chat reply says may also be given by a function of the request's body (`says`); faults are
done to that. What a known server rejects is a function, too (`rejects`, see `rejections.py`).
"""

import argparse
import asyncio
import hashlib
import json
import os
import random
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypedDict

import uvicorn
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp

from tests.servers.replies import (
    embedding_of,
    text_for,
    tokens_of,
    value_for,
    wanted_schema,
)

HOST = "127.0.0.1"
Says = Callable[[dict], str]
"""Text of a chat reply, from the request's body."""
Rejects = Callable[[dict], tuple[int, dict] | None]
"""Status and body of the answer to a request that the server does not take, from its body."""


@dataclass(frozen=True)
class Script:
    """How the server behaves.

    Attributes
    ----------
    first : faults of the first POST requests, in order; "ok" for none.
    every : fault by name to n: every n-th POST request has it. The first that is due counts.
    shares : fault by name to the share of the POST requests that have it, drawn by their number.
    retry_after : value of that header, as it is sent with 429.
    always_fail : a request whose messages or inputs hold this text gets 500.
    key : only requests with this key are served; others get 401, with theirs repeated.
    models : the models it serves; empty: any.
    reject_formats : types of response_format that get 400.
    reject_parameters : names of parameters that get 400.
    latency_s : seconds before each answer.
    max_input_tokens : embedding inputs and prompts longer than that get 400; 0: any length.
    dimension : of embeddings.
    usage : whether replies say how many tokens they took.
    streams : whether chat replies are streamed where the request says so; else it is disregarded.
    """

    first: tuple[str, ...] = ()
    every: dict[str, int] = field(default_factory=dict)
    shares: dict[str, float] = field(default_factory=dict)
    retry_after: str = "1"
    always_fail: str = ""
    key: str = ""
    models: tuple[str, ...] = ()
    reject_formats: tuple[str, ...] = ()
    reject_parameters: tuple[str, ...] = ()
    latency_s: float = 0.0
    max_input_tokens: int = 0
    dimension: int = 8
    usage: bool = True
    streams: bool = True


class Line(TypedDict):
    """One line of the log.

    Attributes
    ----------
    time, answered : when the request had arrived, and when its answer left, seconds since the
        epoch. What left in the last moment before a client was killed may not have reached it.
    status : of the answer; 0 where none was sent (a stall, a client that had disconnected).
    fault : its name, "gone" where the client did not wait, or "".
    tokens : in and out together.
    messages : hash of the messages, inputs or prompt.
    """

    time: float
    answered: float
    path: str
    status: int
    fault: str
    tokens: int
    messages: str


class App:
    """The ASGI application."""

    def __init__(
        self,
        script: Script,
        log: Path,
        says: Says | None = None,
        rejects: Rejects = lambda body: None,
    ) -> None:
        self.script = script
        self._rejects = rejects
        self._says = says
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._posts = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        arrived, request = time.time(), Request(scope, receive)
        raw = await request.body()
        path = scope["path"].removeprefix("/v1")
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        line = Line(time=arrived, answered=0, path=path, status=0, fault="", tokens=0, messages="")
        if self.script.key and given != self.script.key:
            masked = f"{given[:7]}****{given[-4:]}"
            refusal = f"Incorrect API key provided: {given} ({masked})."
            response = self._answer(line, 401, _error(refusal, "invalid_api_key"))
        elif path == "/models":
            names = self.script.models or ("any",)
            listed = {"object": "list", "data": [{"id": n, "object": "model"} for n in names]}
            response = self._answer(line, 200, listed)
        elif path in self._makers:
            self._posts += 1
            line["fault"] = self._due()
            response = await self._served(request, line, json.loads(raw))
        else:
            response = self._answer(line, 404, {"detail": "Not Found"})
        if response:
            await response(scope, receive, send)

    @property
    def _makers(self) -> dict[str, Callable[[dict, str, str], tuple[dict, int]]]:
        """Return reply, tokens of body, digest and fault for a body sent to a path."""
        return {
            "/chat/completions": self._completion,
            "/embeddings": self._embeddings,
        }

    def _due(self) -> str:
        """The fault of the present POST request."""
        if self._posts <= len(self.script.first):
            fault = self.script.first[self._posts - 1]
            return "" if fault == "ok" else fault
        drawn = random.Random(self._posts).random()
        for fault, share in self.script.shares.items():
            drawn -= share
            if drawn < 0:
                return fault
        return next((f for f, n in self.script.every.items() if self._posts % n == 0), "")

    async def _served(self, request: Request, line: Line, body: dict) -> ASGIApp | None:
        """Return the answer to a POST request; None where there is none."""
        path, fault = line["path"], line["fault"]
        given = body.get("messages") or body.get("input")
        request_text = json.dumps(given, ensure_ascii=False)
        digest = hashlib.blake2b(request_text.encode("utf-8", "replace"), digest_size=8).hexdigest()
        line["messages"] = digest
        if self.script.latency_s:
            await asyncio.sleep(self.script.latency_s)
            if await request.is_disconnected():
                line["fault"] = "gone"
                self._enter(line)
                return None
        if fault == "die":
            os._exit(1)
        status, reply = self._refusal(body, path, request_text, fault)
        if status == 200:
            reply, line["tokens"] = self._makers[path](body, digest, fault)
        if fault == "stall":
            line["tokens"] = 0
            self._enter(line)
            return StreamingResponse(_nothing())
        if status == 200 and body.get("stream") and self.script.streams and fault != "garbage":
            line["status"] = status
            self._enter(line)
            return StreamingResponse(_streamed(reply, fault), media_type="text/event-stream")
        return self._answer(line, status, reply)

    def _refusal(self, body: dict, path: str, request_text: str, fault: str) -> tuple[int, dict]:
        script = self.script
        if fault == "401":
            return 401, _error("The key has been revoked.", "invalid_api_key")
        if fault == "429":
            return 429, _error("Too many requests.", "rate_limit_exceeded")
        if fault == "500" or (script.always_fail and script.always_fail in request_text):
            return 500, _error("The server had an error.", "server_error")
        if script.models and body["model"] not in script.models:
            missing = f"The model `{body['model']}` does not exist."
            return 404, _error(missing, "model_not_found")
        if rejection := self._rejects(body):
            return rejection
        wanted = (body.get("response_format") or {}).get("type", "text")
        if wanted in script.reject_formats:
            return 400, _error(f"response_format of type '{wanted}' is not supported.", "")
        for name in script.reject_parameters:
            if name in body:
                return 400, _error(f"Unsupported parameter: '{name}'.", "unsupported_parameter")
        longest = max(map(tokens_of, body.get("input") or [body.get("prompt", "")]))
        if script.max_input_tokens and longest > script.max_input_tokens:
            limit = f"maximum context length is {script.max_input_tokens} tokens"
            return 400, _error(f"This model's {limit}, you requested {longest}.", "")
        return 200, {}

    def _completion(self, body: dict, digest: str, fault: str) -> tuple[dict, int]:
        schema = wanted_schema(body)
        said = body["messages"][-1]["content"]
        room = body.get("max_tokens") or body.get("max_completion_tokens") or 1 << 20
        if self._says:
            text = self._says(body)
        elif schema is None:
            text = text_for(said, digest)
        else:
            text = json.dumps(value_for(schema, digest))
        finish = "length" if tokens_of(text) > room else "stop"
        text = text[: room * 4] if finish == "length" else text
        if fault == "fence":
            text = f"Here it is:\n```json\n{text}\n```\nAnything else?"
        elif fault == "partial":
            text, finish = text[: len(text) // 2], "length"
        elif fault == "invalid":
            text = '{"nobody": ["asked", "for"], "this": 1}' if schema else "\ud800 lone"
        elif fault == "empty":
            text = ""
        tokens_in = sum(tokens_of(message["content"]) for message in body["messages"])
        tokens_out = tokens_of(text)
        reply = {
            "id": f"chatcmpl-{digest}",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": text},
                    "finish_reason": finish,
                }
            ],
        }
        return self._with_usage(reply, tokens_in, tokens_out)

    def _embeddings(self, body: dict, digest: str, fault: str) -> tuple[dict, int]:
        vectors = [embedding_of(text, self.script.dimension) for text in body["input"]]
        if fault == "nan":
            vectors[0][0] = float("nan")
        elif fault == "short":
            vectors[-1].pop()
        elif fault == "few":
            vectors.pop()
        rows = [
            {"object": "embedding", "index": i, "embedding": vector}
            for i, vector in enumerate(vectors)
        ]
        reply = {"object": "list", "model": body["model"], "data": rows[::-1]}  # matched by `index`
        return self._with_usage(reply, sum(map(tokens_of, body["input"])), 0)

    def _with_usage(self, reply: dict, tokens_in: int, tokens_out: int) -> tuple[dict, int]:
        tokens = tokens_in + tokens_out
        if self.script.usage:
            reply["usage"] = {
                "prompt_tokens": tokens_in,
                "completion_tokens": tokens_out,
                "total_tokens": tokens,
            }
        return reply, tokens

    def _answer(self, line: Line, status: int, reply: dict) -> Response:
        fault = line["fault"]
        content = b"<html>no JSON</html>" if fault == "garbage" else json.dumps(reply).encode()
        headers = {"content-length": str(len(content))}
        if status == 429:
            headers["retry-after"] = self.script.retry_after
        if fault == "truncate":
            content = content[: len(content) // 2]
        line["status"] = status
        self._enter(line)
        return Response(content, status, headers, "application/json")

    def _enter(self, line: Line) -> None:
        line["answered"] = time.time()
        os.write(self._log, json.dumps(line).encode() + b"\n")


async def _nothing() -> AsyncIterator[bytes]:
    await asyncio.Event().wait()
    yield b""


async def _streamed(reply: dict, fault: str) -> AsyncIterator[bytes]:
    """Yield a chat reply word by word; the fault `truncate` breaks off in the middle."""
    (choice,) = reply["choices"]
    pieces = re.findall(r"\S+\s*|\s+", choice["message"]["content"])
    deltas: list[tuple[dict, str | None]] = [({"role": "assistant", "content": ""}, None)]
    deltas += [({"content": piece}, None) for piece in pieces]
    deltas.append(({}, choice["finish_reason"]))
    events: list[dict] = [
        {"model": reply["model"], "choices": [{"index": 0, "delta": d, "finish_reason": f}]}
        for d, f in deltas
    ]
    if "usage" in reply:
        events.append({"model": reply["model"], "choices": [], "usage": reply["usage"]})
    lines = [": keep-alive", *(f"data: {json.dumps(event)}" for event in events), "data: [DONE]"]
    for line in lines[: 2 + len(pieces) // 2] if fault == "truncate" else lines:
        yield f"{line}\n\n".encode()


def _error(message: str, code: str) -> dict:
    return {"error": {"message": message, "type": "invalid_request_error", "code": code}}


@dataclass(frozen=True)
class ScriptedServer:
    """A running server.

    Attributes
    ----------
    base_url : for `EndpointSettings`.
    log : file of `Line`s.
    """

    base_url: str
    log: Path

    @property
    def port(self) -> int:
        """That it listens on."""
        return int(self.base_url.removesuffix("/v1").rpartition(":")[2])

    def lines(self, path: str = "") -> list[Line]:
        """Return the requests so far, in the order of the answers; of one path, or of all."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [line for line in lines if not path or line["path"] == path]


@contextmanager
def scripted_server(
    log: Path,
    says: Says | None = None,
    rejects: Rejects = lambda body: None,
    port: int = 0,
    **script: Any,
) -> Iterator[ScriptedServer]:
    """A server in a thread of this process; `script` is that of `Script`.

    Parameters
    ----------
    port : 0: a free one.
    """
    log.touch()
    with socket.create_server((HOST, port)) as listening:
        server = uvicorn.Server(_config(App(Script(**script), log, says, rejects)))
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        try:
            yield ScriptedServer(_url(listening), log)
        finally:
            server.should_exit = server.force_exit = True
            thread.join()


@contextmanager
def scripted_process(log: Path, port: int = 0, **script: Any) -> Iterator[ScriptedServer]:
    """Start a scripted server in a separate process, without sharing the interpreter lock."""
    log.touch()
    options = json.dumps(asdict(Script(**script)))
    command = [sys.executable, "-m", __name__, "--log", str(log), "--script", options]
    command += ["--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield ScriptedServer(process.stdout.readline().strip(), log)
        finally:
            process.terminate()


def _config(app: App) -> uvicorn.Config:
    # a truncated body is meant: uvicorn's complaint about it is not news
    return uvicorn.Config(
        app, log_level="critical", access_log=False, lifespan="off", timeout_keep_alive=60
    )


def _url(listening: socket.socket) -> str:
    return f"http://{HOST}:{listening.getsockname()[1]}/v1"


def main() -> None:
    """Serve until terminated; prints the base URL first."""
    parser = argparse.ArgumentParser(prog="python -m tests.servers.scripted", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--every", action="append", default=[], help="FAULT=N")
    parser.add_argument("--script", type=json.loads, default={}, help="further fields of Script")
    chosen = parser.parse_args()
    every = {fault: int(n) for fault, _, n in (item.partition("=") for item in chosen.every)}
    script = Script(**{"every": every} | chosen.script)
    with socket.create_server((HOST, chosen.port)) as listening:
        print(_url(listening), flush=True)
        uvicorn.Server(_config(App(script, chosen.log))).run([listening])


if __name__ == "__main__":
    main()
