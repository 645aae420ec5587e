"""Resources of a killed process are freed, and no process waits for it."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import dagster as dg
import psutil
import pytest
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteRepositoryOrigin
from dagster._daemon.types import DaemonHeartbeat

from gsum_assets import processes
from gsum_assets.automation.attempts import Attempts
from gsum_assets.processes import (
    BORN,
    ENDED,
    HOST,
    PID,
    REFRESHING,
    fail_orphaned_runs,
    failing_orphaned_runs,
    in_turn,
    others_at_work,
    tags_of_this_process,
)
from gsum_assets.processes import CORPUS as CORPUS_TAG
from tests.pipeline.homes import house_at
from tests.pipeline.pooled_run import CORPUS, pooled, run

ROOT = Path(__file__).parents[2]
PATIENCE_S = 900.0
POOLED = dg.AssetKey("pooled_asset")


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    with house_at(tmp_path) as house, house.instance() as opened:
        yield opened


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
    instance: dg.DagsterInstance, tmp_path: Path, tagged: bool
) -> None:
    process = holder(tmp_path, tagged)
    fail_orphaned_runs(instance)
    assert n_held(instance) == 1
    assert only_run(instance).status == dg.DagsterRunStatus.STARTED  # alive: left alone
    kill(process)
    assert n_held(instance) == 1
    fail_orphaned_runs(instance)
    assert n_held(instance) == 0
    assert only_run(instance).status == dg.DagsterRunStatus.FAILURE
    partitions = dg.StaticPartitionsDefinition([CORPUS])
    given_up = {p.corpus for p in Attempts(instance).given_up(POOLED, partitions)}
    # a kill at the command line says nothing about the work; the daemon's runs it starts again
    assert given_up == (set() if tagged else {CORPUS})


def test_waiting_step_gets_the_slot_of_a_killed_process(
    instance: dg.DagsterInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "_CHECK_ORPHANS_EVERY_S", 0.5)
    process = holder(tmp_path, tagged=True)
    with failing_orphaned_runs(instance):
        threading.Timer(1.0, kill, [process]).start()
        assert run(instance, None, tagged=True)
    assert n_held(instance) == 0
    assert process.returncode is not None  # it did wait: one slot, one step


def refresh_of(instance: dg.DagsterInstance, pid: int) -> str:
    """The run by which a `gsum run` of that process begins."""
    tags = {**tags_of_this_process(CORPUS), REFRESHING: CORPUS, PID: str(pid)}
    tags[BORN] = str(psutil.Process(pid).create_time()) if psutil.pid_exists(pid) else "0"
    job = pooled(None).resolve_implicit_global_asset_job_def()
    return instance.create_run_for_job(job, status=dg.DagsterRunStatus.SUCCESS, tags=tags).run_id


@pytest.mark.parametrize("age_s", [None, 5.0, 500.0], ids=["none", "fresh", "expired"])
def test_process_of_another_host_lives_by_its_lease(
    instance: dg.DagsterInstance, age_s: float | None
) -> None:
    tags = {**tags_of_this_process(CORPUS), HOST: "elsewhere", REFRESHING: CORPUS}
    job = pooled(None).resolve_implicit_global_asset_job_def()
    statuses = dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.STARTED
    first, started = (instance.create_run_for_job(job, status=s, tags=tags) for s in statuses)
    if age_s is not None:
        renewed = {processes._lease_of(tags): str(time.time() - age_s)}
        instance.daemon_cursor_storage.set_cursor_values(renewed)
    mine = refresh_of(instance, os.getpid())
    is_alive = age_s == 5.0
    others = processes._refreshing_before(instance, CORPUS, mine)
    assert sorted(others) == sorted([first.run_id, started.run_id] if is_alive else [])
    fail_orphaned_runs(instance)
    found = instance.get_run_by_id(started.run_id)
    assert found
    assert (found.status == dg.DagsterRunStatus.FAILURE) is not is_alive


def test_refresh_renews_its_lease(instance: dg.DagsterInstance) -> None:
    with failing_orphaned_runs(instance):
        name = processes._lease_of(tags_of_this_process(CORPUS))
        assert float(instance.daemon_cursor_storage.get_cursor_values({name})[name]) > 0


def test_refreshes_of_a_corpus_take_turns(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "_WAIT_S", 0.0)
    me, nobody = os.getpid(), 1 << 22  # more than any process's number
    refresh_of(instance, nobody)
    first, second = refresh_of(instance, me), refresh_of(instance, me)
    reported = []

    def end_first(others: Sequence[str]) -> None:
        reported.append(list(others))
        instance.add_run_tags(first, {REFRESHING: ENDED})

    with in_turn(instance, CORPUS, first, reported.append) as waited:
        assert not waited  # the later one waits, and no one for a killed process
        with in_turn(instance, CORPUS, second, end_first) as waited:
            assert waited
    assert reported == [[first]]


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


def test_queued_run_is_waited_for_while_a_daemon_lives(instance: dg.DagsterInstance) -> None:
    graph = pooled(None).resolve_asset_graph()
    run_id = queued(instance).run_id
    alive = DaemonHeartbeat(time.time(), "QUEUED_RUN_COORDINATOR", "id", [])
    instance.add_daemon_heartbeat(alive)
    assert others_at_work(instance, graph, CORPUS) == [run_id]
    assert others_at_work(instance, graph, "other") == []
    instance.add_daemon_heartbeat(alive._replace(timestamp=time.time() - 600))
    assert others_at_work(instance, graph, CORPUS) == []
    assert only_run(instance).status == dg.DagsterRunStatus.CANCELED
