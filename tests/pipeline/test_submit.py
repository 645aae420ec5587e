"""Runs of a home whose daemon uses a run launcher that knows its own workers alone."""

import logging
import os
import time
from collections.abc import Iterator

import dagster as dg
import pytest
from dagster._core.remote_origin import (
    ManagedGrpcPythonEnvCodeLocationOrigin,
    RemoteInstigatorOrigin,
    RemoteRepositoryOrigin,
)
from dagster._core.scheduler.instigation import (
    InstigatorState,
    InstigatorStatus,
    InstigatorType,
    SensorInstigatorData,
)
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._daemon.monitoring.run_monitoring import monitor_started_run
from dagster._daemon.types import DaemonHeartbeat

from gsum_assets.automation.due import due
from gsum_assets.automation.processes import CORPUS as CORPUS_TAG
from gsum_assets.automation.processes import FENCE, SUBMITTED, WORK, fail_orphaned_runs
from gsum_assets.runner import submit
from gsum_assets.runner.execute import observe_sources
from gsum_assets.runner.run import refresh
from gsum_assets.runner.submit import DaemonError, SubmittedRuns, runs_for
from gsum_resources.state.leases import Leases, held
from tests.conftest import CORPUS, House
from tests.pipeline.homes import GOOD
from tests.pipeline.launcher import WORKER, launch_by_processes
from tests.pipeline.pooled_run import pooled

pytestmark = pytest.mark.usefixtures("only_tables")


@pytest.fixture
def instance(changeable: House) -> Iterator[dg.DagsterInstance]:
    launch_by_processes(changeable.home)
    with changeable.instance() as opened:
        yield opened


def daemon_serves(instance: dg.DagsterInstance) -> None:
    """Record what a daemon records that serves gsum_assets.definitions."""
    beat = DaemonHeartbeat(time.time(), "QUEUED_RUN_COORDINATOR", "id", [])
    instance.add_daemon_heartbeat(beat)
    target = LoadableTargetOrigin(module_name="gsum_assets.definitions")
    location = ManagedGrpcPythonEnvCodeLocationOrigin(target, "gsum")
    sensor = RemoteInstigatorOrigin(
        RemoteRepositoryOrigin(location, "__repository__"), "watch_corpora"
    )
    data, declared = SensorInstigatorData(min_interval=30), InstigatorStatus.DECLARED_IN_CODE
    instance.add_instigator_state(InstigatorState(sensor, InstigatorType.SENSOR, declared, data))


def started(instance: dg.DagsterInstance, tags: dict[str, str]) -> dg.DagsterRun:
    job = pooled(None).resolve_implicit_global_asset_job_def()
    return instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED, tags=tags)


def test_without_a_daemon_the_launcher_and_the_remedy_are_named(
    changeable: House, instance: dg.DagsterInstance
) -> None:
    changeable.write_document(GOOD, "A heron met the lamp. " * 30)
    before = instance.get_runs_count()
    with pytest.raises(DaemonError, match=r"run launcher ProcessLauncher.*`gsum ui`"):
        refresh(changeable.pipeline(), instance, CORPUS)
    assert Leases(changeable.store).living() == []
    assert instance.get_runs_count() == before


def test_monitoring_takes_a_run_of_this_process_for_dead(instance: dg.DagsterInstance) -> None:
    """Why runs are submitted."""
    workers = {WORKER: str(os.getpid())}
    for tags, status in ((workers, "STARTED"), ({FENCE: "1"}, "FAILURE")):
        run = started(instance, tags)
        (record,) = instance.get_run_records(dg.RunsFilter(run_ids=[run.run_id]))
        monitor_started_run(instance, None, record, logging.getLogger())  # type: ignore[arg-type]
        found = instance.get_run_by_id(run.run_id)
        assert found
        assert found.status.value == status


def test_workers_of_a_launcher_are_left_to_the_monitoring(
    changeable: House, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gsum_assets.automation.processes._START_S", -1.0)
    run = started(instance, {})
    fail_orphaned_runs(instance, Leases(changeable.store))
    found = instance.get_run_by_id(run.run_id)
    assert found
    assert found.status == dg.DagsterRunStatus.STARTED


def test_submitted_run_is_followed_through_a_retry(
    changeable: House, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submit, "_POLL_S", 0.0)
    daemon_serves(instance)
    changeable.write_document(GOOD, "A heron met the lamp. " * 30)
    pipeline = changeable.pipeline()
    graph = pipeline.definitions.resolve_asset_graph()
    observe_sources(pipeline, instance, CORPUS, {})
    steps: list[str] = []
    with held(Leases(changeable.store), CORPUS, lambda: None) as lease:
        runs = runs_for(pipeline, instance, lease, lambda *_: None, steps.append)
        assert isinstance(runs, SubmittedRuns)
        first, *_ = due(graph, instance, CORPUS, pipeline.new_snapshot(instance))
        keys = list(first.asset_selection or ())
        assert list(runs.start(first, keys)) == list(runs.start(first, keys)) == []
        (run,) = instance.get_runs(dg.RunsFilter(tags={SUBMITTED: lease.fence}))
        assert run.status == dg.DagsterRunStatus.QUEUED
        assert (run.tags[CORPUS_TAG], run.tags[WORK]) == (CORPUS, "make")
        assert run.remote_job_origin
        assert run.remote_job_origin.location_name == "gsum"
        assert run.job_code_origin
        pointer = run.job_code_origin.repository_origin.code_pointer
        assert pointer.describe() == "from gsum_assets.definitions import defs"
        job = pipeline.definitions.resolve_implicit_global_asset_job_def()
        done = job.execute_in_process(
            instance=instance,
            asset_selection=keys,
            partition_key=first.partition_key,
            tags=first.tags,
        )
        instance.report_run_failed(run)
        retry = {submit._RETRIED: "true", submit._RETRY: done.run_id}
        instance.add_run_tags(run.run_id, retry)
        (result,) = runs.ended()
    assert result.error is None
    assert set(result.assets) == {key.to_user_string() for key in keys}
    assert steps
