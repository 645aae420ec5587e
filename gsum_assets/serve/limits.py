"""Limits of requests: size, rate, time, number of connections, and clients that send slowly."""

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from gsum_assets.serve.access import CLIENT
from gsum_assets.serve.http import COMMENT_S, RequestError, late, on_error

_CLIENTS = 10_000  # whose rates are known
_BASE64 = rb"[A-Za-z0-9+/_\\-]"  # a backslash stands before "/" where a client escapes it
_DATA = re.compile(rb"(?<!%b)%b{4096,}={0,2}(?<!\\)" % (_BASE64, _BASE64))
_MOST_DATA = 64  # times the limit of a body
_CLOSING = {"Connection": "close"}  # since more may be on its way


@dataclass(frozen=True)
class Limits:
    """Limits of a service.

    Attributes
    ----------
    body_bytes : of a request without data such as pictures, which are dropped; 64 times with them.
    headers_bytes : of a request; longer ones are rejected.
    sending_s : within which a client has sent a request, and keeps an unused connection open.
    idle_s : within which something of an answer arrives.
    connections : at once; further ones are closed.
    requests_per_minute : of a token, or of an address where there are none; 0: no limit.
    threads, waiting_threads : requests that are answered at once, where answers are computed here
        and where a server writes them; others wait.
    """

    body_bytes: int = 2**20
    headers_bytes: int = 2**14
    sending_s: float = 10.0
    idle_s: float = 120.0
    connections: int = 512
    requests_per_minute: int = 0
    threads: int = 8
    waiting_threads: int = 64


class Limited:
    """Middleware that reads bodies within their limits, and ends answers that take too long."""

    def __init__(
        self, app: ASGIApp, limits: Limits, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._app, self._limits = app, limits
        self._rate = Rate(limits.requests_per_minute, clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or reply what it exceeds."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limits = self._limits
        client = scope.get(CLIENT) or (scope.get("client") or ("",))[0]
        if wait_s := self._rate.wait_s(hash(client)):
            busy = f"more than {limits.requests_per_minute} requests a minute; wait {wait_s:.0f} s"
            headers = {"Retry-After": f"{wait_s:.0f}"}
            error = RequestError(429, "too_many_requests", busy, headers)
            return await on_error(scope, error)(scope, receive, send)
        try:
            async with asyncio.timeout(limits.sending_s):
                body = await _body(receive, limits.body_bytes)
        except TimeoutError:
            slow = f"the request did not arrive within {limits.sending_s:g} s; send it again"
            error = RequestError(408, "slow_request", slow, _CLOSING)
            return await on_error(scope, error)(scope, receive, send)
        if body is None:
            large = f"the body is larger than {limits.body_bytes:,} bytes; send less"
            error = RequestError(413, "large_body", large, _CLOSING)
            return await on_error(scope, error)(scope, receive, send)
        began, left = False, [body]

        async def receive_body() -> Message:
            if left:
                return {"type": "http.request", "body": left.pop(), "more_body": False}
            return await receive()

        async def sent(message: Message) -> None:
            nonlocal began
            began = True
            await send(message)
            due.reschedule(asyncio.get_running_loop().time() + limits.idle_s + COMMENT_S)

        try:
            async with asyncio.timeout(limits.idle_s) as due:
                await self._app(scope, receive_body, sent)
        except TimeoutError:
            if not began:
                await on_error(scope, late(limits.idle_s))(scope, receive, send)


class Rate:
    """A bucket of requests for each client: a minute's worth at once, refilled steadily; 0: any."""

    def __init__(self, per_minute: int, clock: Callable[[], float]) -> None:
        self._per_minute, self._clock = per_minute, clock
        self._buckets: OrderedDict[int, tuple[float, float]] = OrderedDict()  # left, since

    def wait_s(self, client: int) -> float:
        """Count a request; return after how many seconds it would be admitted, 0: at once."""
        if not self._per_minute:
            return 0.0
        now, per_s = self._clock(), self._per_minute / 60
        left, since = self._buckets.pop(client, (float(self._per_minute), now))
        left = min(float(self._per_minute), left + (now - since) * per_s)
        is_admitted = left >= 1
        self._buckets[client] = left - is_admitted, now
        while len(self._buckets) > _CLIENTS:
            self._buckets.popitem(last=False)
        return 0.0 if is_admitted else max(1.0, (1 - left) / per_s)


async def _body(receive: Receive, most: int) -> bytes | None:
    """Return the body of a request; None if it is too large, of which the rest is not read.

    Data in base64, such as pictures, are left out of a body that is larger.
    """
    body, more, n_read = bytearray(), True, 0
    while more:
        message = await receive()
        body += message.get("body", b"")
        n_read += len(message.get("body", b""))
        if n_read > _MOST_DATA * most:
            return None
        if len(body) > most and len(body := bytearray(_DATA.sub(b"", body))) > most:
            return None
        more = message.get("more_body", False)
    return bytes(body)


def bounded_protocol(limits: Limits) -> type[H11Protocol]:
    """Return uvicorn's protocol with a limit of connections, and of the time to send headers.

    Uvicorn has no such time-out: a client that never ends its headers would keep a connection.
    """

    class Bounded(H11Protocol):
        def connection_made(self, transport: Any) -> None:
            if len(self.connections) >= limits.connections:
                transport.abort()
                return
            super().connection_made(transport)
            self._waits_since = self.loop.time()
            self._due = self.loop.call_later(limits.sending_s, self._close_if_slow)

        def connection_lost(self, exc: Exception | None) -> None:
            if hasattr(self, "_due"):  # admitted
                self._due.cancel()
                super().connection_lost(exc)

        def on_response_complete(self) -> None:
            self._waits_since = self.loop.time()
            super().on_response_complete()

        def _close_if_slow(self) -> None:
            """Close the connection if the headers of a request are late, or a reply is not read."""
            is_asked = self.cycle is not None and not self.cycle.response_complete
            left_s = self._waits_since + limits.sending_s - self.loop.time()
            if self.transport.is_closing() or (not is_asked and left_s <= 0):
                self.transport.abort()
                return
            wait_s = limits.sending_s if is_asked else left_s
            self._due = self.loop.call_later(wait_s, self._close_if_slow)

    return Bounded
