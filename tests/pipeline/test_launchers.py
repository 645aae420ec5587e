"""Runs of a home whose daemon uses a run launcher that knows its own workers alone."""

import itertools
import logging
import os
import time
from collections.abc import Iterator

import dagster as dg
import pytest
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteRepositoryOrigin
from dagster._daemon.monitoring.run_monitoring import monitor_started_run

from gsum_assets.automation.due import due
from gsum_assets.automation.processes import FENCE, WORK, fail_orphaned_runs
from gsum_assets.runner import follow
from gsum_assets.runner.run import DaemonError, refresh
from gsum_resources.state.leases import Leases
from tests.conftest import CORPUS, House
from tests.growing.daemon import Daemon
from tests.pipeline.daemon import QUIET, serve
from tests.pipeline.homes import GOOD
from tests.pipeline.launcher import WORKER, launch_by_processes
from tests.pipeline.pooled_run import pooled

pytestmark = pytest.mark.usefixtures("only_tables")


@pytest.fixture
def instance(changeable: House) -> Iterator[dg.DagsterInstance]:
    launch_by_processes(changeable.home)
    with changeable.instance() as opened:
        yield opened


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
    """Why a `gsum run` without a daemon refuses such a launcher."""
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


@pytest.mark.slow
def test_run_is_followed_through_a_retry_and_goes_first(
    changeable: House, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker dies, and the daemon starts its run again."""
    serve(instance)
    changeable.write_document(GOOD, "A heron met the lamp. " * 30)
    pipeline, daemon = changeable.pipeline(), Daemon()
    steps: list[str] = []
    lost: list[dg.DagsterRun] = []

    def lose_a_worker() -> None:
        """Queue the first run that is due, start it, and let its worker die."""
        graph = pipeline.definitions.resolve_asset_graph()
        first, *_ = due(graph, instance, CORPUS, pipeline.new_snapshot(instance))
        keys = frozenset(first.asset_selection or ())
        job = pipeline.definitions.resolve_implicit_global_asset_job_def()
        origin = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("gsum"), "__repository__")
        run = instance.create_run_for_job(
            job,
            status=dg.DagsterRunStatus.QUEUED,
            asset_selection=keys,
            tags={**first.tags, WORK: "make"},
            remote_job_origin=origin.get_job_origin(job.name),
        )
        lost.append(run)

    def end_the_run() -> None:
        instance.add_run_tags(lost[0].run_id, {follow._RETRIED: "true"})
        instance.report_run_failed(lost[0])

    def start_again() -> None:
        job = pipeline.definitions.resolve_implicit_global_asset_job_def()
        retry = job.execute_in_process(
            instance=instance,
            asset_selection=sorted(lost[0].asset_selection or ()),
            partition_key=lost[0].tags.get("dagster/partition"),
            tags={k: v for k, v in lost[0].tags.items() if k != "dagster/partition"},
            run_config=QUIET,
        )
        instance.add_run_tags(lost[0].run_id, {follow._RETRY: retry.run_id})

    def evaluate() -> None:
        daemon.evaluate(pipeline, instance)
        serve(instance, time.time())

    pauses = itertools.chain(
        [lose_a_worker, lambda: None, end_the_run, lambda: None, start_again],
        itertools.repeat(evaluate, 60),
    )
    monkeypatch.setattr(follow, "_pause", lambda: next(pauses)())
    report = refresh(pipeline, instance, CORPUS, on_step=lambda asset, *_: steps.append(asset))
    assert report.is_complete
    run = instance.get_run_by_id(lost[0].run_id)
    assert run
    assert run.tags[follow._PRIORITY] == "1"
    names = {key.to_user_string() for key in run.asset_selection or ()}
    assert [set(result.assets) for result in report.results].count(names) == 1
    assert steps.count("documents") == 1
