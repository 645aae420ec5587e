"""The application: routes over one service, and the files of the page."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from anyio.abc import TaskGroup, TaskStatus
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gsum_assets.serve import ask_api, documents_api, graphs_api, openai_api, openapi
from gsum_assets.serve.access import Access, Guard
from gsum_assets.serve.http import RequestError, on_error
from gsum_assets.serve.limits import Limited, Limits
from gsum_assets.serve.service import Service
from gsum_resources.protocols.models import ModelUnavailableError

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

_PAGE = Path(__file__).parent / "page"
_ERRORS = RequestError, ValueError, ModelUnavailableError, HTTPException, Exception
_HEADERS = {
    b"content-security-policy": b"default-src 'none'; script-src 'self'; style-src 'self'; "
    b"img-src 'self' data:; connect-src 'self'; font-src 'self'; worker-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-resource-policy": b"same-origin",
}


class _Protected:
    """Middleware that adds the headers that keep browsers from running what documents contain."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS.items()]
            await send(message)

        await self._app(scope, receive, sent)


def _health(_: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})


class McpEndpoint:
    """The MCP server over HTTP, started by its first request.

    Each request stands for itself: there are no sessions, and the server sends nothing of its own.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._manager: Any = None
        self._tasks: TaskGroup | None = None
        self._lock = anyio.Lock()

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Let requests be answered while the context lasts."""
        async with anyio.create_task_group() as self._tasks:
            yield
            self._tasks.cancel_scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        async with self._lock:
            if self._manager is None:
                assert self._tasks, "the application's lifespan has not begun"
                self._manager = await self._tasks.start(self._run)
            manager = self._manager
        await manager.handle_request(scope, receive, send)

    async def _run(self, task_status: "TaskStatus[StreamableHTTPSessionManager]") -> None:
        server = await anyio.to_thread.run_sync(self._new_server)
        server.streamable_http_app(stateless_http=True, json_response=True, host="")
        async with server.session_manager.run():
            task_status.started(server.session_manager)
            await anyio.sleep_forever()

    def _new_server(self) -> "MCPServer":
        from gsum_assets.serve.mcp_server import mcp_server

        return mcp_server(self._service)


def new_app(
    service: Service, access: Access | None = None, limits: Limits | None = None
) -> Starlette:
    """Return the application over a service.

    Parameters
    ----------
    access : who may ask; None: requests to this machine's own names.
    """
    access, limits = access or Access(), limits or Limits()
    mcp = McpEndpoint(service)
    routes: Sequence[BaseRoute] = [
        Route("/health", _health),
        *ask_api.ROUTES,
        *documents_api.ROUTES,
        *graphs_api.ROUTES,
        Route("/mcp", mcp, methods=["POST"]),  # it has nothing to send by itself
        *openai_api.ROUTES,
        *openapi.ROUTES,
        Mount("/", StaticFiles(directory=_PAGE, html=True)),
    ]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        n_threads = limits.waiting_threads if service.waits else limits.threads
        anyio.to_thread.current_default_thread_limiter().total_tokens = n_threads
        service.start()
        try:
            async with mcp.lifespan():
                yield
        finally:
            await anyio.to_thread.run_sync(service.stop)

    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[
            Middleware(_Protected),
            Middleware(Guard, access=access),
            Middleware(Limited, limits=limits),
        ],
        exception_handlers=dict.fromkeys(_ERRORS, on_error),
    )
    app.state.service = service
    return app
