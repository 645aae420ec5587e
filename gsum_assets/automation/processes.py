"""Processes of runs: order of `gsum run`s, and cleanup after killed processes."""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

import dagster as dg
import psutil

from gsum_assets.pipeline.finding import count
from gsum_resources.dagster_io import dagster_private as private
from gsum_resources.dagster_io.dagster_private import AssetGraph
from gsum_resources.state.leases import HeldLease, Leases, held

CORPUS = "gsum/corpus"
FENCE = "gsum/fence"
"""Tag of a run in the process of a `gsum run`: the fence of its lease."""
SUBMITTED = "gsum/submitted"
"""Tag of a run that a `gsum run` submitted to the daemon: the fence of its lease."""
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
_WAIT_S = 2.0


def orphaned_runs(instance: dg.DagsterInstance, fences: Collection[str]) -> list[dg.DagsterRun]:
    """Return the unfinished runs whose process has ended, as after `kill -9`.

    Parameters
    ----------
    fences : fences of the leases whose processes live.
    """
    return [
        run
        for run in instance.get_runs(dg.RunsFilter(statuses=UNDER_WAY))
        if (run.tags[FENCE] not in fences if FENCE in run.tags else _lost_its_worker(instance, run))
    ]


def fail_orphaned_runs(instance: dg.DagsterInstance, leases: Leases) -> None:
    """Fail the runs whose process has ended, and free their pool slots."""
    fences = {str(lease.fence) for lease in leases.living()}
    for run in orphaned_runs(instance, fences):
        if FENCE in run.tags:
            instance.add_run_tags(run.run_id, {ORPHANED: "true"})
        instance.report_run_failed(run, "the process of this run has ended")
    for run_id in ended_runs_with_slots(instance):
        instance.event_log_storage.free_concurrency_slots_for_run(run_id)


@contextmanager
def lease_on(
    instance: dg.DagsterInstance,
    leases: Leases,
    corpus: str,
    on_lost: Callable[[str], None] = lambda _: None,
) -> Iterator[HeldLease]:
    """Hold a lease on a corpus, and fail orphaned runs now and whenever it is renewed.

    A step may wait for a slot that an orphaned run holds.
    """
    with held(leases, corpus, lambda: fail_orphaned_runs(instance, leases), on_lost) as lease:
        yield lease


def await_turn(lease: HeldLease, on_wait: Callable[[str], None]) -> bool:
    """Wait until all `gsum run`s of the corpus that began earlier have ended; return if it waited.

    Killed processes are not waited for.

    Parameters
    ----------
    on_wait : called with a description of the first of them.
    """
    waited = False
    while others := lease.before():
        waited = True
        on_wait(f"another gsum run of it, on {others[0].holder.host}")
        time.sleep(_WAIT_S)
    return waited


def end_runs_of(instance: dg.DagsterInstance, fence: str) -> None:
    """Mark the unfinished runs in the process that holds a lease as canceled; free their slots."""
    unfinished = dg.RunsFilter(tags={FENCE: fence}, statuses=UNDER_WAY)
    for run in instance.get_runs(unfinished):
        instance.add_run_tags(run.run_id, {ORPHANED: "true"})
        instance.report_run_canceled(run, "`gsum run` was interrupted")
        if instance.event_log_storage.supports_global_concurrency_limits:
            instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)


def end_runs_of_this_process(instance: dg.DagsterInstance, leases: Leases) -> None:
    """Mark the unfinished runs of this process as canceled, and release its leases.

    Twice, since other threads go on meanwhile: without its lease a refresh begins no further run.
    """
    held_leases = leases.own()
    for lease in held_leases:
        end_runs_of(instance, str(lease.fence))
        leases.release(lease)
    for lease in held_leases:
        end_runs_of(instance, str(lease.fence))


def began_elsewhere(instance: dg.DagsterInstance, lease: HeldLease, since: float) -> bool:
    """Return whether another process began a run on the corpus since then, Unix time."""
    # not created since: it may have been in the queue before
    changed = dg.RunsFilter(updated_after=datetime.fromtimestamp(since, UTC))
    runs = (run for run in instance.get_runs(changed) if _is_on(run, lease.corpus))
    return any(_is_foreign(run, lease) for run in runs)


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


def _is_foreign(run: dg.DagsterRun, lease: HeldLease) -> bool:
    """Return whether another process began the run."""
    return lease.fence not in (run.tags.get(FENCE), run.tags.get(SUBMITTED))


def others_at_work(instance: dg.DagsterInstance, graph: AssetGraph, lease: HeldLease) -> list[str]:
    """Return the ids of unfinished runs and backfills of other processes on the corpus.

    If no daemon runs, queued runs and backfills are cancelled instead, since nothing starts them.
    """
    runs = [run for run in runs_on(instance, lease.corpus) if _is_foreign(run, lease)]
    backfills = _backfills_on(instance, graph, lease.corpus)
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


