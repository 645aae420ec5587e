"""Dagster's webserver with a guard against requests of other sites: the same command, other app.

`python -m gsum_resources.dagster_io.webserver` takes the arguments of `dagster-webserver`.
"""

import os
from typing import Any

from dagster_webserver import app, cli
from dagster_webserver.webserver import DagsterWebserver
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse

from gsum_resources.dagster_io.guard import RefuseForeignRequests, changes_something

NAMES = "GSUM_UI_NAMES"
"""Variable with the host names by which browsers reach the UI, separated by commas."""


class GuardedWebserver(DagsterWebserver):
    """Dagster's webserver, which refuses what a page of another site could have sent."""

    def build_middleware(self) -> list[Middleware]:
        """Return Dagster's middleware behind the guard."""
        names = [name for name in os.environ.get(NAMES, "").split(",") if name]
        return [Middleware(RefuseForeignRequests, names=names), *super().build_middleware()]

    async def graphql_http_endpoint(self, request: Request) -> Any:
        """Answer a GraphQL request; one by GET may only read."""
        if request.method == "GET" and changes_something(request.query_params.get("query", "")):
            text = "A GET request may only read; send mutations by POST.\n"
            return PlainTextResponse(text, status_code=405, headers={"Allow": "POST"})
        return await super().graphql_http_endpoint(request)


if __name__ == "__main__":
    # `dagster-webserver` has no option for another class
    app.DagsterWebserver = GuardedWebserver  # pyright: ignore[reportPrivateImportUsage]
    cli.dagster_webserver(prog_name="gsum ui")
