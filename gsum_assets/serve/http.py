"""What handlers of requests share: bodies, replies of errors, and words that arrive one by one."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import ContextVar
from inspect import iscoroutinefunction
from typing import Any, NamedTuple, TypeVar

import anyio
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gsum_resources.endpoint.connection import OnWords
from gsum_resources.protocols.models import ModelUnavailableError

_LOG = logging.getLogger(__name__)


class RequestError(Exception):
    """An error that a request gets as its reply.

    Attributes
    ----------
    status : HTTP status.
    code : a word for programs, such as `unknown_corpus`.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


def error_of(error: Exception) -> tuple[int, dict[str, Any]]:
    """Return the status of an error, and what a reply says about it.

    A `ValueError` of gsum is an error that the user can mend, and its message names the remedy. The
    message of any other error may quote documents or paths: it is logged, and not sent.
    """
    if isinstance(error, RequestError):
        return error.status, _fields(error.status, error.code, str(error))
    if isinstance(error, HTTPException):
        return error.status_code, _fields(error.status_code, "http_error", error.detail)
    if isinstance(error, ModelUnavailableError):
        return 503, _fields(503, "model_unavailable", str(error))
    if isinstance(error, ValueError):
        return 400, _fields(400, "invalid_request", str(error))
    _LOG.error("a request failed", exc_info=error)
    message = "the service failed to answer; its log has the reason"
    return 500, _fields(500, "internal_error", message)


def _fields(status: int, code: str, message: str) -> dict[str, Any]:
    """Return the fields of an error; `type` is what clients of OpenAI read."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"message": message, "code": code, "type": kind}


def error_response(status: int, code: str, message: str) -> JSONResponse:
    """Return the reply of an error."""
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    return JSONResponse({"error": _fields(status, code, message)}, status, headers)


def on_error(_: Request, error: Exception) -> JSONResponse:
    """Return the reply of an error that a handler raised."""
    status, fields = error_of(error)
    return JSONResponse({"error": fields}, status, getattr(error, "headers", None))


Body = TypeVar("Body", bound=BaseModel)


def text_of(request: Request, name: str, default: str | None = None) -> str:
    """Return a value of the query string.

    Raises
    ------
    RequestError
        If it is missing and has no default.
    """
    value = request.query_params.get(name, default)
    if value is None:
        raise RequestError(400, "missing_parameter", f"{request.url.path}: '{name}' is missing")
    return value


def number_of(request: Request, name: str, default: int, most: int) -> int:
    """Return a number of the query string from 0 to `most`.

    Raises
    ------
    RequestError
        If it is no such number.
    """
    value = request.query_params.get(name, str(default))
    if not (value.isascii() and value.isdigit() and len(value) < 10 and int(value) <= most):
        raise RequestError(
            400, "invalid_parameter", f"{name}: '{value:.40}' is no number from 0 to {most:,}"
        )
    return int(value)


Handler = Callable[[Request, Body], Response] | Callable[[Request, Body], Awaitable[Response]]


def with_body(schema: type[Body], handler: Handler) -> Callable:
    """Return an endpoint that reads a JSON body for a handler; a function runs in a thread.

    A body that is no JSON or does not fit the schema is rejected with a message that names the key.
    """

    async def endpoint(request: Request) -> Response:
        try:
            body = schema.model_validate(json.loads(await request.body()))
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(map(str, first["loc"])) or "the body"
            raise RequestError(400, "invalid_request", f"{key}: {first['msg']}") from error
        except (ValueError, RecursionError) as error:
            raise RequestError(400, "invalid_json", "the body is no JSON") from error
        if iscoroutinefunction(handler):
            return await handler(request, body)
        return await in_thread(handler, request, body)

    return endpoint


Value = TypeVar("Value")
EVENT_STREAM = "text/event-stream"
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # proxies pass words on

_on_words: ContextVar[OnWords | None] = ContextVar("on_words", default=None)


class Words(NamedTuple):
    """A piece of an answer; None: an attempt begins, and earlier pieces are void."""

    text: str | None


def pass_words_on(text: str | None) -> None:
    """Pass a piece of an answer to the request that it is for: `on_words` of the models."""
    if on_words := _on_words.get():
        on_words(text)


async def arriving(answer: Callable[[], Value]) -> AsyncIterator[Words | Value]:
    """Run a function in a thread; yield the words of its model as they arrive, then its answer.

    Raises
    ------
    Exception
        The error of the function.
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

    thread = asyncio.ensure_future(in_thread(work))
    try:
        while True:
            item = await queue.get()
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


def event(data: Any, name: str = "") -> bytes:
    """Return a server-sent event; data that is no text is written as JSON, in one line."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()
