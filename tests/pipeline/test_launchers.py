"""`gsum run` in a home whose daemon uses a run launcher that knows its own workers alone."""

from collections.abc import Iterator

import dagster as dg
import pytest

from gsum_assets.dagster_assets.record import fail_dead_runs
from gsum_assets.runner.report import RefreshError
from gsum_assets.runner.run import refresh
from gsum_resources.state.locks import locked_by
from tests.conftest import CORPUS, House
from tests.pipeline.homes import GOOD
from tests.pipeline.launcher import launch_by_processes

STARTED = dg.DagsterRunStatus.STARTED


@dg.job
def anything() -> None: ...


@pytest.fixture
def instance(changeable: House) -> Iterator[dg.DagsterInstance]:
    launch_by_processes(changeable.home)
    with changeable.instance() as opened:
        yield opened


def started(instance: dg.DagsterInstance, tags: dict[str, str]) -> dg.DagsterRun:
    return instance.create_run_for_job(anything, status=STARTED, tags=tags)


def status_of(instance: dg.DagsterInstance, run: dg.DagsterRun) -> str:
    found = instance.get_run_by_id(run.run_id)
    assert found
    return found.status.value


def test_without_a_daemon_the_launcher_and_the_remedy_are_named(
    changeable: House, instance: dg.DagsterInstance
) -> None:
    changeable.write_document(GOOD, "A heron met the lamp. " * 30)
    before = instance.get_runs_count()
    with pytest.raises(RefreshError, match=r"run launcher ProcessLauncher.*`gsum ui`"):
        refresh(changeable.pipeline(), instance, CORPUS)
    assert locked_by(changeable.store, CORPUS) == ""
    assert instance.get_runs_count() == before


def test_workers_of_a_launcher_are_left_to_the_monitoring(
    changeable: House, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gsum_assets.dagster_assets.record._START_S", -1.0)
    run = started(instance, {})
    fail_dead_runs(instance, changeable.store)
    assert status_of(instance, run) == "STARTED"
