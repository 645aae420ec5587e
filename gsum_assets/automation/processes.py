"""Processes of runs: order of `gsum run`s, and cleanup after killed processes."""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager

import dagster as dg
import psutil

from gsum_assets.automation.daemon import backfills_on, daemon_is_alive, other_launcher
from gsum_assets.pipeline.finding import count
from gsum_resources.dagster_io import dagster_private as private
from gsum_resources.dagster_io.dagster_private import AssetGraph
from gsum_resources.state.leases import HeldLease, Leases, held

CORPUS = "gsum/corpus"
FENCE = "gsum/fence"
"""Tag of a run in the process of a `gsum run`: the fence of its lease."""
SENSOR = "dagster/sensor_name"
"""Dagster's tag of a run that a sensor requested."""
ORPHANED = "gsum/orphaned"
"""Tag of a run that does not count as an attempt: one of a `gsum run` that was killed, or one in
the queue of a daemon that has ended, which a `gsum run` does instead."""
WORK = "gsum/work"
"""Tag of the runs that the daemon starts to materialize tables; `dagster.yaml` limits them."""
UNDER_WAY = [
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.CANCELING,
]
_START_S = 180.0  # after this a run without a process counts as lost; as in `dagster.yaml`
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


def await_turn(lease: HeldLease, on_wait: Callable[[str], None]) -> None:
    """Wait until all `gsum run`s of the corpus that compute and began earlier have ended.

    Killed processes are not waited for.

    Parameters
    ----------
    on_wait : called with a description of the first of them.
    """
    while others := lease.leases.before(lease.lease):
        on_wait(f"another gsum run of it, on {others[0].holder.host}")
        time.sleep(_WAIT_S)


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


def runs_on(
    instance: dg.DagsterInstance, corpus: str, chosen: dg.RunsFilter | None = None
) -> list[dg.DagsterRun]:
    """Return the runs on a corpus that have not ended, or those that are chosen."""
    chosen = chosen or dg.RunsFilter(statuses=[*UNDER_WAY, dg.DagsterRunStatus.QUEUED])
    return [run for run in instance.get_runs(chosen) if _is_on(run, corpus)]


def _is_on(run: dg.DagsterRun, corpus: str) -> bool:
    return any(
        corpus in value.split("|")
        for key, value in run.tags.items()
        if key == CORPUS or "partition" in key
    )


def others_at_work(
    instance: dg.DagsterInstance, graph: AssetGraph, lease: HeldLease
) -> list[dg.DagsterRun]:
    """Return the unfinished runs on the corpus that are not of this lease.

    Workers of a daemon that was killed, and what a person started in the UI. If no daemon runs,
    queued runs and backfills are cancelled instead, since nothing starts them.
    """
    others = [r for r in runs_on(instance, lease.corpus) if r.tags.get(FENCE) != lease.fence]
    if daemon_is_alive(instance):
        return others
    for backfill in backfills_on(instance, graph, lease.corpus):
        instance.update_backfill(backfill.with_status(private.BulkActionStatus.CANCELED))
    queued = [run for run in others if run.status == dg.DagsterRunStatus.QUEUED]
    for run in queued:
        instance.add_run_tags(run.run_id, {ORPHANED: "true"})  # no person cancelled it
        instance.report_run_canceled(
            run, "no daemon is running to start this; `gsum run` does it instead"
        )
    return [run for run in others if run not in queued]


def described(runs: Sequence[dg.DagsterRun]) -> str:
    """Return a description of runs, `run 1f3a5c7e: documents, chunks and 2 more`."""
    assets = sorted(key.to_user_string() for key in runs[0].asset_selection or ())
    more = f" and {len(assets) - 2} more" if assets[2:] else ""
    written = f": {', '.join(assets[:2])}{more}" if assets else ""
    others = f", and {count(len(runs) - 1, 'run')} more" if len(runs) > 1 else ""
    return f"run {runs[0].run_id[:8]}{written}{others}"


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


def ended_runs_with_slots(instance: dg.DagsterInstance) -> list[str]:
    """Return the ids of ended runs that hold pool slots; killed ones did not free them."""
    storage = instance.event_log_storage
    if not storage.supports_global_concurrency_limits:
        return []
    runs = {run_id: instance.get_run_by_id(run_id) for run_id in storage.get_concurrency_run_ids()}
    return [run_id for run_id, run in runs.items() if run is None or run.is_finished]
