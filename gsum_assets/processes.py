"""Processes of runs: order of `gsum run`s, and cleanup after killed processes."""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

import dagster as dg
import psutil

from gsum_assets.checks.finding import count
from gsum_resources import dagster_private as private
from gsum_resources.dagster_private import AssetGraph

HOST, PID, BORN, CORPUS = "gsum/host", "gsum/pid", "gsum/born", "gsum/corpus"
REFRESHING = "gsum/refreshing"
"""Tag of the first run of a `gsum run`: its corpus while it works, `ENDED` afterwards."""
ENDED = "|"  # no corpus is called so
ORPHANED = "gsum/orphaned"
"""Tag of a killed run of the command line, which the daemon does not count as an attempt."""
WORK = "gsum/work"
"""Tag of the runs that the daemon starts to materialize tables; `dagster.yaml` limits them."""
UNDER_WAY = [
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.CANCELING,
]
_START_S = 180.0  # after this a run without a process counts as lost; as in `dagster.yaml`
_HEARTBEAT_S = 120.0  # the daemon sends a heartbeat every 30 s
_CHECK_ORPHANS_EVERY_S = 10.0
_LEASE_S = 60.0  # after this without a heartbeat a process of another host counts as killed
_WAIT_S = 2.0


def tags_of_this_process(corpus: str) -> dict[str, str]:
    """Return tags from which another process can decide whether this one is still alive."""
    me = psutil.Process()
    return {
        HOST: socket.gethostname(),
        PID: str(os.getpid()),
        BORN: str(me.create_time()),
        CORPUS: corpus,
    }


def fail_orphaned_runs(instance: dg.DagsterInstance) -> None:
    """Fail the runs whose process has ended, as after `kill -9`, and free their pool slots."""
    for run in instance.get_runs(dg.RunsFilter(statuses=UNDER_WAY)):
        if HOST in run.tags:
            is_orphaned = not _process_lives(instance, run)
            if is_orphaned:
                instance.add_run_tags(run.run_id, {ORPHANED: "true"})
        else:
            is_orphaned = _lost_its_worker(instance, run)
        if is_orphaned:
            instance.report_run_failed(run, "the process of this run has ended")
    _free_slots_of_ended_runs(instance)


@contextmanager
def failing_orphaned_runs(instance: dg.DagsterInstance) -> Iterator[None]:
    """Fail orphaned runs now and every few seconds: a step may wait for a slot that they hold.

    Each time a heartbeat shows other hosts that this process is alive.
    """
    _renew_lease(instance)
    fail_orphaned_runs(instance)
    done = threading.Event()

    def fail_orphans() -> None:
        while not done.wait(_CHECK_ORPHANS_EVERY_S):
            _renew_lease(instance)
            fail_orphaned_runs(instance)

    thread = threading.Thread(target=fail_orphans, name="fail_orphaned_runs", daemon=True)
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
    """Wait until all `gsum run`s of the corpus that began earlier have ended; yield if it waited.

    Each `gsum run` records a run before it checks for others, and the instance numbers runs: of any
    two, the later one finds the earlier. Killed processes are not waited for.

    Parameters
    ----------
    run_id : the first run of this `gsum run`, tagged `REFRESHING`.
    on_wait : called with the ids of the earlier runs.
    """
    waited = False
    try:
        while others := _refreshing_before(instance, corpus, run_id):
            waited = True
            on_wait(others)
            time.sleep(_WAIT_S)
        yield waited
    finally:
        instance.add_run_tags(run_id, {REFRESHING: ENDED})


def _refreshing_before(instance: dg.DagsterInstance, corpus: str, run_id: str) -> list[str]:
    """Return the first runs of earlier `gsum run`s of a corpus that have not ended."""
    records = _refreshing(instance, corpus)
    (mine,) = (r.storage_id for r in records if r.dagster_run.run_id == run_id)
    before = (r.dagster_run for r in records if r.storage_id < mine)
    return [run.run_id for run in before if _process_lives(instance, run)]


def _refreshing(instance: dg.DagsterInstance, corpus: str) -> Sequence[dg.RunRecord]:
    """Return the first runs of the `gsum run`s of a corpus that did not end by themselves."""
    statuses = [*UNDER_WAY, dg.DagsterRunStatus.SUCCESS]
    return instance.get_run_records(dg.RunsFilter(tags={REFRESHING: corpus}, statuses=statuses))


def is_held_elsewhere(instance: dg.DagsterInstance, corpus: str) -> bool:
    """Return whether another process holds the turn for `gsum run` on a corpus."""
    records = sorted(_refreshing(instance, corpus), key=lambda record: record.storage_id)
    alive = (r.dagster_run for r in records if _process_lives(instance, r.dagster_run))
    first = next(alive, None)
    return first is not None and _is_foreign(first)


