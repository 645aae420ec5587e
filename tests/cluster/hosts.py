"""Processes on two host names, a daemon, and a database server that is killed and comes back."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import dagster as dg
import psutil
import pytest

from gsum_resources.dagster_io.instance import workspace_file
from tests.cluster.servers import postgres_on
from tests.conftest import CORPUS, House
from tests.pipeline.served_homes import MARKED_KEY, chats
from tests.servers.scripted import ScriptedServer

ROOT = Path(__file__).parents[2]
OTHER = "gsum-other-host"
UNDER = ["unshare", "--uts", "sh", "-c", f'hostname {OTHER} && exec "$@"', "sh"]
PATIENCE_S = 1500.0  # against hanging alone: a slow machine is no failure
_CLI = "from gsum_assets.cli.main import script; script()"


def require_host_names() -> None:
    """Skip where a process cannot get a host name of its own."""
    may_unshare = shutil.which("unshare") and not subprocess.run([*UNDER, "true"]).returncode
    if not may_unshare:
        pytest.skip("another host name needs a namespace: run as root on Linux")


def gsum_run(
    house: House,
    corpus: str = CORPUS,
    under: Sequence[str] = (),
    before: str = "",
    method: str = "bm25",
) -> subprocess.Popen[str]:
    """Start `gsum run`.

    Parameters
    ----------
    under : a command that executes the one that follows it.
    before : Python that is executed first.
    """
    code = f"{before}\n{_CLI}"
    return subprocess.Popen(
        [*under, sys.executable, "-c", code, "run", corpus, "--methods", method],
        cwd=ROOT,
        env={**os.environ, "GSUM_HOME": str(house.home.root), "MARKED_KEY": MARKED_KEY},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ended(process: subprocess.Popen[str], status: int = 0) -> str:
    """Wait for the end of a process with this status; return what it printed."""
    said, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == status, said
    return said


def eventually(happened: Callable[[], object], process: subprocess.Popen[str]) -> None:
    """Wait until something happens while a process runs."""
    deadline = time.monotonic() + PATIENCE_S
    while not happened():
        assert process.poll() is None, process.args
        assert time.monotonic() < deadline
        time.sleep(0.05)


def answered(server: ScriptedServer) -> Counter[str]:
    """Return how often the model answered each request."""
    return Counter(line["messages"] for line in chats(server) if line["status"] == 200)


@contextmanager
def daemon_on(house: House, log: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a daemon, whose session ends with the context; return once it can start runs."""
    with log.open("a") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "dagster._daemon", "run", "-w", str(workspace_file())],
            cwd=ROOT,
            env={
                **os.environ,
                "GSUM_HOME": str(house.home.root),
                "MARKED_KEY": MARKED_KEY,
                "GSUM_AUTOMATION_INTERVAL_S": "5",
            },
            start_new_session=True,
            stdout=output,
            stderr=output,
            text=True,
        )
    try:
        began = time.time()
        with house.instance() as instance:
            eventually(lambda: _beats(instance) > began, process)
        yield process
    finally:
        kill_session(process)


def _beats(instance: dg.DagsterInstance) -> float:
    """Return when a daemon last sent a heartbeat, Unix time."""
    heartbeat = instance.get_daemon_heartbeats().get("QUEUED_RUN_COORDINATOR")
    return heartbeat.timestamp if heartbeat else 0.0


def kill_session(process: subprocess.Popen[str]) -> None:
    """End a process and those that it started by SIGKILL."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def kill_postgres(folder: Path) -> None:
    """End PostgreSQL and all its processes by SIGKILL, as when its host loses power."""
    pid = int((folder / "postgres" / "postmaster.pid").read_text().split()[0])
    leader = psutil.Process(pid)
    everyone = [leader, *leader.children(recursive=True)]
    for process in everyone:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(everyone, timeout=30)


@contextmanager
def postgres_again(folder: Path, url: str) -> Iterator[None]:
    """Start PostgreSQL on the data and the port that it had."""
    with postgres_on(folder / "postgres", int(url.rpartition(":")[2].partition("/")[0])):
        yield
