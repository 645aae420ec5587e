"""Values of requests: of the query string, and of a JSON body."""

import json
from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from gsum_assets.serve.errors import RequestError
from gsum_assets.serve.streaming import in_thread

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
