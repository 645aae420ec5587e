"""Resources of a killed process are freed, and no process waits for it."""

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest
import sqlalchemy as sa
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteRepositoryOrigin
from dagster._core.storage.runs.schema import RunsTable

from gsum_assets.automation import processes
from gsum_assets.automation.attempts import Attempts
from gsum_assets.automation.processes import CORPUS as CORPUS_TAG
from gsum_assets.automation.processes import (
    FENCE,
    await_turn,
    described,
    fail_orphaned_runs,
    lease_on,
    others_at_work,
)
from gsum_resources.dagster_io.dagster_private import SqliteRunStorage
from gsum_resources.settings.home import Home
from gsum_resources.state.database import LEASES
from gsum_resources.state.leases import Lease, LeaseLostError, Leases, held
from tests.pipeline.daemon import beat
from tests.pipeline.homes import house_at
from tests.pipeline.pooled_run import CORPUS, pooled, run

ROOT = Path(__file__).parents[2]
PATIENCE_S = 900.0
POOLED = dg.AssetKey("pooled_asset")


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    with house_at(tmp_path) as house, house.instance() as opened:
        yield opened


@pytest.fixture
def leases(instance: dg.DagsterInstance) -> Leases:
    """Those of the home of the instance."""
    return Leases(Home.from_environment().open_store())


def holder(tmp_path: Path, tagged: bool) -> subprocess.Popen:
    """A process in the midst of a step in the pool."""
    began = tmp_path / "began"
    command = [sys.executable, "-m", "tests.pipeline.pooled_run", str(began)]
    process = subprocess.Popen([*command, "tagged" if tagged else "untagged"], cwd=ROOT)
    started = time.monotonic()
    while not began.exists():
        assert process.poll() is None
        assert time.monotonic() - started < PATIENCE_S
        time.sleep(0.05)
    return process


def kill(process: subprocess.Popen) -> None:
    process.kill()
    process.wait()


def n_held(instance: dg.DagsterInstance) -> int:
    return instance.event_log_storage.get_concurrency_info("llm").active_slot_count


def only_run(instance: dg.DagsterInstance) -> dg.DagsterRun:
    (found,) = instance.get_runs()
    return found


@pytest.mark.parametrize("tagged", [True, False], ids=["command line", "daemon's worker"])
def test_killed_run_ends_and_frees_its_slot(
    instance: dg.DagsterInstance, leases: Leases, tmp_path: Path, tagged: bool
) -> None:
    process = holder(tmp_path, tagged)
    fail_orphaned_runs(instance, leases)
    assert n_held(instance) == 1
    assert only_run(instance).status == dg.DagsterRunStatus.STARTED  # alive: left alone
    kill(process)
    assert n_held(instance) == 1
    fail_orphaned_runs(instance, leases)
    assert n_held(instance) == 0
    assert only_run(instance).status == dg.DagsterRunStatus.FAILURE
    partitions = dg.StaticPartitionsDefinition([CORPUS])
    given_up = {p.corpus for p in Attempts(instance, leases).given_up(POOLED, partitions)}
    # a kill at the command line says nothing about the work; the daemon's runs it starts again
    assert given_up == (set() if tagged else {CORPUS})


