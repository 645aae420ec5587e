"""A run launcher that knows its own workers alone, as those of Ray and Kubernetes do.

It starts a process for each run, and remembers its number in a tag of the run, so that a daemon
that was started again finds the workers of the one before.
"""

import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import dagster as dg
import psutil
import yaml
from dagster._core.launcher import CheckRunHealthResult, LaunchRunContext, RunLauncher, WorkerStatus
from dagster._grpc.types import ExecuteRunArgs
from dagster._serdes import ConfigurableClass, ConfigurableClassData

from gsum_resources.dagster_io.instance import CONFIG_FILE, prepare
from gsum_resources.settings.home import Home

WORKER = "test/worker"


def launch_by_processes(home: Home) -> None:
    """Let the daemon of a home use `ProcessLauncher`, and look for the workers each second."""
    file = prepare(home) / CONFIG_FILE
    config = yaml.safe_load(file.read_text())
    config["run_launcher"] = {"module": __name__, "class": ProcessLauncher.__name__}
    # a run that a busy machine starts slowly is no failure
    config["run_monitoring"] |= {"poll_interval_seconds": 1, "start_timeout_seconds": 1500}
    file.write_text(yaml.safe_dump(config, sort_keys=False))


class ProcessLauncher(RunLauncher, ConfigurableClass):
    """Starts each run in a process of a session of its own."""

    def __init__(self, inst_data: ConfigurableClassData | None = None) -> None:
        self._inst_data = inst_data
        super().__init__()

    @property
    def inst_data(self) -> ConfigurableClassData | None:
        return self._inst_data

    @classmethod
    def config_type(cls) -> dict[str, Any]:
        return {}

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData, config_value: Mapping[str, Any]
    ) -> "ProcessLauncher":
        return cls(inst_data)

    def launch_run(self, context: LaunchRunContext) -> None:
        run = context.dagster_run
        assert run.job_code_origin
        arguments = ExecuteRunArgs(run.job_code_origin, run.run_id, self._instance.get_ref())
        _, *command = arguments.get_command_args()
        worker = subprocess.Popen(
            [sys.executable, "-m", "dagster", *command],
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._instance.add_run_tags(run.run_id, {WORKER: str(worker.pid)})

    def terminate(self, run_id: str) -> bool:
        return False

    @property
    def supports_check_run_worker_health(self) -> bool:
        return True

    def check_run_worker_health(self, run: dg.DagsterRun) -> CheckRunHealthResult:
        if WORKER not in run.tags:
            return CheckRunHealthResult(WorkerStatus.NOT_FOUND, "not started by this launcher")
        lives = psutil.pid_exists(int(run.tags[WORKER]))
        return CheckRunHealthResult(WorkerStatus.RUNNING if lives else WorkerStatus.FAILED)
