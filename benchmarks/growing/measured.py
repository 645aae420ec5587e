"""Wall time, CPU time and peak memory of a process."""

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple


class Usage(NamedTuple):
    """Cost of a process and of its finished children.

    Attributes
    ----------
    wall_s, cpu_s : seconds; of all its threads, in its own code and in the system's.
    peak_mib : largest resident memory of one of these processes, MiB.
    began : when it was started, Unix time.
    """

    wall_s: float
    cpu_s: float
    peak_mib: float
    began: float


class FailedProcessError(RuntimeError):
    """A side of the comparison ended with an error; the message has the end of its output."""


def run_measured(
    command: Sequence[str], environment: Mapping[str, str], cwd: Path, log: Path
) -> Usage:
    """Run `command` to its end, its output in `log`.

    Raises
    ------
    FailedProcessError
        If it does not end with 0.
    """
    began, start = time.time(), time.perf_counter()
    with log.open("w") as output:
        process = subprocess.Popen(
            command,
            env={**os.environ, **environment},
            cwd=cwd,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        # of this child alone: RUSAGE_CHILDREN would keep the peak of the largest one so far
        _, status, used = os.wait4(process.pid, 0)
    wall_s = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        end = "\n".join(log.read_text(errors="replace").splitlines()[-20:])
        raise FailedProcessError(f"{' '.join(command)} ended with {process.returncode}:\n{end}")
    return Usage(wall_s, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, began)
