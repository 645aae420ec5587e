"""Which runs are alive, so that those of a killed process end and give back what they hold."""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

import dagster as dg
import psutil
from dagster._core.definitions.assets.graph.asset_graph import AssetGraph
from dagster._core.execution.backfill import BulkActionsFilter, BulkActionStatus, PartitionBackfill
from dagster._core.storage.runs.sqlite import SqliteRunStorage

HOST, PID, BORN, CORPUS = "gsum/host", "gsum/pid", "gsum/born", "gsum/corpus"
DRIVING = "gsum/driving"
"""Tag of the run by which a `gsum run` begins: its corpus while it works, `ENDED` afterwards."""
ENDED = "|"  # no corpus is called so
BURIED = "gsum/buried"
"""Tag of a run of the command line that was killed: no attempt that the daemon would count."""
UNDER_WAY = [
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.CANCELING,
]
_START_S = 180.0  # a run that no process took up by then never will be; as in `dagster.yaml`
_HEARTBEAT_S = 120.0  # the daemon tells every 30 s that it lives
_BURY_EVERY_S = 10.0
_WAIT_S = 2.0


def tags_of_this_process(corpus: str) -> dict[str, str]:
    """Tags that let a later process tell whether the run of this one is still alive."""
    me = psutil.Process()
    return {
        HOST: socket.gethostname(),
        PID: str(os.getpid()),
        BORN: str(me.create_time()),
        CORPUS: corpus,
    }


def bury_dead_runs(instance: dg.DagsterInstance) -> None:
    """End the runs whose process is gone, as after `kill -9`, and free what ended runs hold."""
    for run in instance.get_runs(dg.RunsFilter(statuses=UNDER_WAY)):
        if HOST in run.tags:
            dead = run.tags[HOST] == socket.gethostname() and not _process_lives(run)
            if dead:
                instance.add_run_tags(run.run_id, {BURIED: "true"})
        else:
            dead = _lost_its_worker(instance, run)
        if dead:
            instance.report_run_failed(run, "the process that ran this is gone")
    _free_slots_of_ended_runs(instance)


