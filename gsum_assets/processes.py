"""Which runs belong to which process, so that those of a killed one can be told from live ones."""

import os
import socket

import dagster as dg
import psutil

HOST, PID, BORN, CORPUS = "gsum/host", "gsum/pid", "gsum/born", "gsum/corpus"
UNDER_WAY = [
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.CANCELING,
]


def bury_dead_runs(instance: dg.DagsterInstance) -> None:
    """Mark as failed the runs of this host whose process is gone, as after `kill -9`."""
    filters = dg.RunsFilter(statuses=UNDER_WAY, tags={HOST: socket.gethostname()})
    for run in instance.get_runs(filters):
        if not _is_alive(int(run.tags[PID]), run.tags[BORN]):
            instance.report_run_failed(run, "the process that ran this is gone")


def _is_alive(pid: int, born: str) -> bool:
    try:
        return str(psutil.Process(pid).create_time()) == born
    except psutil.Error:
        return False


def tags_of_this_process(corpus: str) -> dict[str, str]:
    """Tags that let a later process tell whether the run of this one is still alive."""
    me = psutil.Process()
    return {
        HOST: socket.gethostname(),
        PID: str(os.getpid()),
        BORN: str(me.create_time()),
        CORPUS: corpus,
    }
