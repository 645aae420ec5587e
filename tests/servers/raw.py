"""A real HTTP server whose answers are any bytes, for faults that no sound server has."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Raw:
    """An answer.

    Attributes
    ----------
    is_cut : whether the connection is closed before the end of the body.
    is_dropped : whether it is closed without any answer.
    pauses_s : seconds before each of the first bytes of the body.
    """

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    is_cut: bool = False
    is_dropped: bool = False
    pauses_s: tuple[float, ...] = ()


def chat(finish: str = "stop", **message: Any) -> Raw:
    """Return a chat completion whose message has these fields."""
    choice = {"index": 0, "message": {"role": "assistant"} | message, "finish_reason": finish}
    return Raw(json.dumps({"object": "chat.completion", "choices": [choice]}).encode())


MISSING = Raw(b"{}", 404)


def raw_server(answer: Callable[[dict], Raw]) -> AbstractContextManager[str]:
    """Serve `answer` of the JSON body of each POST request; gives the base URL.

    A GET request, for the list of models, gets 404.
    """
    return server_of_paths(lambda _, body: MISSING if body is None else answer(body))


@contextmanager
def server_of_paths(answer: Callable[[str, dict | None], Raw]) -> Iterator[str]:
    """Serve `answer` of each path and the JSON body, none of a GET request."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._send(answer(self.path, None))

        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            self._send(answer(self.path, json.loads(self.rfile.read(length))))

        def _send(self, raw: Raw) -> None:
            if raw.is_dropped:
                self.close_connection = True
                return
            self.send_response(raw.status)
            for name, value in raw.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(raw.body) + raw.is_cut))
            self.end_headers()
            for i, pause_s in enumerate(raw.pauses_s):
                time.sleep(pause_s)
                self.wfile.write(raw.body[i : i + 1])
                self.wfile.flush()
            self.wfile.write(raw.body[len(raw.pauses_s) :])
            self.close_connection |= raw.is_cut

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing."""

        def handle(self) -> None:
            """Ignore a client that has gone."""
            try:
                super().handle()
            except ConnectionError:
                return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