def end_runs_of_this_process(instance: dg.DagsterInstance) -> None:
    """Mark the unfinished runs of this process as canceled, and free their slots."""
    mine = {HOST: socket.gethostname(), PID: str(os.getpid())}
    unfinished = dg.RunsFilter(tags=mine, statuses=UNDER_WAY)
    for run in instance.get_runs(unfinished):
        instance.add_run_tags(run.run_id, {ORPHANED: "true"})
        instance.report_run_canceled(run, "`gsum run` was interrupted")
        if instance.event_log_storage.supports_global_concurrency_limits:
            instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
    for run in instance.get_runs(dg.RunsFilter(tags=mine)):
        if run.tags.get(REFRESHING, ENDED) != ENDED:
            instance.add_run_tags(run.run_id, {REFRESHING: ENDED})


def began_elsewhere(instance: dg.DagsterInstance, corpus: str, since: float) -> bool:
    """Return whether another process began a run on a corpus since then, Unix time."""
    young = dg.RunsFilter(created_after=datetime.fromtimestamp(since, UTC))
    return any(_is_on(run, corpus) and _is_foreign(run) for run in instance.get_runs(young))


def runs_on(instance: dg.DagsterInstance, corpus: str) -> list[dg.DagsterRun]:
    """Return the runs on a corpus that have not ended."""
    unfinished = dg.RunsFilter(statuses=[*UNDER_WAY, dg.DagsterRunStatus.QUEUED])
    return [run for run in instance.get_runs(unfinished) if _is_on(run, corpus)]


def _is_on(run: dg.DagsterRun, corpus: str) -> bool:
    return any(
        corpus in value.split("|")
        for key, value in run.tags.items()
        if key == CORPUS or "partition" in key
    )


def _is_foreign(run: dg.DagsterRun) -> bool:
    """Return whether another process began the run."""
    me = (socket.gethostname(), str(os.getpid()))
    return (run.tags.get(HOST), run.tags.get(PID)) != me


def others_at_work(instance: dg.DagsterInstance, graph: AssetGraph, corpus: str) -> list[str]:
    """Return the ids of unfinished runs and backfills of other processes on this corpus.

    If no daemon runs, queued runs and backfills are cancelled instead, since nothing starts them.
    """
    runs = [run for run in runs_on(instance, corpus) if _is_foreign(run)]
    backfills = _backfills_on(instance, graph, corpus)
    if not daemon_is_alive(instance):
        stranded = [run for run in runs if run.status == dg.DagsterRunStatus.QUEUED]
        for run in stranded:
            instance.report_run_canceled(
                run, "no daemon is running to start this; `gsum run` does it instead"
            )
        for backfill in backfills:
            instance.update_backfill(backfill.with_status(private.BulkActionStatus.CANCELED))
        runs, backfills = [run for run in runs if run not in stranded], []
    return [*(run.run_id for run in runs), *(backfill.backfill_id for backfill in backfills)]


def set_aside(instance: dg.DagsterInstance, graph: AssetGraph, corpus: str) -> None:
    """Cancel what the daemon's conditions requested of a corpus and did not start yet.

    The conditions are stateless, and later request what is still due.
    """
    for backfill in _backfills_on(instance, graph, corpus):
        if (backfill.tags or {}).get(WORK):
            instance.update_backfill(backfill.with_status(private.BulkActionStatus.CANCELED))
    queued = dg.RunsFilter(tags={WORK: "make"}, statuses=[dg.DagsterRunStatus.QUEUED])
    for run in instance.get_runs(queued):
        if _is_on(run, corpus):
            instance.report_run_canceled(run, "a `gsum run` of the corpus goes first")


def described(instance: dg.DagsterInstance, work: str) -> str:
    """Return a description of a run or backfill: `run 1f3a5c7e of the daemon: …`."""
    run = instance.get_run_by_id(work)
    if run is None:
        return f"backfill {work} of the daemon"
    name = f"run {work[:8]} of {_starter(run)}"
    if REFRESHING in run.tags:
        return name
    log, kinds = instance.event_log_storage, dg.DagsterEventType
    wanted = {kinds.ASSET_MATERIALIZATION_PLANNED, kinds.ASSET_MATERIALIZATION}
    records = log.get_records_for_run(work, of_type=wanted, limit=1000).records
    events = [record.event_log_entry.get_dagster_event() for record in records]
    done = sum(event.event_type == kinds.ASSET_MATERIALIZATION for event in events)
    planned = sum(map(_n_planned, events))
    assets = list(dict.fromkeys(e.asset_key.to_user_string() for e in events if e.asset_key))
    if not assets:
        return name
    first, more = ", ".join(assets[:2]), f" and {len(assets) - 2} more" if assets[2:] else ""
    buckets = "dagster/asset_partition_range_start" in run.tags
    unit = "buckets" if buckets and len(assets) == 1 else "partitions"
    waits = ", not started yet" if run.status == dg.DagsterRunStatus.QUEUED else ""
    return f"{name}: {first}{more}, {done} of {planned} {unit}{waits}"


