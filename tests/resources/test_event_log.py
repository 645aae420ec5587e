"""Dagster's storage with less work: same files, complete for every reader, live in the UI."""

import queue
import threading
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from gsum_resources.dagster_io import event_log
from gsum_resources.dagster_io.event_log import EventLog, InstanceStorage, RunHistory
from gsum_resources.dagster_io.instance import CONFIG_FILE, open_instance, prepare
from tests.conftest import House

PATIENCE_S = 900.0  # against hanging alone: a slow machine is no failure
KEY = dg.AssetKey("logged_asset")


@dg.asset(partitions_def=dg.StaticPartitionsDefinition([str(i) for i in range(5)]))
def logged_asset() -> None:
    pass


def materialize_once(instance: dg.DagsterInstance, partition: str) -> str:
    """Materialize a partition and return the id of the run."""
    return dg.materialize([logged_asset], instance=instance, partition_key=partition).run_id


def logged(instance: dg.DagsterInstance) -> dict[str, str | None]:
    """Map each run to its partition, by the index of all runs."""
    records = instance.fetch_materializations(KEY, limit=1000).records
    return {record.run_id: record.partition_key for record in records}


@pytest.fixture
def instance(house: House) -> Iterator[dg.DagsterInstance]:
    with open_instance(house.home) as opened:
        yield opened


@pytest.fixture
def files(house: House) -> Path:
    return house.home.dagster / "history" / "runs"


def test_commits_do_not_wait_for_the_disk(instance: dg.DagsterInstance) -> None:
    storage = instance.event_log_storage
    assert isinstance(storage, EventLog)
    with storage._connect("index") as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 1  # NORMAL


def test_both_storages_read_each_others_events(house: House) -> None:
    config = prepare(house.home) / CONFIG_FILE
    ours, theirs = config.read_text(), "telemetry: {enabled: false}\n"
    runs = {}
    for partition, text in enumerate([ours, theirs, ours]):
        config.write_text(text)
        with open_instance(house.home) as instance:
            assert isinstance(instance.event_log_storage, EventLog) == (text == ours)
            assert isinstance(instance.run_storage, RunHistory) == (text == ours)
            runs[materialize_once(instance, str(partition))] = str(partition)
            assert logged(instance) == runs
            assert {run.run_id for run in instance.get_runs()} == runs.keys()
            steps = [len(instance.all_logs(run)) for run in runs]
            assert min(steps) == max(steps) > 5


def test_more_runs_than_open_connections(
    instance: dg.DagsterInstance, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_log, "_KEPT", 3)
    runs = [materialize_once(instance, str(i)) for i in range(5)]
    assert len(list(files.glob("*-wal"))) == 3
    for run in runs:
        assert instance.all_logs(run, of_type=dg.DagsterEventType.RUN_SUCCESS)
    assert list(logged(instance).values()) == [str(i) for i in reversed(range(5))]


def test_no_connection_stays_open(house: House, files: Path) -> None:
    with open_instance(house.home) as instance:
        materialize_once(instance, "0")
        assert list(files.glob("*-wal"))
    assert list(house.home.dagster.rglob("*-wal")) == []
    assert list(house.home.dagster.rglob("*.part")) == []


def test_many_writers_lose_nothing(house: House) -> None:
    def write(name: str) -> None:
        with open_instance(house.home) as mine:
            for i in range(10):
                event = dg.AssetMaterialization(KEY, partition=f"{name}{i}")
                mine.report_runless_asset_event(event)

    with open_instance(house.home) as instance:
        threads = [threading.Thread(target=write, args=[name]) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
        records = instance.fetch_materializations(KEY, limit=1000).records
    assert {r.partition_key for r in records} == {
        f"{name}{i}" for name in "abcd" for i in range(10)
    }


def test_ui_receives_each_event_during_a_run(house: House) -> None:
    received: queue.Queue[str] = queue.Queue()
    with open_instance(house.home) as ui, open_instance(house.home) as worker:
        run = worker.get_run_by_id(materialize_once(worker, "0"))
        assert run
        cursor = worker.get_records_for_run(run.run_id).cursor
        ui.watch_event_logs(run.run_id, cursor, lambda entry, _: received.put(entry.message))
        for said in ("one", "two", "three"):
            worker.report_engine_event(said, run)
            assert received.get(timeout=PATIENCE_S) == said


def test_wipe_deletes_everything(instance: dg.DagsterInstance, files: Path) -> None:
    run = materialize_once(instance, "0")
    instance.wipe()
    assert logged(instance) == {}
    assert instance.all_logs(run) == []
    assert materialize_once(instance, "1") in logged(instance)


def test_several_processes_may_create_one_instance(tmp_path: Path) -> None:
    """Threads stand in for processes: all find no database, and begin in the same moment."""
    begin, n_runs = threading.Barrier(4), queue.SimpleQueue[int]()

    def open_storage() -> None:
        begin.wait(PATIENCE_S)
        n_runs.put(InstanceStorage(str(tmp_path)).run_storage.get_runs_count())

    threads = [threading.Thread(target=open_storage) for _ in range(begin.parties)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [n_runs.get(timeout=1) for _ in threads] == [0] * len(threads)
    assert not list(tmp_path.rglob("*.part"))
