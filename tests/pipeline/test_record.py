"""Dagster's record where it differs from what is there: dead and old runs, and tables."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.events import EngineEventData

from gsum_assets.dagster_assets import record
from gsum_assets.dagster_assets.partitions import COMMAND, PARTITION
from gsum_assets.dagster_assets.record import (
    dead_runs,
    drop_old_runs,
    fail_dead_runs,
    report_warehouse,
)
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.refresh.step import data_version
from gsum_resources.state.locks import locked
from gsum_resources.store.parquet_store import ParquetStore
from tests.conftest import CORPUS, House

STARTED = dg.DagsterRunStatus.STARTED
DOCUMENTS = dg.AssetKey("documents")
POOL = "llm"


@dg.job
def anything() -> None: ...


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    (tmp_path / "instance").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "instance")) as opened:
        yield opened


@pytest.fixture
def store(tmp_path: Path) -> ParquetStore:
    return ParquetStore(str(tmp_path / "warehouse"))


def started(instance: dg.DagsterInstance, **tags: str) -> dg.DagsterRun:
    return instance.create_run_for_job(anything, status=STARTED, tags=tags)


def of_command(instance: dg.DagsterInstance, holder: str) -> dg.DagsterRun:
    """Return a run of `gsum run`, which holds the lock of its corpus while it lives."""
    return started(instance, **{COMMAND: holder, PARTITION: CORPUS})


def of_worker(instance: dg.DagsterInstance, pid: int) -> dg.DagsterRun:
    """Return a run of a process that the daemon started."""
    run = started(instance)
    metadata = {"pid": dg.MetadataValue.text(str(pid))}
    instance.report_engine_event("Started process.", run, EngineEventData(metadata))
    return run


def test_runs_whose_process_has_ended_are_dead(
    instance: dg.DagsterInstance, store: ParquetStore
) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    alive = [of_command(instance, "this:1:a"), of_worker(instance, os.getpid()), started(instance)]
    dead = [of_command(instance, "that:2:b"), of_worker(instance, ended.pid)]
    with locked(store, CORPUS, "this:1:a"):
        assert {r.run_id for r in dead_runs(instance, store)} == {r.run_id for r in dead}
        assert fail_dead_runs(instance, store) == "failed 2 runs whose process has ended"
        assert fail_dead_runs(instance, store) == ""
    left = instance.get_runs(dg.RunsFilter(statuses=[STARTED]))
    assert {run.run_id for run in left} == {run.run_id for run in alive}


def test_process_that_got_the_number_of_another_is_not_it(
    instance: dg.DagsterInstance, store: ParquetStore
) -> None:
    run = of_worker(instance, os.getpid())
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    later = of_worker(instance, process.pid)
    assert dead_runs(instance, store) == []
    process.communicate(b"\n")
    assert [dead.run_id for dead in dead_runs(instance, store)] == [later.run_id] != [run.run_id]


def test_run_that_waited_long_in_the_queue_has_time_to_start(
    instance: dg.DagsterInstance, store: ParquetStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, now = started(instance), time.time()
    monkeypatch.setattr(record.time, "time", lambda: now + 170)
    assert dead_runs(instance, store) == []
    monkeypatch.setattr(record.time, "time", lambda: now + 200)
    assert [dead.run_id for dead in dead_runs(instance, store)] == [run.run_id]


def test_slot_of_a_dead_run_is_free_again(house: House) -> None:
    with house.instance() as instance:
        run = of_command(instance, "that:2:b")
        slots = instance.event_log_storage
        slots.set_concurrency_slots(POOL, 1)
        assert slots.claim_concurrency_slot(POOL, run.run_id, "step").is_claimed
        fail_dead_runs(instance, house.store)
        assert slots.get_concurrency_info(POOL).active_slot_count == 0


def test_ended_runs_are_removed_after_some_time_with_their_logs(
    instance: dg.DagsterInstance,
) -> None:
    before = time.time()
    ended = [anything.execute_in_process(instance=instance).run_id for _ in range(3)]
    unfinished = started(instance).run_id
    assert drop_old_runs(instance, before) == ""
    assert drop_old_runs(instance, time.time() + 1) == "removed 3 runs from Dagster's record"
    assert [run.run_id for run in instance.get_runs()] == [unfinished]
    assert not [path for path in Path(instance.root_directory).rglob("*") if path.stem in ended]


def test_tables_of_another_instance_are_reported_with_their_versions(
    current: House, instance: dg.DagsterInstance
) -> None:
    instance.add_dynamic_partitions("corpora", [CORPUS])
    assert report_warehouse(instance, current.store).endswith("of the warehouse to Dagster")
    assert report_warehouse(instance, current.store) == ""
    assert instance.get_materialized_partitions(DOCUMENTS) == {CORPUS}
    # one table of scores is shared by all families
    assert instance.get_materialized_partitions(dg.AssetKey(["gor", "scores"])) == set()
    table = TABLES["documents"]
    footers = current.store.footers(table, current.store.stamped(table, CORPUS))
    assert version_of(instance) == data_version(footers)


def version_of(instance: dg.DagsterInstance) -> str:
    """Return the data version of the table of documents."""
    event = instance.get_latest_materialization_event(DOCUMENTS)
    assert event
    assert event.asset_materialization
    return (event.asset_materialization.tags or {})[record.VERSION]
