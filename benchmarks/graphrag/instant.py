"""A server that speaks the OpenAI protocol and answers at once.

    python -m benchmarks.graphrag.instant [--same]

It prints its base URL, and serves one client until terminated; `GET /counts` returns its counts.
Nothing is checked: it is as fast as the interpreter allows, so that the client's time shows.
"""

import asyncio
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from benchmarks.graphrag.replies import Replies
from tests.servers.replies import embedding_of

HOST = "127.0.0.1"
MODEL = "instant"  # it answers to any name; this one it lists
DIMENSION = 384


class Counts(NamedTuple):
    """Counts of a server.

    Attributes
    ----------
    completions, embeddings : requests.
    texts : that were embedded.
    cpu_s : of the server's process since it was ready.
    """

    completions: int = 0
    embeddings: int = 0
    texts: int = 0
    cpu_s: float = 0.0


class _App:
    def __init__(self) -> None:
        self._replies = Replies(same="--same" in sys.argv)
        self._counts = Counts()
        self._began = time.process_time()
        self._makers: dict[str, Callable[[dict], dict]] = {
            "/v1/chat/completions": self._complete,
            "/v1/embeddings": self._embed,
        }

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection, in order."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                _, found, rest = head.partition("content-length:")
                body = await reader.readexactly(int(rest.split("\r\n")[0]) if found else 0)
                content = json.dumps(self._answer(head.split()[1], body)).encode()
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                    b"Content-Length: %d\r\n\r\n%b" % (len(content), content)
                )
        except (asyncio.IncompleteReadError, ConnectionError):  # the client disconnected
            writer.close()

    def _answer(self, path: str, raw: bytes) -> dict:
        if path == "/counts":
            cpu_s = time.process_time() - self._began
            return self._counts._replace(cpu_s=cpu_s)._asdict()
        if path == "/v1/models":
            return {"object": "list", "data": [{"id": MODEL, "object": "model"}]}
        body = json.loads(raw)
        tokens = len(raw) // 4
        usage = {"prompt_tokens": tokens, "completion_tokens": 0, "total_tokens": tokens}
        return {"model": body["model"], "usage": usage} | self._makers[path](body)

    def _complete(self, body: dict) -> dict:
        self._counts = self._counts._replace(completions=self._counts.completions + 1)
        wanted = (body.get("response_format") or {}).get("json_schema") or {}
        text = self._replies.text(body["messages"], wanted.get("name", ""))
        message = {"role": "assistant", "content": text}
        return {
            "id": f"chatcmpl-{self._counts.completions}",
            "object": "chat.completion",
            "created": 0,
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        }

    def _embed(self, body: dict) -> dict:
        counts, texts = self._counts, body["input"]
        texts = [texts] if isinstance(texts, str) else texts
        self._counts = counts._replace(
            embeddings=counts.embeddings + 1, texts=counts.texts + len(texts)
        )
        data = [
            {"object": "embedding", "index": i, "embedding": embedding_of(text, DIMENSION)}
            for i, text in enumerate(texts)
        ]
        return {"object": "list", "data": data}


@dataclass(frozen=True)
class InstantServer:
    """A running server; `base_url` ends in `/v1`."""

    base_url: str

    def counts(self) -> Counts:
        """Return the counts so far."""
        with urllib.request.urlopen(self.base_url.removesuffix("/v1") + "/counts") as reply:
            return Counts(**json.load(reply))


@contextmanager
def instant_server(same: bool = False) -> Iterator[InstantServer]:
    """A server in a process of its own, which shares no interpreter lock with its client.

    Parameters
    ----------
    same : return the same reply for every passage.
    """
    command = [sys.executable, "-m", __name__, *(["--same"] if same else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield InstantServer(process.stdout.readline().strip())
        finally:
            process.terminate()


async def _serve() -> None:
    app: Any = _App()
    server = await asyncio.start_server(app.serve, HOST, 0)
    print(f"http://{HOST}:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve())
