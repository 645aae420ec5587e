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

import yaml

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
            "webserver": ["gsum_resources.dagster_io.webserver", *arguments, *shown],
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
