"""The HTTP server of the application."""

import socket
from collections.abc import Callable

import uvicorn

from gsum_assets.serve.access import Access
from gsum_assets.serve.app import new_app
from gsum_assets.serve.limits import Limits, bounded_protocol
from gsum_assets.serve.service import Service


class PortError(ValueError):
    """An address at which the service cannot listen."""


def run(
    service: Service,
    host: str,
    port: int,
    access: Access,
    limits: Limits,
    on_ready: Callable[[str], None],
) -> None:
    """Answer requests until a signal is received.

    Parameters
    ----------
    port : 0: any that is free.
    on_ready : called with the address when requests are accepted.

    Raises
    ------
    PortError
        If nothing can listen at the address.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise PortError(f"--host {host}, --port {port}: {reason}; name another") from error
        bound = listening.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        server = _Server(
            uvicorn.Config(
                new_app(service, access, limits),
                http=bounded_protocol(limits),
                ws="none",
                backlog=limits.connections,
                h11_max_incomplete_event_size=limits.headers_bytes,
                timeout_keep_alive=int(limits.sending_s / 2),
                timeout_graceful_shutdown=5,
                proxy_headers=False,
                server_header=False,
                access_log=False,
                log_level="warning",
            )
        )
        server.on_ready = lambda: on_ready(f"http://{shown}:{bound}")
        server.run([listening])


class _Server(uvicorn.Server):
    """A server that reports when it accepts requests."""

    on_ready: Callable[[], None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.on_ready()
