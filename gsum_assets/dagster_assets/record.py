"""Dagster's record of runs and materializations, where it does not agree with what is there."""

import os
import socket
import time
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import psutil

from gsum_assets.dagster_assets.partitions import CORPORA, PARTITION, command_of
from gsum_assets.pipeline.result import count
from gsum_assets.refresh.step import data_version
from gsum_assets.registry.declared import STEPS
from gsum_resources.state.locks import locked_by
from gsum_resources.store.parquet_store import ParquetStore, Partition

VERSION = "dagster/data_version"
_UNDER_WAY = [
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.CANCELING,
]
_ENDED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]
_START_S = 180.0  # after this a run without a process counts as lost; as in `dagster.yaml`
_AT_ONCE = 100  # runs that one upkeep removes of each page


def dead_runs(instance: dg.DagsterInstance, store: ParquetStore) -> list[dg.DagsterRun]:
    """Return the unfinished runs whose process has ended, as after `kill -9`.

    Runs of `gsum run` hold the lock of their corpus. Of the others only those are judged whose
    process the default launcher started on this machine; Dagster's monitoring judges the rest.
    """
    is_local = isinstance(instance.run_launcher, dg.DefaultRunLauncher)
    dead = []
    for run in instance.get_runs(dg.RunsFilter(statuses=_UNDER_WAY)):
        if holder := command_of(run):
            if locked_by(store, run.tags.get(PARTITION, "")) != holder:
                dead.append(run)
        elif is_local and _lost_its_worker(instance, run):
            dead.append(run)
    return dead


def this_process() -> str:
    """Return what the tag `COMMAND` of a run in this process begins with."""
    return f"{socket.gethostname()}:{os.getpid()}:"


def fail_dead_runs(instance: dg.DagsterInstance, store: ParquetStore) -> str:
    """Fail the runs whose process has ended, and free all their pool slots; say how many."""
    dead = dead_runs(instance, store)
    for run in dead:
        instance.report_run_failed(run, "the process of this run has ended")
    _free_slots(instance)
    return f"failed {count(len(dead), 'run')} whose process has ended" if dead else ""


def _free_slots(instance: dg.DagsterInstance) -> None:
    """Free the pool slots of ended runs: Dagster does so only where a daemon runs."""
    storage = instance.event_log_storage
    if not storage.supports_global_concurrency_limits:
        return
    pools = [storage.get_concurrency_info(pool) for pool in storage.get_concurrency_keys()]
    steps = [step for pool in pools for step in (*pool.claimed_slots, *pool.pending_steps)]
    for run_id in {step.run_id for step in steps}:
        run = instance.get_run_by_id(run_id)
        if run is None or run.is_finished:
            storage.free_concurrency_slots_for_run(run_id)


def _lost_its_worker(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """Return whether the process that the daemon started for a run has ended."""
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


def drop_old_runs(instance: dg.DagsterInstance, before: float) -> str:
    """Remove ended runs, with events and logs, that were created before a Unix time."""
    old = dg.RunsFilter(statuses=_ENDED, created_before=datetime.fromtimestamp(before, UTC))
    path_of = getattr(instance.event_log_storage, "path_for_shard", None)  # SQLite: a file a run
    n = 0
    while runs := instance.get_runs(old, limit=_AT_ONCE):
        for run in runs:
            instance.compute_log_manager.delete_logs(prefix=[run.run_id])
            instance.delete_run(run.run_id)
            if path_of:
                Path(path_of(run.run_id)).unlink(missing_ok=True)
        n += len(runs)
    return f"removed {count(n, 'run')} from Dagster's record" if n else ""


def report_warehouse(instance: dg.DagsterInstance, store: ParquetStore) -> str:
    """Report tables of the warehouse that Dagster's record does not have; say how many."""
    known = set(instance.get_dynamic_partitions(CORPORA))
    n = 0
    for declared in STEPS:
        for name in declared.step.writes:
            table, key = declared.table(name), dg.AssetKey(declared.path(name))
            unknown = known - instance.get_materialized_partitions(key)
            by_corpus: dict[str, dict[Partition, object]] = {}
            for file, stamp in store.stamped(table).items():
                if file.corpus in unknown and file.method in (None, *declared.methods):
                    by_corpus.setdefault(file.corpus, {})[file] = stamp
            for corpus, files in by_corpus.items():
                footers = store.footers(table, files)
                shown = {
                    "dagster/partition_row_count": sum(f.rows for f in footers.values()),
                    "written_at": max(footer.time for footer in footers.values()),
                }
                event = dg.AssetMaterialization(
                    key,
                    partition=corpus,
                    description="Reported from the files in the warehouse.",
                    metadata=shown,
                    tags={VERSION: data_version(footers)},
                )
                instance.report_runless_asset_event(event)
                n += 1
    return f"reported {count(n, 'table')} of the warehouse to Dagster" if n else ""