@contextmanager
def burying_dead_runs(instance: dg.DagsterInstance) -> Iterator[None]:
    """Bury now and every few seconds: a step may be waiting for what a killed process holds."""
    bury_dead_runs(instance)
    done = threading.Event()

    def bury() -> None:
        while not done.wait(_BURY_EVERY_S):
            bury_dead_runs(instance)

    thread = threading.Thread(target=bury, name="bury_dead_runs", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@contextmanager
def in_turn(
    instance: dg.DagsterInstance,
    corpus: str,
    run_id: str,
    on_wait: Callable[[Sequence[str]], None],
) -> Iterator[bool]:
    """Drive a corpus once all who began before have ended; gives whether there were any.

    Everyone tells of itself by a run before it looks for others, and the instance numbers runs:
    of any two, the later one sees the earlier. Who was killed is not waited for.

    Parameters
    ----------
    run_id : the run that tells of this drive, tagged `DRIVING`.
    on_wait : called with the runs, by id, of those who go before.
    """
    waited = False
    try:
        while others := _driving_before(instance, corpus, run_id):
            waited = True
            on_wait(others)
            time.sleep(_WAIT_S)
        yield waited
    finally:
        instance.add_run_tags(run_id, {DRIVING: ENDED})


def _driving_before(instance: dg.DagsterInstance, corpus: str, run_id: str) -> list[str]:
    """The runs that tell of drives of a corpus which began before one and go on.

    Whether a process of another machine lives cannot be told here: drives on two machines do not
    wait for one another, and do some of the work twice.
    """
    told = dg.RunsFilter(tags={DRIVING: corpus}, statuses=[*UNDER_WAY, dg.DagsterRunStatus.SUCCESS])
    records = instance.get_run_records(told)
    (mine,) = (r.storage_id for r in records if r.dagster_run.run_id == run_id)
    before = (r.dagster_run for r in records if r.storage_id < mine)
    return [run.run_id for run in before if _process_lives(run)]


def began_elsewhere(instance: dg.DagsterInstance, corpus: str, since: float) -> bool:
    """Whether another process began a run on a corpus since then, Unix time."""
    young = dg.RunsFilter(created_after=datetime.fromtimestamp(since, UTC))
    return any(_is_on(run, corpus) and _is_foreign(run) for run in instance.get_runs(young))


def runs_on(instance: dg.DagsterInstance, corpus: str) -> list[dg.DagsterRun]:
    """The runs on a corpus that have not ended."""
    unfinished = dg.RunsFilter(statuses=[*UNDER_WAY, dg.DagsterRunStatus.QUEUED])
    return [run for run in instance.get_runs(unfinished) if _is_on(run, corpus)]


def _is_on(run: dg.DagsterRun, corpus: str) -> bool:
    return any(
        corpus in value.split("|")
        for key, value in run.tags.items()
        if key == CORPUS or "partition" in key
    )


def _is_foreign(run: dg.DagsterRun) -> bool:
    """Whether another process than this one began a run."""
    me = (socket.gethostname(), str(os.getpid()))
    return (run.tags.get(HOST), run.tags.get(PID)) != me


def others_at_work(instance: dg.DagsterInstance, graph: AssetGraph, corpus: str) -> list[str]:
    """Runs and backfills of other processes on this corpus, by id: more may become due.

    What a daemon queued and no daemon will ever start is cancelled instead.
    """
    runs = [run for run in runs_on(instance, corpus) if _is_foreign(run)]
    backfills = [
        backfill
        for backfill in instance.get_backfills(
            BulkActionsFilter(statuses=[BulkActionStatus.REQUESTED])
        )
        if _concerns(backfill, graph, corpus)
    ]
    if not _daemon_is_alive(instance):
        stranded = [run for run in runs if run.status == dg.DagsterRunStatus.QUEUED]
        for run in stranded:
            instance.report_run_canceled(run, "no daemon is there to start this; `gsum run` did")
        for backfill in backfills:
            instance.update_backfill(backfill.with_status(BulkActionStatus.CANCELED))
        runs, backfills = [run for run in runs if run not in stranded], []
    return [*(run.run_id for run in runs), *(backfill.backfill_id for backfill in backfills)]


def _concerns(backfill: PartitionBackfill, graph: AssetGraph, corpus: str) -> bool:
    if not backfill.is_asset_backfill:
        return False
    targets = backfill.get_asset_backfill_data(graph).target_subset.iterate_asset_partitions()
    return any(corpus in (partition.partition_key or "").split("|") for partition in targets)


def _daemon_is_alive(instance: dg.DagsterInstance) -> bool:
    heartbeat = instance.get_daemon_heartbeats().get("QUEUED_RUN_COORDINATOR")
    return heartbeat is not None and time.time() - heartbeat.timestamp < _HEARTBEAT_S


def _process_lives(run: dg.DagsterRun) -> bool:
    """Whether the process that a run names in its tags is one of this machine and lives."""
    try:
        born = psutil.Process(int(run.tags[PID])).create_time()
        return run.tags[HOST] == socket.gethostname() and str(born) == run.tags[BORN]
    except psutil.Error:
        return False


def _lost_its_worker(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """Whether the process that the daemon started for a run is gone.

    Told only where the instance is a file of this machine: elsewhere the process may be, too.
    """
    if not isinstance(instance.run_storage, SqliteRunStorage):
        return False
    for record in instance.all_logs(run.run_id, of_type=dg.DagsterEventType.ENGINE_EVENT):
        data = record.get_dagster_event().engine_event_data
        if pid := data.metadata.get("pid"):
            try:
                born = psutil.Process(int(str(pid.value))).create_time()
            except psutil.Error:
                return True
            return born > record.timestamp  # another process got the number
    (told,) = instance.get_run_records(dg.RunsFilter(run_ids=[run.run_id]))
    return time.time() - told.create_timestamp.timestamp() > _START_S


def _free_slots_of_ended_runs(instance: dg.DagsterInstance) -> None:
    """A run that was killed cannot give back its places in the pools."""
    storage = instance.event_log_storage
    if not storage.supports_global_concurrency_limits:
        return
    for run_id in storage.get_concurrency_run_ids():
        run = instance.get_run_by_id(run_id)
        if run is None or run.is_finished:
            storage.free_concurrency_slots_for_run(run_id)