@pytest.mark.slow
def test_waiting_step_gets_the_slot_of_a_killed_process(
    instance: dg.DagsterInstance, leases: Leases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gsum_resources.state.leases.RENEW_S", 0.5)
    process = holder(tmp_path, tagged=True)
    with lease_on(instance, leases, "other"):
        threading.Timer(1.0, kill, [process]).start()
        assert run(instance, None, tagged=True)
    assert n_held(instance) == 0
    assert process.returncode is not None  # it did wait: one slot, one step


def change(leases: Leases, lease: Lease, **values: object) -> None:
    """Change the row of a lease."""
    with leases._state.writing() as connection:
        row = sa.update(LEASES).where(LEASES.c.fence == lease.fence)
        connection.execute(row.values(values))


@pytest.mark.parametrize("age_s", [5.0, 500.0, -5.0], ids=["fresh", "expired", "before a restart"])
def test_process_of_another_host_lives_by_its_lease(
    instance: dg.DagsterInstance, leases: Leases, age_s: float
) -> None:
    elsewhere = leases.take(CORPUS)
    renewed = time.monotonic() - age_s
    change(leases, elsewhere, host="elsewhere", renewed=renewed)
    job = pooled(None).resolve_implicit_global_asset_job_def()
    run = instance.create_run_for_job(
        job, status=dg.DagsterRunStatus.STARTED, tags={FENCE: str(elsewhere.fence)}
    )
    mine = leases.take(CORPUS)
    is_alive = age_s == 5.0
    assert [one.fence for one in leases.before(mine)] == ([elsewhere.fence] if is_alive else [])
    assert leases.is_held_elsewhere(CORPUS) is is_alive
    fail_orphaned_runs(instance, leases)
    found = instance.get_run_by_id(run.run_id)
    assert found
    assert (found.status == dg.DagsterRunStatus.FAILURE) is not is_alive


def test_killed_process_of_this_host_loses_its_lease_at_once(
    leases: Leases, tmp_path: Path
) -> None:
    process = holder(tmp_path, tagged=True)
    (lease,) = leases.living(CORPUS)
    # as long as it is there it holds the lease, however long it was silent
    change(leases, lease, renewed=time.monotonic() - 500)
    assert leases.living(CORPUS) == [lease]
    kill(process)
    assert leases.living(CORPUS) == []


def test_lease_is_renewed_until_it_is_released(
    leases: Leases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gsum_resources.state.leases.RENEW_S", 0.05)
    renewed = threading.Event()
    with held(leases, CORPUS, renewed.set) as lease:
        renewed.clear()
        assert renewed.wait(PATIENCE_S)
        lease.renew()
        assert leases.own() == [lease.lease]
    assert leases.living() == []


def test_process_that_was_taken_over_notices(
    leases: Leases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gsum_resources.state.leases.RENEW_S", 0.05)
    reported, noticed = [], threading.Event()

    def on_lost(message: str) -> None:
        reported.append(message)
        noticed.set()

    with held(leases, CORPUS, lambda: None, on_lost) as lease:
        leases.release(lease.lease)  # as whoever finds it expired does
        assert noticed.wait(PATIENCE_S)
        with pytest.raises(LeaseLostError, match="another host has taken over"):
            lease.check()
        assert leases.take(CORPUS).fence > lease.lease.fence
    (message,) = reported
    assert CORPUS in message


def test_refreshes_of_a_corpus_take_turns(leases: Leases, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_WAIT_S", 0.0)
    reported: list[str] = []
    with held(leases, CORPUS, lambda: None) as first:
        await_turn(first, reported.append)
        with held(leases, "other", lambda: None) as other:
            await_turn(other, reported.append)
        with held(leases, CORPUS, lambda: None) as second:

            def end_first(what: str) -> None:
                reported.append(what)
                leases.release(first.lease)

            await_turn(second, end_first)
    assert reported == [f"another gsum run of it, on {socket.gethostname()}"]


def queued(instance: dg.DagsterInstance) -> dg.DagsterRun:
    """A run that a daemon was to start."""
    job = pooled(None).resolve_implicit_global_asset_job_def()
    location = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("gsum"), "__repository__")
    return instance.create_run_for_job(
        job,
        status=dg.DagsterRunStatus.QUEUED,
        tags={CORPUS_TAG: CORPUS},
        remote_job_origin=location.get_job_origin(job.name),
    )


def test_queued_run_is_waited_for_while_a_daemon_lives(
    instance: dg.DagsterInstance, leases: Leases
) -> None:
    graph = pooled(None).resolve_asset_graph()
    run_id = queued(instance).run_id
    beat(instance)
    with held(leases, CORPUS, lambda: None) as lease, held(leases, "o", lambda: None) as other:
        others = others_at_work(instance, graph, lease)
        assert [run.run_id for run in others] == [run_id]
        assert described([*others, *others]) == f"run {run_id[:8]}, and 1 run more"
        assert others_at_work(instance, graph, other) == []
        beat(instance, seconds_ago=600)
        assert others_at_work(instance, graph, lease) == []
    assert only_run(instance).status == dg.DagsterRunStatus.CANCELED


def test_methods_that_processes_wait_for_go_first_as_long_as_they_live(leases: Leases) -> None:
    with held(leases, CORPUS, lambda: None, first={"bm25"}) as lease:
        assert not leases.is_held_elsewhere(CORPUS)
        elsewhere = leases.take(CORPUS, first={"dense", "rrf"})
        change(leases, elsewhere, host="elsewhere")
        assert leases.first() == {CORPUS: {"bm25", "dense", "rrf"}}
        assert leases.computing(CORPUS) == []
        mine = leases.take(CORPUS)
        assert leases.before(mine) == []  # only who computes has a turn
        assert leases.computing(CORPUS) == [mine]
        change(leases, elsewhere, renewed=time.monotonic() - 500)
        assert leases.first() == {CORPUS: {"bm25"}}
        assert leases.living() == [lease.lease, mine]
    assert leases.first() == {}


def aged(instance: dg.DagsterInstance, run_id: str, column: str, seconds: float) -> None:
    """Set a time of a run back."""
    storage = instance.run_storage
    assert isinstance(storage, SqliteRunStorage)
    then = datetime.fromtimestamp(time.time() - seconds, UTC)
    with storage.connect() as connection:
        chosen = sa.update(RunsTable).where(RunsTable.c.run_id == run_id)
        connection.execute(chosen.values({column: then}))


def start(instance: dg.DagsterInstance, run: dg.DagsterRun) -> None:
    """Take a run from the queue, as the daemon does before it starts its process."""
    instance.report_engine_event("the queue gave it free", run)
    kind = dg.DagsterEventType.PIPELINE_STARTING
    event = dg.DagsterEvent(kind.value, run.job_name, message="starting")
    instance.report_dagster_event(event, run.run_id)


def test_run_that_was_queued_for_long_has_time_to_start(
    instance: dg.DagsterInstance, leases: Leases
) -> None:
    run = queued(instance)
    aged(instance, run.run_id, "create_timestamp", 3600)
    start(instance, run)
    fail_orphaned_runs(instance, leases)
    assert only_run(instance).status == dg.DagsterRunStatus.STARTING
    aged(instance, run.run_id, "update_timestamp", 200)  # and its process did not come
    fail_orphaned_runs(instance, leases)
    assert only_run(instance).status == dg.DagsterRunStatus.FAILURE