def set_aside(instance: dg.DagsterInstance, graph: AssetGraph, lease: HeldLease) -> None:
    """Cancel what the daemon's conditions requested of the corpus and did not start yet.

    The conditions are stateless, and later request what is still due.
    """
    for backfill in _backfills_on(instance, graph, lease.corpus):
        if (backfill.tags or {}).get(WORK):
            instance.update_backfill(backfill.with_status(private.BulkActionStatus.CANCELED))
    queued = dg.RunsFilter(tags={WORK: "make"}, statuses=[dg.DagsterRunStatus.QUEUED])
    for run in instance.get_runs(queued):
        if _is_on(run, lease.corpus) and _is_foreign(run, lease):
            instance.report_run_canceled(run, "a `gsum run` of the corpus goes first")


def described(instance: dg.DagsterInstance, work: str) -> str:
    """Return a description of a run or backfill: `run 1f3a5c7e of the daemon: …`."""
    run = instance.get_run_by_id(work)
    if run is None:
        return f"backfill {work} of the daemon"
    if FENCE in run.tags or SUBMITTED in run.tags:
        starter = "another gsum run"
    else:
        starter = "the daemon" if {"dagster/sensor_name", WORK} & run.tags.keys() else "the UI"
    name = f"run {work[:8]} of {starter}"
    log, kinds = instance.event_log_storage, dg.DagsterEventType
    wanted = {kinds.ASSET_MATERIALIZATION_PLANNED, kinds.ASSET_MATERIALIZATION}
    records = log.get_records_for_run(work, of_type=wanted, limit=1000).records
    events = [record.event_log_entry.get_dagster_event() for record in records]
    done = sum(event.event_type == kinds.ASSET_MATERIALIZATION for event in events)
    planned = 0
    for event in events:
        if event.event_type == kinds.ASSET_MATERIALIZATION_PLANNED:
            subset = event.asset_materialization_planned_data.partitions_subset
            planned += 1 if subset is None else len(subset)
    assets = list(dict.fromkeys(e.asset_key.to_user_string() for e in events if e.asset_key))
    if not assets:
        return name
    first, more = ", ".join(assets[:2]), f" and {len(assets) - 2} more" if assets[2:] else ""
    buckets = "dagster/asset_partition_range_start" in run.tags
    unit = "buckets" if buckets and len(assets) == 1 else "partitions"
    waits = ", not started yet" if run.status == dg.DagsterRunStatus.QUEUED else ""
    return f"{name}: {first}{more}, {done} of {planned} {unit}{waits}"


def waited_for(instance: dg.DagsterInstance, work: Sequence[str]) -> str:
    """Describe what must end first: the first run, and the number of others."""
    more = f" and {count(len(work) - 1, 'run')} more" if len(work) > 1 else ""
    return described(instance, work[0]) + more


def _backfills_on(
    instance: dg.DagsterInstance, graph: AssetGraph, corpus: str
) -> list["private.PartitionBackfill"]:
    """Return the backfills that have not ended and concern a corpus."""
    requested = private.BulkActionsFilter(statuses=[private.BulkActionStatus.REQUESTED])
    concerned = []
    for backfill in instance.get_backfills(requested):
        if backfill.is_asset_backfill:
            targets = backfill.get_asset_backfill_data(graph).target_subset
            keys = [p.partition_key or "" for p in targets.iterate_asset_partitions()]
            if any(corpus in key.split("|") for key in keys):
                concerned.append(backfill)
    return concerned


def daemon_is_alive(instance: dg.DagsterInstance) -> bool:
    """Return whether a daemon runs, by the time of its last heartbeat."""
    heartbeat = instance.get_daemon_heartbeats().get("QUEUED_RUN_COORDINATOR")
    return heartbeat is not None and time.time() - heartbeat.timestamp < _HEARTBEAT_S


def _lost_its_worker(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """Return whether the process that the daemon started for a run has ended.

    False if the instance is not a local file, or a launcher other than Dagster's own starts the
    processes: then it may be on another machine, and the daemon's run monitoring decides.
    """
    is_local = isinstance(instance.run_storage, private.SqliteRunStorage)
    if not is_local or other_launcher(instance):
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
    # not since its creation: it may have waited in the queue for long
    return time.time() - record.update_timestamp.timestamp() > _START_S


def other_launcher(instance: dg.DagsterInstance) -> str | None:
    """Return the name of the run launcher in `dagster.yaml` if it is not Dagster's default."""
    launcher = instance.run_launcher
    is_own = instance.is_ephemeral or isinstance(launcher, dg.DefaultRunLauncher)
    return None if is_own else type(launcher).__name__


def ended_runs_with_slots(instance: dg.DagsterInstance) -> list[str]:
    """Return the ids of ended runs that hold pool slots; killed ones did not free them."""
    storage = instance.event_log_storage
    if not storage.supports_global_concurrency_limits:
        return []
    runs = {run_id: instance.get_run_by_id(run_id) for run_id in storage.get_concurrency_run_ids()}
    return [run_id for run_id, run in runs.items() if run is None or run.is_finished]
