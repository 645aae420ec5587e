"""`gsum ui` ends with all that it started, within 5 s of Ctrl-C or SIGTERM."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from gsum_assets.cli.ui import serve
from gsum_assets.runner.daemon import is_alive
from gsum_resources.dagster_io.instance import open_instance
from gsum_resources.settings.home import Home
from tests.daemon_trials import busy_home, trials
from tests.servers.transformers_serve import free_port, wait_for
from tests.ui.served import eventually

pytestmark = pytest.mark.slow

STUBBORN = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"],
                         start_new_session=True)
print(child.pid, flush=True)
time.sleep(600)
"""


def ignoring_interrupts() -> None:
    """As a shell does for a job in its background."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def test_interrupt_in_the_background_ends_everything_within_5_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    port, log = free_port(), tmp_path / "ui.log"
    gsum = str(Path(sys.executable).with_name("gsum"))
    with log.open("w") as output:
        process = subprocess.Popen(
            [gsum, "ui", "-p", str(port)],
            env={**os.environ, "GSUM_HOME": str(tmp_path), "OMP_NUM_THREADS": "1"},
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=ignoring_interrupts,
        )
    wait_for(f"http://127.0.0.1:{port}/server_info", process, log)
    with open_instance(Home(tmp_path, str(tmp_path / "warehouse"))) as instance:
        eventually(lambda: is_alive(instance), "a heartbeat of the daemon", log)
    started = psutil.Process(process.pid).children(recursive=True)
    assert len(started) > 2  # webserver, daemon, code location
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    seconds = time.monotonic() - began
    assert [child for child in started if child.is_running()] == []
    assert seconds < 5
    with open_instance(Home(tmp_path, str(tmp_path / "warehouse"))) as instance:
        assert not is_alive(instance)  # `gsum run` need not wait for its heartbeat to expire


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_lingering_processes_are_killed(number: int, status: int) -> None:
    code = "import sys; from gsum_assets.cli.ui import serve; sys.exit(serve(sys.argv[1:]))"
    command = [sys.executable, "-c", code, sys.executable, "-c", STUBBORN]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        grandchild = psutil.Process(int(process.stdout.readline()))
        process.send_signal(number)
        assert process.wait(30) == status
    assert not grandchild.is_running()


def test_exit_status_is_that_of_the_command() -> None:
    assert serve([sys.executable, "-c", "raise SystemExit(3)"]) == 3


# `gsum run` next to a real daemon; `python -m tests.daemon_trials --times 50` repeats it.


def test_each_run_completes_everything_it_was_started_for(tmp_path: Path) -> None:
    with busy_home(tmp_path) as house:
        done = list(trials(house, 2, longest_pause_s=3.0))
    assert [trial.failures for trial in done] == [[], []], "\n".join(t.said for t in done)
