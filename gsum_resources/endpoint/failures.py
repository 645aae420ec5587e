"""Classification of failed attempts: retry, give the request up, or give the server up."""

import email.utils
import json
import re
import time
from collections.abc import Mapping

from gsum_resources.endpoint.key import is_keyless
from gsum_resources.protocols.models import (
    EmbedderUnavailableError,
    JudgeUnavailableError,
    ModelUnavailableError,
)
from gsum_resources.settings.schema import EmbeddingSettings, LlmSettings

Settings = LlmSettings | EmbeddingSettings
_ERRORS = {  # by the table of settings; those of other language models are the first
    "judge": JudgeUnavailableError,
    "embedding": EmbedderUnavailableError,
}

LONGEST_PAUSE_S = 900.0  # a server that requires more is unavailable for this run
_MAX_QUOTED = 300  # characters of a server's message in an error
_MAX_SECONDS = 1e9  # upper bound of Retry-After
_RETRIED = frozenset({408, 409, 429})
_REFUSED_KEY = frozenset({401, 403})
_NO_MONEY = "insufficient_quota"  # OpenAI's code of a 429 for which retries are useless
_FILTERING = frozenset({400, 403, 422, 451})  # statuses of requests that a content filter rejects
_FILTERED = re.compile(
    r"content_policy_violation|content_filter|ResponsibleAIPolicyViolation|content management "
    r"policy|content filtering policy|data_?inspection_?failed|content exists risk|prohibited_"
    r"content|usage polic|safety system|requires moderation|considered high risk",
    re.IGNORECASE,
)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|[smh])")
_STATED_PAUSE = re.compile(
    r"(?:try again|retry) ?(?:in|after|delay)\W+((?:\d+(?:\.\d+)?\s*(?:ms|[smh])[a-z]*\s*)+)",
    re.IGNORECASE,
)
_UNKNOWN_MODEL = re.compile(r"model_not_found|\bmodel\b", re.IGNORECASE)


class EndpointError(RuntimeError):
    """One request got no usable answer; its status is 0 if there was none.

    `retries` is the number of attempts after the first; `is_filtered`: a content filter rejects the
    request, now and later.
    """

    def __init__(
        self, message: str, status: int = 0, retries: int = 0, is_filtered: bool = False
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retries = retries
        self.is_filtered = is_filtered


class TransientError(EndpointError):
    """An attempt that failed but may succeed when retried, after `retry_after_s` if that is given.

    `reached`: a connection was made, so that the request itself may be at fault.
    """

    def __init__(
        self,
        message: str,
        status: int = 0,
        retry_after_s: float | None = None,
        reached: bool = True,
    ) -> None:
        super().__init__(message, status)
        self.retry_after_s = retry_after_s
        self.reached = reached


class RefusedError(EndpointError):
    """An answer that makes further requests to this server useless."""


def failure_of(status: int, headers: Mapping[str, str], body: str) -> EndpointError:
    """Return the error for an answer with a status of 400 or above; `body` is without the key."""
    text, code = _message_and_code(body)
    message = f"{status}: {text}" if text else f"{status}"
    if status in _FILTERING and _FILTERED.search(body):
        return EndpointError(message, status, is_filtered=True)
    if status in _REFUSED_KEY or status == 402 or code == _NO_MONEY:
        return RefusedError(message, status)
    if status in _RETRIED or status >= 500:
        pauses = [p for p in (retry_after(headers), stated_pause(body)) if p is not None]
        pause = max(pauses, default=None)
        if pause is not None and pause > LONGEST_PAUSE_S:
            return RefusedError(f"{message}, and requires to wait {pause:.0f} s", status)
        return TransientError(message, status, pause)
    return EndpointError(message, status)


def unavailable(
    failure: EndpointError, settings: Settings, answered: bool = True
) -> ModelUnavailableError | None:
    """Return the error to raise if all further requests will fail as well, else None.

    `answered`: the server has answered a request before, so that its address is correct.
    """
    if failure.is_filtered:
        return None
    url, where = settings.base_url, f"[{settings.table}] of gsum.toml"
    is_sent = bool(settings.api_key_env) and not is_keyless(settings)
    if failure.status in _REFUSED_KEY and is_sent:
        what = (
            f"refuses the key in environment variable {settings.api_key_env} ({failure}); put a "
            "valid key there"
        )
    elif failure.status in _REFUSED_KEY:
        what = (
            f"requires a key ({failure}); set api_key_env in {where} to the environment variable "
            "that holds it"
        )
    elif isinstance(failure, RefusedError):
        what = f"refuses further requests ({failure}); check the account there, then run again"
    elif failure.status == 404 and _UNKNOWN_MODEL.search(str(failure)):
        what = f"has no model '{settings.model}' ({failure}); correct model in {where}"
    elif failure.status == 404 and not answered:
        what = f"does not have the requested path ({failure}); correct base_url in {where}"
    else:
        return None
    return error_of(settings, f"the server at {url} {what}")


def away(failure: EndpointError, settings: Settings, n_requests: int) -> ModelUnavailableError:
    """Return the error to raise when a server does not answer; the reason of an outage."""
    several = f"{n_requests} requests in a row failed, the last with" if n_requests > 1 else ""
    what = f"is away: {several} '{failure}'" if several else f"is away ({failure})"
    return error_of(
        settings,
        f"the server at {settings.base_url} {what}; check that it runs and that base_url in "
        f"[{settings.table}] of gsum.toml is right, then run again: replies received so far are "
        "kept",
    )


def error_of(settings: Settings, message: str) -> ModelUnavailableError:
    """Return the error of the model of a table of settings."""
    return _ERRORS.get(settings.table, ModelUnavailableError)(message)


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Return the seconds of `Retry-After-Ms` or `Retry-After`, also a date; `now` is Unix time."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        if seconds >= 0:  # false for "nan"
            return min(seconds, _MAX_SECONDS)
    try:
        date = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    return max(0.0, date.timestamp() - (time.time() if now is None else now))


def stated_pause(body: str) -> float | None:
    """Return the seconds that the text of an answer asks to wait, as in "try again in 1m30.5s"."""
    stated = _STATED_PAUSE.search(body)
    if not stated:
        return None
    seconds = sum(float(n) * _UNITS[unit] for n, unit in _DURATION.findall(stated[1].lower()))
    return min(seconds, _MAX_SECONDS)


def _message_and_code(body: str) -> tuple[str, str]:
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return _short(body), ""
    error = content.get("error", content) if isinstance(content, dict) else content
    if not isinstance(error, dict):
        return _short(str(error)), ""
    message = error.get("message") or error.get("detail") or json.dumps(error)
    code = str(error.get("code") or "")
    return _short(f"{message}{f' ({code})' if code and not code.isdigit() else ''}"), code


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_QUOTED else text[: _MAX_QUOTED - 1] + "…"
