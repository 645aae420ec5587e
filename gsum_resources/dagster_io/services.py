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

from gsum_resources.dagster_io import dagster_private as private
from gsum_resources.dagster_io.instance import open_instance, workspace_file
from gsum_resources.settings.home import Home

_POLL_S = 1.0


def serve(arguments: Sequence[str]) -> str:
    """Run all processes until one of them ends; return which.

    With `--read-only` there is no daemon.
    """
    home = Home.from_environment()
    (entry,) = yaml.safe_load(workspace_file().read_text())["load_from"]
    location = entry["python_module"]
    # modules in the working directory of a code location are imported before all others
    target = private.ModuleTarget(
        location["module_name"], None, str(home.dagster), location["location_name"]
    )
    with (
        open_instance(home) as instance,
        private.ProxyServerManager(instance, target, code_server_log_level="warning") as servers,
        tempfile.TemporaryDirectory() as folder,
    ):
        workspace = Path(folder) / "workspace.yaml"
        workspace.write_text(yaml.safe_dump({"load_from": [*servers.get_code_server_specs()]}))
        commands = {"webserver": ["gsum_resources.dagster_io.webserver", *arguments]}
        if "--read-only" not in arguments:
            commands["daemon"] = [private.DAEMON, "run"]
        processes = {
            name: subprocess.Popen(
                [sys.executable, "-m", *command, "--workspace", str(workspace)],
                cwd=home.dagster,  # they read `.env` in the present folder
            )
            for name, command in commands.items()
        }
        while True:
            for name, process in processes.items():
                if process.poll() is not None:
                    return f"the {name} ended with status {process.returncode}"
            time.sleep(_POLL_S)


if __name__ == "__main__":
    os.environ["DAGSTER_IS_DEV_CLI"] = "1"  # errors of the code location are logged once
    sys.exit(serve(sys.argv[1:]))