def _n_planned(event: dg.DagsterEvent) -> int:
    """Return the number of partitions whose materialization an event announces."""
    if event.event_type != dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED:
        return 0
    subset = event.asset_materialization_planned_data.partitions_subset
    return 1 if subset is None else len(subset)


def _starter(run: dg.DagsterRun) -> str:
    if HOST in run.tags:
        return "another gsum run"
    return "the daemon" if "dagster/sensor_name" in run.tags or WORK in run.tags else "the UI"


def waited_for(instance: dg.DagsterInstance, work: Sequence[str]) -> str:
    """Describe what must end first: the first run, and the number of others."""
    more = f" and {count(len(work) - 1, 'run')} more" if len(work) > 1 else ""
    return described(instance, work[0]) + more


def _backfills_on(
    instance: dg.DagsterInstance, graph: AssetGraph, corpus: str
) -> list["private.PartitionBackfill"]:
    """Return the backfills that have not ended and concern a corpus."""
    requested = private.BulkActionsFilter(statuses=[private.BulkActionStatus.REQUESTED])
    return [b for b in instance.get_backfills(requested) if _concerns(b, graph, corpus)]


def _concerns(backfill: "private.PartitionBackfill", graph: AssetGraph, corpus: str) -> bool:
    if not backfill.is_asset_backfill:
        return False
    targets = backfill.get_asset_backfill_data(graph).target_subset.iterate_asset_partitions()
    return any(corpus in (partition.partition_key or "").split("|") for partition in targets)


def daemon_is_alive(instance: dg.DagsterInstance) -> bool:
    """Return whether a daemon runs, by the time of its last heartbeat."""
    heartbeat = instance.get_daemon_heartbeats().get("QUEUED_RUN_COORDINATOR")
    return heartbeat is not None and time.time() - heartbeat.timestamp < _HEARTBEAT_S


def _process_lives(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """Return whether the process in a run's tags is alive: seen here, or by its lease elsewhere."""
    if run.tags[HOST] != socket.gethostname():
        return _has_lease(instance, run)
    try:
        born = psutil.Process(int(run.tags[PID])).create_time()
        return str(born) == run.tags[BORN]
    except psutil.Error:
        return False


def _renew_lease(instance: dg.DagsterInstance) -> None:
    """Record a heartbeat of this process where every host of the instance can read it."""
    mine = {_lease_of(tags_of_this_process("")): str(time.time())}
    instance.daemon_cursor_storage.set_cursor_values(mine)


def _has_lease(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """Return whether a process of another host sent a heartbeat lately.

    Hosts must agree on the time within half a minute, as they must for Dagster's own heartbeats.
    """
    name = _lease_of(run.tags)
    renewed = instance.daemon_cursor_storage.get_cursor_values({name}).get(name)
    return renewed is not None and time.time() - float(renewed) < _LEASE_S


def _lease_of(tags: Mapping[str, str]) -> str:
    return f"gsum/lease/{tags[HOST]}/{tags[PID]}/{tags[BORN]}"


def _lost_its_worker(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """Return whether the process that the daemon started for a run has ended.

    False if the instance is not a local file: then the process may be on another machine.
    """
    if not isinstance(instance.run_storage, private.SqliteRunStorage):
        return False
    for record in instance.all_logs(run.run_id, of_type=dg.DagsterEventType.ENGINE_EVENT):
        data = record.get_dagster_event().engine_event_data
        if pid := data.metadata.get("pid"):
            try:
                born = psutil.Process(int(str(pid.value))).create_time()
            except psutil.Error:
                return True
            return born > record.timestamp  # another process got the number
    (record,) = instance.get_run_records(dg.RunsFilter(run_ids=[run.run_id]))
    return time.time() - record.create_timestamp.timestamp() > _START_S


def _free_slots_of_ended_runs(instance: dg.DagsterInstance) -> None:
    """Free the pool slots of ended runs; killed ones did not free them."""
    storage = instance.event_log_storage
    if not storage.supports_global_concurrency_limits:
        return
    for run_id in storage.get_concurrency_run_ids():
        run = instance.get_run_by_id(run_id)
        if run is None or run.is_finished:
            storage.free_concurrency_slots_for_run(run_id)
