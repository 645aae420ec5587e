"""What endpoints share: their declaration, replies of errors, and words that arrive one by one."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextvars import ContextVar
from inspect import iscoroutinefunction
from typing import Any, NamedTuple, TypeVar

import anyio
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from gsum_resources.endpoint.connection import OnWords
from gsum_resources.protocols.models import ModelUnavailableError

_LOG = logging.getLogger(__name__)
_OF_OLLAMA = ("/api/chat", "/api/tags", "/api/version")


class RequestError(Exception):
    """An error that a request gets as its reply.

    Attributes `status`: HTTP status; `code`: a word for programs, such as `unknown_corpus`;
    `headers`: further headers of the reply.
    """

    def __init__(self, status: int, code: str, message: str, headers: Any = None) -> None:
        super().__init__(message)
        self.status, self.code, self.headers = status, code, headers


def error_of(error: Exception) -> tuple[int, dict[str, Any]]:
    """Return the status of an error, and what a reply says about it; `type` is for OpenAI's client.

    A `ValueError` of gsum is an error that the user can mend, and its message names the remedy. The
    message of any other error may quote documents or paths: it is logged, and not sent.
    """
    status, code, message = 500, "internal_error", str(error)
    match error:
        case RequestError():
            status, code = error.status, error.code
        case HTTPException(status_code=404 | 405):
            status, code = 404, "unknown_path"
            message = "there is no such address or method; /api/openapi.json lists those there are"
        case ModelUnavailableError():
            status, code = 503, "model_unavailable"
        case ValueError():
            status, code = 400, "invalid_request"
        case _:
            _LOG.error("a request failed", exc_info=error)
            message = "the service failed to answer; its log has the reason"
    kind = "invalid_request_error" if status < 500 else "server_error"
    return status, {"message": message, "code": code, "type": kind, "param": None}


def on_error(scope: Mapping[str, Any], error: Exception) -> JSONResponse:
    """Return the reply of an error, in Ollama's protocol with the message alone."""
    status, fields = error_of(error)
    shown = fields["message"] if scope["path"] in _OF_OLLAMA else fields
    return JSONResponse({"error": shown}, status, getattr(error, "headers", None))


class Nothing(BaseModel):
    """A request without parameters."""


class CorpusQuery(BaseModel):
    """Query string of a request about a corpus."""

    corpus: str

    @property
    def corpora(self) -> list[str]:
        """The corpora that are asked."""
        return [self.corpus]


class Endpoint(Route):
    """A route whose query string (GET) or JSON body (POST) a model checks.

    A request must be allowed to ask the `corpora` of the model. A handler that is a function runs
    in a thread; what it returns, unless it is a `Response`, is sent as JSON. The docstring of the
    handler, the fields of the model and the type `reply` describe the endpoint, see `app.py`.
    """

    def __init__(
        self,
        path: str,
        handler: Callable[[Request, Any], Any],
        schema: type[BaseModel] = Nothing,
        method: str = "GET",
        reply: Any = dict[str, Any],
    ) -> None:
        self.handler, self.schema, self.method, self.reply = handler, schema, method, reply
        super().__init__(path, self._reply, methods=[method])

    async def _reply(self, request: Request) -> Response:
        try:
            if self.method == "GET":
                values = self.schema.model_validate(dict(request.query_params))
            else:
                values = self.schema.model_validate_json(await request.body())
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(map(str, first["loc"])) or "the body"
            message = first["msg"].removeprefix("Value error, ")
            raise RequestError(400, "invalid_request", f"{key}: {message}") from error
        for corpus in getattr(values, "corpora", ()):
            await in_thread(request.app.state.service.require, request, corpus)
        if iscoroutinefunction(self.handler):
            reply = await self.handler(request, values)
        else:
            reply = await in_thread(self.handler, request, values)
        return reply if isinstance(reply, Response) else JSONResponse(reply)


COMMENT = b": the answer is being written\n\n"
"""A server-sent event that clients ignore, and that keeps proxies from closing the connection."""
COMMENT_S = 10.0

Value = TypeVar("Value")
Events = AsyncIterator[bytes]
_on_words: ContextVar[OnWords | None] = ContextVar("on_words", default=None)


class Words(NamedTuple):
    """A piece of an answer; None: an attempt begins, and earlier pieces are void."""

    text: str | None


def pass_words_on(text: str | None) -> None:
    """Pass a piece of an answer to the request that it is for: `on_words` of the models."""
    if on_words := _on_words.get():
        on_words(text)


async def arriving(
    answer: Callable[[], Value], idle_s: float
) -> AsyncIterator[Words | bytes | Value]:
    """Run a function in a thread; yield the words of its model as they arrive, then its answer.

    Where nothing arrives for 10 seconds, `COMMENT` is yielded; after `idle_s` without anything
    `RequestError` is raised. An error of the function is raised.
    """
    loop, queue = asyncio.get_running_loop(), asyncio.Queue[Any]()

    def put(item: Any) -> None:
        loop.call_soon_threadsafe(queue.put_nowait, item)

    def work() -> None:
        _on_words.set(lambda text: put(Words(text)))  # in the thread's own context
        try:
            put(answer())
        except Exception as error:
            put(error)

    thread, silent_s = asyncio.ensure_future(in_thread(work)), 0.0
    try:
        while True:
            wait_s = min(COMMENT_S, idle_s - silent_s)
            try:
                item = await asyncio.wait_for(queue.get(), wait_s)
            except TimeoutError as error:
                silent_s += wait_s
                if silent_s >= idle_s:
                    raise late(idle_s) from error
                yield COMMENT
                continue
            silent_s = 0.0
            if isinstance(item, Exception):
                raise item
            yield item
            if not isinstance(item, Words):
                return
    finally:
        thread.cancel()


async def in_thread(work: Callable[..., Any], *arguments: Any) -> Any:
    """Run a function in a thread; after a time-out or a disconnection it is not waited for."""
    return await anyio.to_thread.run_sync(work, *arguments, abandon_on_cancel=True)


def late(idle_s: float) -> RequestError:
    """Return the error of an answer of which nothing arrived for some seconds."""
    remedy = "ask again, or start `gsum serve` with a longer --idle-timeout"
    message = f"nothing of the answer arrived for {idle_s:g} s; {remedy}"
    return RequestError(504, "timeout", message)


def event(data: Any, name: str = "") -> bytes:
    """Return a server-sent event; data that is no text is written as JSON, in one line."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()


def event_stream(
    events: Events, headers: Mapping[str, str] | None = None, media_type: str = "text/event-stream"
) -> StreamingResponse:
    """Return the reply of server-sent events, or lines, which proxies pass on as they arrive."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", **(headers or {})}
    return StreamingResponse(events, media_type=media_type, headers=headers)
