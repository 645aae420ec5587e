"""What a failed attempt means: try again, give this request up, or give the server up."""

import email.utils
import json
import re
import time
from collections.abc import Mapping

from gsum_resources.endpoint.key import is_keyless
from gsum_resources.protocols import (
    EmbedderUnavailableError,
    JudgeUnavailableError,
    ModelUnavailableError,
    ScorerUnavailableError,
)
from gsum_resources.settings import EmbeddingSettings, LlmSettings, ScorerSettings

Settings = LlmSettings | EmbeddingSettings | ScorerSettings
_ERRORS = {  # by the table of settings
    "llm": ModelUnavailableError,
    "judge": JudgeUnavailableError,
    "embedding": EmbedderUnavailableError,
    "scorer": ScorerUnavailableError,
}

LONGEST_PAUSE_S = 900.0  # a server that asks for more has nothing to give to this run
_MAX_TOLD = 300  # characters of a server's own words in a message
_MAX_SECONDS = 1e9  # a Retry-After beyond any patience is as good as this one
_RETRIED = frozenset({408, 409, 429})
_REFUSED_KEY = frozenset({401, 403})
_NO_MONEY = "insufficient_quota"  # OpenAI's code of a 429 that no waiting cures
_UNKNOWN_MODEL = re.compile(r"model_not_found|\bmodel\b", re.IGNORECASE)


class EndpointError(RuntimeError):
    """One request got no usable answer.

    Attributes
    ----------
    status : of the server's answer, 0 where there was none.
    retries : attempts after the first.
    """

    def __init__(self, message: str, status: int = 0, retries: int = 0) -> None:
        super().__init__(message)
        self.status = status
        self.retries = retries


class TransientError(EndpointError):
    """An attempt that failed in a way that the next one may not.

    Attributes
    ----------
    retry_after_s : seconds that the server asks to wait, or None.
    reached : whether a connection was made: if so, it may be this request that is at fault.
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
    """An answer after which no request to this server will do better."""


def failure_of(status: int, headers: Mapping[str, str], body: str) -> EndpointError:
    """What an answer with a status from 400 on means; `body` without the key."""
    told, code = _told(body)
    message = f"{status}: {told}" if told else f"{status}"
    if status in _REFUSED_KEY or status == 402 or code == _NO_MONEY:
        return RefusedError(message, status)
    if status in _RETRIED or status >= 500:
        pause = retry_after(headers)
        if pause is not None and pause > LONGEST_PAUSE_S:
            return RefusedError(f"{message}, and asks to wait {pause:.0f} s", status)
        return TransientError(message, status, pause)
    return EndpointError(message, status)


def unavailable(
    failure: EndpointError, settings: Settings, answered: bool = True
) -> ModelUnavailableError | None:
    """Return the error to raise if no request will do better than this one did, else None.

    Parameters
    ----------
    answered : whether the server has answered a request before, so that its address is right.
    """
    url, where = settings.base_url, f"[{settings.table}] of gsum.toml"
    is_sent = bool(settings.api_key_env) and not is_keyless(settings)
    if failure.status in _REFUSED_KEY and is_sent:
        what = (
            f"refuses the key in environment variable {settings.api_key_env} ({failure}); put a "
            "valid key there"
        )
    elif failure.status in _REFUSED_KEY:
        what = (
            f"wants a key ({failure}); name the environment variable that holds it as api_key_env "
            f"in {where}"
        )
    elif isinstance(failure, RefusedError):
        what = f"serves no more for now ({failure}); see to the account there, then run again"
    elif failure.status == 404 and _UNKNOWN_MODEL.search(str(failure)):
        what = f"has no model '{settings.model}' ({failure}); correct model in {where}"
    elif failure.status == 404 and not answered:
        what = f"does not have what is asked of it ({failure}); correct base_url in {where}"
    else:
        return None
    return _error(settings, f"the server at {url} {what}")


def away(failure: EndpointError, settings: Settings, n_requests: int) -> ModelUnavailableError:
    """Return the error to raise when a server answers nobody any more."""
    return _error(
        settings,
        f"the server at {settings.base_url} is away: {n_requests} requests in a row failed, the "
        f"last with '{failure}'; {_see_to_it(settings)}, then run again: what was answered is kept",
    )


def out_of_reach(failure: EndpointError, settings: Settings) -> ModelUnavailableError:
    """Return the error to raise when a server cannot be reached before any work."""
    return _error(
        settings,
        f"the server at {settings.base_url} cannot be reached ({failure}); {_see_to_it(settings)}",
    )


def _error(settings: Settings, message: str) -> ModelUnavailableError:
    return _ERRORS.get(settings.table, ModelUnavailableError)(message)


def _see_to_it(settings: Settings) -> str:
    return f"see that it runs and that base_url in [{settings.table}] of gsum.toml is right"


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Return seconds that a server asks to wait: `Retry-After-Ms`, or `Retry-After` in seconds or
    date.

    Parameters
    ----------
    now : seconds since the epoch, for a date; None: the present.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        if seconds >= 0:  # which "nan" is not
            return min(seconds, _MAX_SECONDS)
    try:
        date = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    return max(0.0, date.timestamp() - (time.time() if now is None else now))


def _told(body: str) -> tuple[str, str]:
    """Return a server's own words and its code, from the shapes in which servers put them."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return _short(body), ""
    error = content.get("error", content) if isinstance(content, dict) else content
    if not isinstance(error, dict):
        return _short(str(error)), ""
    told = error.get("message") or error.get("detail") or json.dumps(error)
    code = str(error.get("code") or "")
    return _short(f"{told}{f' ({code})' if code and not code.isdigit() else ''}"), code


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_TOLD else text[: _MAX_TOLD - 1] + "…"
