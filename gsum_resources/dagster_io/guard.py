"""Refusal of requests to the Dagster UI that a page of another site could have sent.

The webserver of Dagster asks for no login, so that whoever can send it a request can start runs. A
page in the user's browser can, also to an address of this machine alone: by a form or an image
(cross-site request forgery), or under a name of its own that it lets point here (DNS rebinding).
"""

import ipaddress
import socket
from collections.abc import Collection, Sequence
from functools import cache
from urllib.parse import urlsplit

from graphql import GraphQLError, OperationDefinitionNode, OperationType, parse
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

_SAME_SITE = ("same-origin", "none")  # of Sec-Fetch-Site; "none": typed or a bookmark
_DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
_POLICY_VIOLATION = 1008  # WebSocket close code


class RefuseForeignRequests:
    """ASGI middleware: requests from pages of another site are answered with status 403.

    Browsers reach the UI by `names`, the names of this machine, and addresses in numbers, to which
    no name can be rebound.
    """

    def __init__(self, app: ASGIApp, names: Collection[str] = ()) -> None:
        self.app = app
        self.names = frozenset(name.lower() for name in names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        reason = None
        if scope["type"] in ("http", "websocket"):
            headers = Headers(scope=scope)
            reason = self.refusal(headers, scope.get("method", "GET"), scope["path"])
        if reason is None:
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": reason})
        else:
            await PlainTextResponse(reason + "\n", status_code=403)(scope, receive, send)

    def refusal(self, headers: Headers, method: str, path: str) -> str | None:
        """Return why a request is refused; None if it is not."""
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        host, port = _host_and_port(f"//{hosts[0]}") if len(hosts) == 1 else ("", None)
        if not (host in self.names | _names_of_this_machine() or is_address(host)):
            return (
                f"The UI is not known under the name '{host}' in the header Host. If it is a name "
                f"of this machine or of a proxy before it, start `gsum ui --known-as {host}`."
            )
        for origin in origins:
            scheme = urlsplit(origin).scheme if "://" in origin else ""
            name, origin_port = _host_and_port(origin)
            ports = {port or _DEFAULT_PORTS.get(scheme), origin_port or _DEFAULT_PORTS.get(scheme)}
            if name not in self.names and (name != host or len(ports) > 1):
                return f"Requests from pages of another origin are refused: '{origin}'."
        site = headers.get("sec-fetch-site", "none")
        if site not in _SAME_SITE and not _follows_link(headers, method, path):
            return f"Requests from pages of another site are refused: Sec-Fetch-Site is '{site}'."
        return None


def _follows_link(headers: Headers, method: str, path: str) -> bool:
    """Return whether a person opens a page of the UI by a link on another site."""
    fetch = headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")
    return fetch == ("navigate", "document") and method == "GET" and not path.endswith("/graphql")


def _host_and_port(url: str) -> tuple[str, int | None]:
    """Return host and port of a URL; ("", None) of what is none, such as the origin `null`."""
    try:
        parts = urlsplit(url)
        return (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return "", None


@cache
def _names_of_this_machine() -> frozenset[str]:
    name, domain_name = socket.gethostname().lower(), socket.getfqdn().lower()
    return frozenset({"localhost", name, domain_name}) - {""}


def is_address(host: str) -> bool:
    """Return whether a host is an IP address in numbers."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def changes_something(query: str) -> bool:
    """Return whether a GraphQL document has an operation that is no query."""
    try:
        definitions: Sequence = parse(query).definitions
    except GraphQLError:
        return False  # Dagster answers with the error
    operations = [node for node in definitions if isinstance(node, OperationDefinitionNode)]
    return any(operation.operation != OperationType.QUERY for operation in operations)
