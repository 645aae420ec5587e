"""The daemon of a home: whether it is alive, a run that is submitted to it, and its events."""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import dagster as dg

from gsum_assets.dagster_assets.partitions import PARTITION
from gsum_assets.dagster_assets.run_resource import INDEX_JOB
from gsum_assets.runner.report import Reader, RefreshError
from gsum_resources.dagster_io.instance import CONFIG_FILE, LOCATION, REPOSITORY, workspace_file
from gsum_resources.settings.home import Home

_HEARTBEAT_S = 120.0  # the daemon sends a heartbeat every 30 s
_POLL_S = 1.0
_LAUNCH = """
from dagster_graphql.cli import main
main()
"""
_AT_ONCE = 1000  # events of one look


class DaemonStoppedError(Exception):
    """The daemon has ended before it began the run."""


def is_alive(instance: dg.DagsterInstance) -> bool:
    """Return whether a daemon runs, by the time of its last heartbeat."""
    heartbeat = instance.get_daemon_heartbeats().get("QUEUED_RUN_COORDINATOR")
    return heartbeat is not None and time.time() - heartbeat.timestamp < _HEARTBEAT_S


def require_own_launcher(instance: dg.DagsterInstance) -> None:
    """Raise `RefreshError` if Dagster's monitoring would take runs of this process for dead."""
    launcher = instance.run_launcher
    if not (instance.is_ephemeral or isinstance(launcher, dg.DefaultRunLauncher)):
        raise RefreshError(
            f"{CONFIG_FILE} names the run launcher {type(launcher).__name__}, whose runs the "
            "daemon starts, and no daemon is running; start it with `gsum ui` or `dagster-daemon "
            f"run` on this home, or remove `run_launcher` from {CONFIG_FILE} to run here"
        )


def submit(home: Home, corpus: str, keys: Sequence[dg.AssetKey], config: dict) -> str:
    """Put a run of the job `index` into the queue of the daemon; return its id.

    Dagster's own command does it, as a process. Raise `RefreshError` if it does not accept the run.
    """
    selector = {
        "repositoryLocationName": LOCATION,
        "repositoryName": REPOSITORY,
        "pipelineName": INDEX_JOB,
        "assetSelection": [{"path": list(key.path)} for key in keys],
    }
    tags = {"dagster/priority": "1", PARTITION: corpus}
    metadata = {"tags": [{"key": key, "value": value} for key, value in tags.items()]}
    params = {"selector": selector, "runConfigData": config, "mode": "default"}
    variables = json.dumps({"executionParams": {**params, "executionMetadata": metadata}})
    with TemporaryDirectory() as folder:
        output = Path(folder) / "reply.json"
        command = [sys.executable, "-c", _LAUNCH, "-w", str(workspace_file())]
        command += ["-p", "launchPipelineExecution", "-v", variables, "-o", str(output)]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=home.dagster, check=False
        )
        reply = json.loads(output.read_text()) if output.exists() else {}
    launched = (reply.get("data") or {}).get("launchPipelineExecution") or {}
    if "run" in launched:
        return launched["run"]["runId"]
    reason = launched.get("message") or reply.get("errors") or done.stderr.strip()[-500:]
    raise RefreshError(f"Dagster did not accept the run of corpus '{corpus}': {reason}")


def follow(instance: dg.DagsterInstance, run_id: str, reader: Reader) -> None:
    """Read the events of a run to its end; raise `DaemonStoppedError` if it cannot begin."""
    cursor = None
    while True:
        run = instance.get_run_by_id(run_id)
        records = instance.get_records_for_run(run_id, cursor=cursor, limit=_AT_ONCE)
        cursor = records.cursor
        for record in records.records:
            reader.read(record.event_log_entry)
        if records.has_more:
            continue
        if run is None or run.is_finished:
            return
        if run.status == dg.DagsterRunStatus.QUEUED:
            if not is_alive(instance):
                raise DaemonStoppedError
            reader.events.waits("the daemon, in whose queue the run is")
        time.sleep(_POLL_S)
