"""Errors of requests, as JSON with a message that names object, value and remedy."""

from starlette.requests import Request
from starlette.responses import JSONResponse


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


def error_response(status: int, code: str, message: str) -> JSONResponse:
    """Return the reply of an error; `type` is what OpenAI's clients read."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    error = {"message": message, "code": code, "type": kind}
    return JSONResponse({"error": error}, status, headers)


def on_request_error(_: Request, error: Exception) -> JSONResponse:
    """Return the reply of a `RequestError`."""
    assert isinstance(error, RequestError)
    return error_response(error.status, error.code, str(error))


def on_value_error(_: Request, error: Exception) -> JSONResponse:
    """Return the reply of an error that the user can mend: an unknown document, a wrong condition.

    All such errors of gsum are `ValueError`s whose message names the remedy.
    """
    return error_response(400, "invalid_request", str(error))
