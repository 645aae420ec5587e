"""The application: routes over one service, and the files of the page."""

from collections.abc import Sequence
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from gsum_assets.serve import ask_api, corpora_api, documents_api, graphs_api
from gsum_assets.serve.errors import RequestError, on_request_error, on_value_error
from gsum_assets.serve.mcp_server import McpEndpoint, mcp_route
from gsum_assets.serve.service import Service

_PAGE = Path(__file__).parent / "page"


def _health(_: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})


def new_app(service: Service) -> Starlette:
    """Return the application over a service."""
    mcp = McpEndpoint(service)
    routes: Sequence[BaseRoute] = [
        Route("/health", _health),
        *corpora_api.ROUTES,
        *ask_api.ROUTES,
        *documents_api.ROUTES,
        *graphs_api.ROUTES,
        mcp_route(mcp),
        Mount("/", StaticFiles(directory=_PAGE, html=True, check_dir=False)),
    ]
    app = Starlette(
        routes=routes,
        lifespan=mcp.lifespan,
        exception_handlers={RequestError: on_request_error, ValueError: on_value_error},
    )
    app.state.service = service
    return app
