"""`gsum ui` as a person starts it: webserver, daemon and code location, on a free port."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.servers.transformers_serve import free_port, wait_for

PATIENCE_S = 900.0  # against hanging alone: a slow machine is no failure


@contextmanager
def served(
    home: Path,
    interval_s: int = 10,
    arguments: Sequence[str] = ("--host", "127.0.0.1"),
    folder: Path | None = None,
) -> Iterator[str]:
    """Serve the home; gives the UI's address. Everything started ends with the context.

    Parameters
    ----------
    interval_s : between two evaluations of a sensor; more often takes more of the machine.
    arguments : of `gsum ui`, besides the port.
    folder : in which it is started; None: the present one.
    """
    port = free_port()
    log = home / "printed.log"
    environment = {**os.environ, "GSUM_HOME": str(home), "OMP_NUM_THREADS": "1"}
    environment["GSUM_AUTOMATION_INTERVAL_S"] = str(interval_s)
    command = [str(Path(sys.executable).with_name("gsum")), "ui", *arguments]
    with log.open("w") as output:
        process = subprocess.Popen(
            [*command, "--port", str(port)],
            env=environment,
            cwd=folder,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_for(f"http://127.0.0.1:{port}/server_info", process, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


def eventually(happened: Callable[[], bool], what: str, log: Path) -> None:
    """Return once `happened`; fail with the end of the log after `PATIENCE_S`."""
    started = time.monotonic()
    while not happened():
        waited = time.monotonic() - started
        assert waited < PATIENCE_S, f"not within {waited:.0f} s: {what}\n{log.read_text()[-4000:]}"
        time.sleep(2)
