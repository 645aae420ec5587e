"""The processes behind `gsum ui`: a code server, the guarded webserver and the daemon.

Like `dagster dev`, with one code server for both, but for gsum's code location alone: neither a
project of Dagster nor a module or `.env` in the present folder has an effect on them.

`python -m gsum_resources.dagster_io.services` takes the arguments of `dagster-webserver`.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from dagster_webserver import app, cli
from dagster_webserver.webserver import DagsterWebserver
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse

from gsum_resources.dagster_io.guard import RefuseForeignRequests, changes_something
from gsum_resources.dagster_io.instance import LOCATION, open_instance, workspace_file
from gsum_resources.settings.home import Home

_POLL_S = 1.0


def serve(arguments: Sequence[str]) -> str:
    """Run all processes until one of them ends; return which.

    With `--read-only` there is no daemon.
    """
    home = Home.from_environment()
    (entry,) = yaml.safe_load(workspace_file().read_text())["load_from"]
    module = entry["python_module"]["module_name"]
    with open_instance(home), tempfile.TemporaryDirectory() as folder:
        socket, workspace = Path(folder) / "code", Path(folder) / "workspace.yaml"
        server = {"grpc_server": {"socket": str(socket), "location_name": LOCATION}}
        workspace.write_text(yaml.safe_dump({"load_from": [server]}))
        # modules in the working directory of a code location are imported before all others
        code = ["dagster", "code-server", "start", "-m", module, "-d", str(home.dagster)]
        code += ["-s", str(socket), "--location-name", LOCATION, "--log-level", "warning"]
        shown = ["--workspace", str(workspace)]
        commands = {
            "code server": [*code, "--use-python-environment-entry-point"],
            "webserver": ["gsum_resources.dagster_io.services", *arguments, *shown],
        }
        if "--read-only" not in arguments:
            commands["daemon"] = ["dagster._daemon", "run", *shown]
        processes = {}
        for name, command in commands.items():
            processes[name] = subprocess.Popen(
                [sys.executable, "-m", *command],
                cwd=home.dagster,  # they read `.env` in the present folder
            )
            while not socket.exists() and processes["code server"].poll() is None:
                time.sleep(_POLL_S / 10)
        while True:
            for name, process in processes.items():
                if process.poll() is not None:
                    return f"the {name} ended with status {process.returncode}"
            time.sleep(_POLL_S)


if __name__ == "__main__":
    os.environ["DAGSTER_IS_DEV_CLI"] = "1"  # errors of the code location are logged once
    sys.exit(serve(sys.argv[1:]))


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
