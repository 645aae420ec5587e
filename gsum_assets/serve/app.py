"""The application: routes over one service, their description, and the files of the page."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from inspect import getdoc
from pathlib import Path
from typing import Any

import anyio.to_thread
from pydantic import TypeAdapter
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gsum_assets.serve import ask_api, documents_api, graphs_api, ollama_api, openai_api
from gsum_assets.serve.access import Access, Guard
from gsum_assets.serve.http import Endpoint, Nothing, RequestError, in_thread, on_error
from gsum_assets.serve.limits import Limited, Limits
from gsum_assets.serve.service import Service
from gsum_resources.protocols.models import ModelUnavailableError
from gsum_resources.store.locked_property import locked_property

PAGE = Path(__file__).parent / "page"
"""Folder of the page's files."""

_ERRORS = RequestError, ValueError, ModelUnavailableError, HTTPException, Exception
_HEADERS = {
    b"content-security-policy": b"default-src 'none'; script-src 'self'; style-src 'self'; "
    b"img-src 'self' data:; connect-src 'self'; font-src 'self'; worker-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-resource-policy": b"same-origin",
}


class Protected:
    """Middleware that adds the headers that keep browsers from running what documents contain."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and add the headers to its reply."""

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS.items()]
            await send(message)

        await self._app(scope, receive, sent)


async def _health(_: Request, __: Nothing) -> dict[str, str]:
    """Whether the service runs."""
    return {"status": "ok"}


class McpEndpoint:
    """The MCP server over HTTP, loaded at its first request, since its package takes long to load.

    Each request stands for itself: there are no sessions, and the server sends nothing of its own.
    """

    def __init__(self, service: Service) -> None:
        self._service = service

    @locked_property
    def _server(self) -> Any:
        from gsum_assets.serve.mcp_server import mcp_server

        return mcp_server(self._service)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        server = await in_thread(lambda: self._server)
        server.streamable_http_app(stateless_http=True, json_response=True, host="")
        manager = server.session_manager  # of this request, with which its tasks end
        async with manager.run():
            await manager.handle_request(scope, receive, send)


ENDPOINTS = [
    Endpoint("/health", _health),
    *ask_api.ENDPOINTS,
    *documents_api.ENDPOINTS,
    *graphs_api.ENDPOINTS,
    *openai_api.ENDPOINTS,
    *ollama_api.ENDPOINTS,
]


_ERROR = {"description": "what is wrong with the request, and how to mend it"}
_REFERENCE = "#/components/schemas/{model}"


def description(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """Return the description of endpoints in the form of OpenAPI 3.1."""
    schemas: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    for endpoint in endpoints:
        schema = endpoint.schema.model_json_schema(ref_template=_REFERENCE)
        reply = TypeAdapter(endpoint.reply).json_schema(ref_template=_REFERENCE)
        schemas |= {**schema.pop("$defs", {}), **reply.pop("$defs", {})}
        content = {"application/json": {"schema": reply}}
        replies = {"200": {"description": "the result", "content": content}, "4XX": _ERROR}
        described: dict[str, Any] = {"summary": getdoc(endpoint.handler), "responses": replies}
        if endpoint.method == "POST":
            content = {"application/json": {"schema": schema}}
            described["requestBody"] = {"required": True, "content": content}
        else:
            required = schema.get("required", ())
            described["parameters"] = [
                {"name": name, "in": "query", "required": name in required, "schema": field}
                for name, field in schema.get("properties", {}).items()
            ]
        paths[endpoint.path] = {endpoint.method.lower(): described}
    return {
        "openapi": "3.1.0",
        "info": {"title": "gsum", "version": "1"},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
    }


def new_app(
    service: Service, access: Access | None = None, limits: Limits | None = None
) -> Starlette:
    """Return the application over a service; without `access` for this machine's own names."""
    access, limits = access or Access(), limits or Limits()
    routes: Sequence[BaseRoute] = [
        *ENDPOINTS,
        *openai_api.ROUTES,
        Route("/mcp", McpEndpoint(service), methods=["POST"]),  # it has nothing to send by itself
        Route("/api/openapi.json", lambda _: JSONResponse(description(ENDPOINTS))),
        Mount("/", StaticFiles(directory=PAGE, html=True)),
    ]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        n_threads = limits.waiting_threads if service.waits else limits.threads
        anyio.to_thread.current_default_thread_limiter().total_tokens = n_threads
        service.start()
        try:
            yield
        finally:
            await anyio.to_thread.run_sync(service.stop)

    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[
            Middleware(Protected),
            Middleware(Guard, access=access),
            Middleware(Limited, limits=limits),
        ],
        exception_handlers=dict.fromkeys(_ERRORS, on_error),
    )
    app.state.service, app.state.limits = service, limits
    return app
