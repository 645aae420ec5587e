"""Errors of requests, as JSON with a message that names object, value and remedy."""

import logging
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

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
