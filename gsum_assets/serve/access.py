"""Who may ask: tokens and their corpora, and the names by which this machine is reached.

A service at a loopback address asks for no token by default. A web page elsewhere could still send
requests to it through a visitor's browser, also under a name that leads to the loopback address
(DNS rebinding): the headers `Host` and `Origin` must therefore name this machine. With tokens, a
request is known by its token, which no web page has.
"""

import hashlib
import hmac
import ipaddress
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, Field, ValidationError
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from gsum_assets.serve.http import RequestError, on_error

VARIABLE = "GSUM_SERVE_TOKEN"
LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
_ALL = "*"
_LEAST = 16  # characters of a token
_GUARDED = ("/api/", "/v1/", "/mcp")
_CORPORA = "gsum.corpora"  # key of the corpora of a request in its scope
CLIENT = "gsum.client"
"""Key of what identifies the client of a request with a token in its scope."""


class AccessError(ValueError):
    """A service that anybody could ask, or a file of tokens that cannot be used."""


@dataclass(frozen=True)
class Token:
    """A token, known by its digest alone, and the corpora that it may ask; None: all."""

    digest: bytes = field(repr=False)
    corpora: frozenset[str] | None = None

    @classmethod
    def of(cls, text: str, corpora: Collection[str] | None = None) -> "Token":
        """Return a token from its text; raise `AccessError` if it is too short."""
        if len(text) < _LEAST:
            raise AccessError(
                f"a token has {len(text)} characters; it needs at least {_LEAST}, such as those of "
                "`openssl rand -hex 32`"
            )
        return cls(_digest(text), None if corpora is None else frozenset(corpora))


class _TokenTable(BaseModel):
    token: str = Field(min_length=_LEAST)
    corpora: Annotated[
        list[str] | Literal["*"],
        BeforeValidator(lambda corpora: _ALL if corpora == [_ALL] else corpora),
    ]


class _TokensFile(BaseModel):
    tokens: list[_TokenTable] = Field(min_length=1)


@dataclass(frozen=True)
class Access:
    """Who may ask.

    Attributes
    ----------
    tokens : at least one of them is required; none: everybody who reaches the service may ask.
    names : names by which it is reached, without ports; checked where there are no tokens.
    """

    tokens: Sequence[Token] = ()
    names: frozenset[str] = frozenset(LOCAL_NAMES)

    def token_of(self, authorization: str) -> Token | None:
        """Return the token of a header `Authorization: Bearer TOKEN`; None if there is none.

        Every token is compared, each in constant time.
        """
        scheme, _, text = authorization.partition(" ")
        given, found = _digest(text.strip()), None
        for token in self.tokens:
            if hmac.compare_digest(token.digest, given) and scheme.lower() == "bearer":
                found = token
        return found

    def knows(self, host: str) -> bool:
        """Return whether a host, of a header `Host` or `Origin`, is a name of this service."""
        try:
            name = urlsplit(host if "//" in host else f"//{host}").hostname
        except ValueError:
            return False
        return name in self.names


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def access_for(
    host: str,
    environment: Mapping[str, str],
    tokens_file: Path | None = None,
    known_as: Sequence[str] = (),
) -> Access:
    """Return who may ask a service at an address, by a file of tokens and the environment's.

    Raise `AccessError` if other machines reach the address and there is no token, or the file
    cannot be used.
    """
    tokens = read_tokens(tokens_file) if tokens_file else []
    if text := environment.get(VARIABLE, ""):
        tokens.append(Token.of(text))
    if not tokens and not is_loopback(host):
        raise AccessError(
            f"--host {host or '(empty)'}: everybody who reaches this address could read all "
            f"documents; set {VARIABLE}, or name a file of tokens with --tokens"
        )
    return Access(tokens, frozenset((*LOCAL_NAMES, *(name.lower() for name in known_as))))


def read_tokens(file: Path) -> list[Token]:
    """Return the tokens of a TOML file: `[[tokens]]` with `token` and `corpora`, names or "*".

    Raise `AccessError` if the file cannot be read, or a table is wrong; it never names a token.
    """
    try:
        tables = _TokensFile.model_validate(tomllib.loads(file.read_text())).tokens
        return [
            Token.of(table.token, None if table.corpora == _ALL else table.corpora)
            for table in tables
        ]
    except ValidationError as error:
        first = error.errors()[0]
        key, reason = ".".join(map(str, first["loc"])), first["msg"]
    except (OSError, ValueError) as error:
        key, reason = "it cannot be read", type(error).__name__
    raise AccessError(
        f"{file}: {key}: {reason}; write [[tokens]] tables with `token`, a text, and `corpora`, a "
        f'list of names or "{_ALL}"'
    )


def is_loopback(host: str) -> bool:
    """Return whether an address is reached from this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def corpora_of(connection: HTTPConnection) -> frozenset[str] | None:
    """Return the corpora that an admitted request may ask; None: all."""
    return connection.scope[_CORPORA]


class Guard:
    """Middleware that admits requests by their token, or by the name under which they come."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass an admitted request on, with the corpora that it may ask."""
        if scope["type"] == "http" and (refused := self._refused(scope)):
            await refused(scope, receive, send)
        elif scope["type"] != "websocket":  # there are none
            await self._app(scope, receive, send)

    def _refused(self, scope: Scope) -> ASGIApp | None:
        received = HTTPConnection(scope).headers
        scope[_CORPORA] = None
        if self._access.tokens:
            if not f"{scope['path']}/".startswith(_GUARDED):
                return None  # files of the page, which hold nothing of the corpora
            token = self._access.token_of(received.get("authorization", ""))
            if token is None:
                message = (
                    "this service needs a token that it knows; send `Authorization: Bearer TOKEN`"
                )
                headers = {"WWW-Authenticate": "Bearer"}
                return on_error(scope, RequestError(401, "invalid_token", message, headers))
            scope[_CORPORA], scope[CLIENT] = token.corpora, token.digest
            return None
        for name in ("host", "origin"):
            value = received.get(name, "" if name == "host" else None)
            if value is not None and not self._access.knows(value):
                message = (
                    f"{name.title()} '{value:.80}' is no name of this service; reach it as "
                    "localhost, or start it with --known-as NAME"
                )
                return on_error(scope, RequestError(403, "unknown_host", message))
        return None
