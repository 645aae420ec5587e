"""A run next to a daemon, and how it decides that everything is materialized."""

import time
from collections.abc import Iterator, Sequence

import dagster as dg
import pytest
import sqlalchemy as sa
from dagster._daemon.types import DaemonHeartbeat

from gsum_assets.automation.processes import CORPUS as CORPUS_TAG
from gsum_assets.automation.processes import (
    FENCE,
    WORK,
    end_runs_of_this_process,
    set_aside,
    waited_for,
)
from gsum_assets.runner import run as runs
from gsum_assets.runner.run import refresh
from gsum_resources.state.database import LEASES, state_of
from gsum_resources.state.leases import Leases, held
from tests.conftest import CORPUS, House, materialized_by
from tests.pipeline.daemon import requested
from tests.pipeline.homes import GOOD
from tests.pipeline.pooled_run import pooled
from tests.pipeline.test_processes import queued

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("only_tables")]


@pytest.fixture
def instance(changeable: House) -> Iterator[dg.DagsterInstance]:
    with changeable.instance() as opened:
        yield opened


def alive(instance: dg.DagsterInstance) -> None:
    """Simulate a daemon that serves the instance."""
    beat = DaemonHeartbeat(time.time(), "QUEUED_RUN_COORDINATOR", "id", [])
    instance.add_daemon_heartbeat(beat)


def edit(house: House) -> None:
    house.write_document(GOOD, "A heron met the lamp. " * 30)


def test_run_beginning_between_two_polls_does_not_end_the_wait(
    changeable: House, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The daemon took over these assets, and ended without writing anything."""
    request, calls = runs.due, []

    def taken_up(*arguments: object) -> Sequence[dg.RunRequest]:
        calls.append(arguments)
        return [] if len(calls) == 2 else request(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(runs, "due", taken_up)
    monkeypatch.setattr(runs, "_WAIT_S", 0.0)
    edit(changeable)
    report = refresh(changeable.pipeline(), instance, CORPUS)
    assert report.is_complete
    assert "retrieval/scores[bm25]" in materialized_by(report)


def test_assets_that_cannot_be_materialized_are_named(
    changeable: House, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "due", lambda *_: [])
    monkeypatch.setattr(runs, "_WAIT_S", 0.0)
    edit(changeable)
    report = refresh(changeable.pipeline(), instance, CORPUS)
    assert report.results == []
    assert not report.is_complete
    assert report.missing["documents"] == 1
    assert report.missing["retrieval/scores"] == 1  # of bm25: no other method was requested


def test_methods_requested_by_others_are_left_to_a_daemon(
    changeable: House, instance: dg.DagsterInstance
) -> None:
    alive(instance)
    pipeline = changeable.pipeline()
    pipeline.requests.add(CORPUS, ["tfidf"])
    report = refresh(pipeline, instance, CORPUS, ["random"])
    assert report.is_complete
    assert {p.method for result in report.results for p in result.partitions} <= {None, "random"}
    assert "leaderboard[]" in materialized_by(report)
    assert (report.others, report.n_others) == (["tfidf"], 4)
    assert {partition.method for _, partition in requested(pipeline, instance)} == {"tfidf"}


def test_methods_requested_by_others_follow_without_a_daemon(
    changeable: House, instance: dg.DagsterInstance
) -> None:
    pipeline = changeable.pipeline()
    pipeline.requests.add(CORPUS, ["tfidf"])
    report = refresh(pipeline, instance, CORPUS, ["random"])
    methods = [p.method for result in report.results for p in result.partitions if p.method]
    assert methods == ["random", "tfidf"]
    assert materialized_by(report).count("leaderboard[]") == 1
    assert (report.is_complete, report.n_others) == (True, 0)


def test_daemon_requests_nothing_while_another_process_runs(
    changeable: House, instance: dg.DagsterInstance
) -> None:
    pipeline = changeable.pipeline()
    pipeline.requests.add(CORPUS, ["tfidf"])
    leases = Leases(pipeline.store)
    lease = leases.take(CORPUS)
    with state_of(pipeline.store).writing() as connection:
        connection.execute(sa.update(LEASES).values(host="elsewhere"))
    assert requested(pipeline, instance) == set()
    leases.release(lease)
    assert requested(pipeline, instance) != set()


def test_only_runs_queued_by_the_daemon_are_cancelled(
    changeable: House, instance: dg.DagsterInstance
) -> None:
    graph = changeable.pipeline().definitions.resolve_asset_graph()
    of_daemon, by_hand = queued(instance), queued(instance)
    instance.add_run_tags(of_daemon.run_id, {WORK: "make"})
    assert waited_for(instance, [of_daemon.run_id, by_hand.run_id]).startswith(
        f"run {of_daemon.run_id[:8]} of the daemon"
    )
    leases = Leases(changeable.store)
    with held(leases, "other", lambda: None) as other, held(leases, CORPUS, lambda: None) as lease:
        set_aside(instance, graph, other)
        set_aside(instance, graph, lease)
    found = {run.run_id: run.status for run in instance.get_runs(limit=2)}
    assert found[of_daemon.run_id] == dg.DagsterRunStatus.CANCELED
    assert found[by_hand.run_id] == dg.DagsterRunStatus.QUEUED


def test_interrupted_process_ends_its_runs(changeable: House, instance: dg.DagsterInstance) -> None:
    job = pooled(None).resolve_implicit_global_asset_job_def()
    leases, started = Leases(changeable.store), dg.DagsterRunStatus.STARTED
    mine = {FENCE: str(leases.take(CORPUS).fence)}
    own = instance.create_run_for_job(job, status=started, tags=mine)
    other = instance.create_run_for_job(job, status=started, tags={CORPUS_TAG: CORPUS})
    end_runs_of_this_process(instance, leases)
    found = {run.run_id: run for run in instance.get_runs(limit=2)}
    assert found[own.run_id].status == dg.DagsterRunStatus.CANCELED
    assert found[other.run_id].status == started
    assert leases.living() == []
