"""`kill -9` of the daemon and of PostgreSQL, and a process that is paused, each in mid-run."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from gsum_assets.dagster_assets.run_resource import INDEX_JOB
from tests.cluster.homes import use_database
from tests.cluster.hosts import (
    OTHER,
    UNDER,
    answered,
    daemon_on,
    ended,
    eventually,
    gsum_run,
    kill_postgres,
    kill_session,
    postgres_again,
    require_host_names,
)
from tests.cluster.servers import postgres_server
from tests.conftest import House
from tests.pipeline.homes import WITHOUT_BERTSCORE, contents
from tests.pipeline.launcher import WORKER, launch_by_processes
from tests.pipeline.served_homes import N_QUESTIONS, house_with_questions, run, served_by
from tests.servers.scripted import ScriptedServer, scripted_process

pytest.importorskip("dagster_postgres", reason="make test-cluster installs it")
SETTINGS = f"methods = ['bm25']\n{WITHOUT_BERTSCORE}"  # a daemon requests no other
LATENCY_S = 1.0
N_AT_KILL = 4
AT_ONCE = 2
PATIENT = {"timeout_s": 120}  # a reply that is late on a busy machine is not requested again
IMPATIENT = "from gsum_resources.state import database; database.RESTART_S = 2.0"
PAUSE_S = 20.0
SUCCESS = dg.DagsterRunStatus.SUCCESS


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The tables of a home with SQLite, which nothing disturbed."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with (
        scripted_process(folder / "log.jsonl") as server,
        house_with_questions(folder / "home") as house,
    ):
        (house.folder / "corpus.toml").write_text(SETTINGS)
        served_by(house, server, PATIENT)
        assert run(house).exit_code == 0
        return contents(house)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ScriptedServer]:
    with scripted_process(tmp_path / "log.jsonl", latency_s=LATENCY_S) as made:
        yield made


@pytest.fixture
def database(tmp_path: Path) -> Iterator[str]:
    with postgres_server(tmp_path / "server") as url:
        yield url


@pytest.fixture
def house(tmp_path: Path, database: str, server: ScriptedServer) -> Iterator[House]:
    with house_with_questions(tmp_path / "home") as made:
        use_database(made, database)
        served_by(made, server, PATIENT, max_concurrent=AT_ONCE)
        with (made.home.root / "gsum.toml").open("a") as file:
            file.write(f"\n[state]\nurl = '{database}'\n")
        (made.folder / "corpus.toml").write_text(SETTINGS)
        yield made


def test_postgres_that_is_restarted_is_waited_for(
    house: House, server: ScriptedServer, tmp_path: Path, database: str, undisturbed: dict
) -> None:
    process = gsum_run(house)
    eventually(lambda: len(answered(server)) >= N_AT_KILL, process)
    kill_postgres(tmp_path / "server")
    time.sleep(2)
    with postgres_again(tmp_path / "server", database):
        ended(process)
        assert contents(house) == undisturbed
    assert set(answered(server).values()) == {1}
    assert len(answered(server)) == N_QUESTIONS


def test_postgres_that_stays_away_is_named_and_the_next_run_continues(
    house: House, server: ScriptedServer, tmp_path: Path, database: str, undisturbed: dict
) -> None:
    process = gsum_run(house, before=IMPATIENT)
    eventually(lambda: len(answered(server)) >= N_AT_KILL, process)
    kill_postgres(tmp_path / "server")
    said = ended(process, status=1)
    assert "start the server, and repeat the command" in said
    assert "Traceback" not in said
    with postgres_again(tmp_path / "server", database):
        ended(gsum_run(house))
        assert contents(house) == undisturbed
    times = answered(server)
    assert len(times) == N_QUESTIONS
    # what was in flight, and what was answered before the writer noticed; 8 if it went on
    assert times.total() - len(times) <= 3 * AT_ONCE


def test_daemon_that_is_killed_is_replaced_and_every_step_runs_once(
    house: House, server: ScriptedServer, tmp_path: Path, undisturbed: dict
) -> None:
    launch_by_processes(house.home)
    with daemon_on(house, tmp_path / "daemon.log") as first:
        process = gsum_run(house)
        eventually(lambda: len(answered(server)) >= N_AT_KILL, process)
        kill_session(first)
    with daemon_on(house, tmp_path / "daemon.log"):
        ended(process)
    assert contents(house) == undisturbed
    assert set(answered(server).values()) == {1}
    with house.instance() as instance:
        runs = instance.get_runs(dg.RunsFilter(job_name=INDEX_JOB))
    assert {run.status for run in runs} <= {SUCCESS, dg.DagsterRunStatus.QUEUED}
    assert all(WORKER in run.tags for run in runs if run.status == SUCCESS)  # of the daemon


def test_process_that_is_paused_keeps_its_corpus(
    house: House, server: ScriptedServer, undisturbed: dict
) -> None:
    require_host_names()
    paused = gsum_run(house, under=UNDER)
    eventually(lambda: len(answered(server)) >= N_AT_KILL, paused)
    paused.send_signal(signal.SIGSTOP)
    other = gsum_run(house)
    time.sleep(PAUSE_S)
    assert other.poll() is None
    paused.send_signal(signal.SIGCONT)
    ended(paused)
    assert OTHER in ended(other)  # whom it has waited for
    assert contents(house) == undisturbed
    times = answered(server)
    assert len(times) == N_QUESTIONS
    assert times.total() - len(times) <= AT_ONCE  # in flight when it was paused
