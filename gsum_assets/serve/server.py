"""The HTTP server of the application."""

import math
import socket
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

from gsum_assets.serve.limits import Limits, bounded_protocol


class PortError(ValueError):
    """An address at which the service cannot listen."""


def listening_at(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address; port 0 is any that is free.

    Raise `PortError` if nothing can listen there.
    """
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except (OSError, OverflowError) as error:
        bound.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise PortError(f"--host {host}, --port {port}: {reason}; name another") from error
    return bound


class Server(uvicorn.Server):
    """A server of an application within limits, which calls `on_ready` when it accepts requests."""

    def __init__(self, app: ASGIApp, limits: Limits, on_ready: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=bounded_protocol(limits),
                ws="none",
                h11_max_incomplete_event_size=limits.headers_bytes,
                timeout_keep_alive=math.ceil(limits.sending_s / 2),
                timeout_graceful_shutdown=5,
                proxy_headers=False,
                server_header=False,
                access_log=False,
                log_level="warning",
            )
        )
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept requests."""
        await super().startup(sockets)
        self._on_ready()


def address_of(host: str, port: int) -> str:
    """Return the URL at which a browser on this machine reaches an address."""
    name = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"
