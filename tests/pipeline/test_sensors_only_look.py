"""Evaluating sensors, schedules and conditions, as the UI's previews do, changes nothing."""

import hashlib
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.schedule_definition import ScheduleExecutionData
from dagster._core.definitions.sensor_definition import SensorExecutionData

from gsum_assets.automation.jobs import FORGET_CORPUS, OBSERVE_SOURCES, RECONCILE_CORPORA
from gsum_assets.automation.processes import FENCE
from gsum_assets.definitions import Pipeline
from gsum_resources.state.database import LEASES, state_of
from gsum_resources.state.leases import Leases
from tests.conftest import CORPUS, House
from tests.pipeline.daemon import QUIET, carry_out
from tests.pipeline.homes import GOOD, copy_of
from tests.pipeline.test_automation_sensors import settle

Evaluation = SensorExecutionData | ScheduleExecutionData
Change = Callable[[House, dg.DagsterInstance], object]


def tick(pipeline: Pipeline, instance: dg.DagsterInstance) -> list[Evaluation]:
    """Evaluate every sensor and every schedule of the definitions, without doing what they say."""
    repository = pipeline.definitions.get_repository_def()
    found: list[Evaluation] = []
    for sensor in repository.sensor_defs:
        with dg.build_sensor_context(instance, repository_def=repository) as context:
            found.append(sensor.evaluate_tick(context))
    for schedule in repository.schedule_defs:
        with dg.build_schedule_context(instance, datetime(2026, 3, 1, 4, tzinfo=UTC)) as context:
            found.append(schedule.evaluate_tick(context))
    return found


def everything(root: Path) -> dict[str, str]:
    """Hash of every file of a home, and of the rows of every database; "" for a folder."""
    found = {}
    for path in sorted(root.rglob("*")):
        if path.name.endswith(("-wal", "-shm")):  # SQLite's own, which reading creates
            continue
        name = str(path.relative_to(root))
        if path.suffix == ".db":
            with closing(sqlite3.connect(path)) as connection:
                found[name] = hashed("\n".join(map(without_cache, connection.iterdump())).encode())
        else:
            found[name] = hashed(path.read_bytes()) if path.is_file() else ""
    return found


def without_cache(statement: str) -> str:
    """Remove the last column of `asset_keys`, where Dagster itself caches counts of partitions."""
    if statement.startswith('INSERT INTO "asset_keys"'):
        return re.sub(r",(NULL|'[^']*')\);$", ");", statement)
    return statement


def hashed(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def nothing(house: House, instance: dg.DagsterInstance) -> None:
    pass


def add_corpus(house: House, instance: dg.DagsterInstance) -> None:
    shutil.copytree(house.folder, house.home.corpora / "second")


def move_away(house: House, instance: dg.DagsterInstance) -> None:
    house.folder.rename(house.home.root / "away")


def move_away_for_long(house: House, instance: dg.DagsterInstance) -> None:
    move_away(house, instance)
    house.pipeline().reconciler.missing.note([CORPUS], 0.0)


def bring_back(house: House, instance: dg.DagsterInstance) -> None:
    house.pipeline().reconciler.missing.note([CORPUS], 0.0)


def forget_requests(house: House, instance: dg.DagsterInstance) -> None:
    house.pipeline().requests.forget(CORPUS)


def edit(house: House, instance: dg.DagsterInstance) -> None:
    house.write_document(GOOD, "Another text.")
    settle(house.folder)
    observe(house, instance)


def delete_a_document(house: House, instance: dg.DagsterInstance) -> None:
    (house.folder / f"{GOOD}.txt").unlink()
    settle(house.folder)
    assert house.run(["bm25"]).is_complete


def observe(house: House, instance: dg.DagsterInstance) -> None:
    job = house.pipeline().definitions.resolve_job_def(OBSERVE_SOURCES)
    assert job.execute_in_process(instance=instance, run_config=QUIET).success


def fail_a_run(house: House, instance: dg.DagsterInstance) -> None:
    (house.folder / "corpus.toml").write_text("[retrieval]\nwrong = 1\n")
    assert house.run(["tfidf"]).errors


def kill_a_process(house: House, instance: dg.DagsterInstance) -> None:
    """A lease, and a run under it, of a process that has ended."""
    lease = Leases(house.store).take(CORPUS)
    with state_of(house.store).writing() as connection:
        connection.execute(LEASES.update().values(born=1.0))
    job = house.pipeline().definitions.resolve_implicit_global_asset_job_def()
    tags = {FENCE: str(lease.fence)}
    instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED, tags=tags)


SITUATIONS: list[tuple[Change, set[str]]] = [
    (nothing, set()),
    (add_corpus, {OBSERVE_SOURCES, RECONCILE_CORPORA}),
    (move_away, {RECONCILE_CORPORA}),
    (move_away_for_long, {FORGET_CORPUS}),
    (bring_back, {RECONCILE_CORPORA}),
    (forget_requests, {RECONCILE_CORPORA}),
    (edit, set()),
    (delete_a_document, {RECONCILE_CORPORA}),
    (fail_a_run, set()),
    (kill_a_process, {RECONCILE_CORPORA}),
]


@pytest.fixture(scope="module")
def watched(indexed_by_bm25: House, tmp_path_factory: pytest.TempPathFactory) -> House:
    """A corpus that the sensors have nothing to do with."""
    with copy_of(indexed_by_bm25, tmp_path_factory.mktemp("watched")) as house:
        settle(house.folder)
        with house.instance() as instance:
            for _ in range(2):
                for result in tick(house.pipeline(), instance)[:3]:
                    assert isinstance(result, SensorExecutionData)
                    carry_out(result, house.pipeline(), instance)
    return house


class EndError(Exception):
    """Raised where an evaluation has its result."""


@pytest.mark.parametrize(
    ("change", "requested"), SITUATIONS, ids=[change.__name__ for change, _ in SITUATIONS]
)
@pytest.mark.slow
def test_evaluation_changes_nothing(
    change: Change,
    requested: set[str],
    watched: House,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with copy_of(watched, tmp_path) as house, house.instance() as instance:
        change(house, instance)
        if change is not add_corpus:
            settle(house.home.corpora)
        pipeline = house.pipeline()
        before = everything(house.home.root)
        results = tick(pipeline, instance)
        assert everything(house.home.root) == before
        jobs = {run.job_name for result in results for run in result.run_requests or ()}
        assert jobs - {None} >= requested

        def fail(*_: object, **__: object) -> None:
            raise EndError

        for name in ("SensorResult", "SkipReason", "RunRequest"):
            monkeypatch.setattr(dg, name, fail)
        for sensor in pipeline.definitions.get_repository_def().sensor_defs:
            if sensor.name == "keep_current":  # Dagster's own function
                continue
            with dg.build_sensor_context(instance) as context, pytest.raises(EndError):
                sensor.evaluate_tick(context)
        assert everything(house.home.root) == before


def test_home_without_a_database_gets_none(house: House) -> None:
    settle(house.folder)
    with house.instance() as instance:
        before = everything(house.home.root)
        tick(house.pipeline(), instance)
        assert everything(house.home.root) == before
    assert not house.home.state.exists()
