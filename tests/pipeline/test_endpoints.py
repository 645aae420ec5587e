"""A whole run against real HTTP servers: faults, kills, refused keys, texts that always fail."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import duckdb
import pytest
import sqlalchemy as sa

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.runner.run import pipeline_for, refresh
from gsum_resources.state.database import CALLS, state_of
from gsum_resources.store.catalogue import define_views
from tests.conftest import CORPUS, House
from tests.pipeline.homes import WITHOUT_BERTSCORE, copy_of
from tests.pipeline.served_homes import (
    MARKED_KEY,
    N_QUESTIONS,
    chats,
    house_with_questions,
    run,
    served_by,
)
from tests.servers.scripted import ScriptedServer, scripted_process

pytestmark = pytest.mark.slow

PATIENCE_S = 900.0  # a slow machine is no failure
LATENCY_S = 0.4


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """A home without tables."""
    with house_with_questions(tmp_path / "home") as house:
        yield house


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> House:
    """Out of any test's environment: to be used through `indexed`."""
    root = tmp_path_factory.mktemp("embedded")
    with (
        house_with_questions(root / "home") as house,
        scripted_process(root / "log.jsonl") as server,
        pytest.MonkeyPatch.context() as patch,
    ):
        served_by(house, server)
        patch.setenv("MARKED_KEY", MARKED_KEY)
        settings = house.folder / "corpus.toml"
        settings.write_text(f"methods = []\n{settings.read_text()}")
        with house.instance() as instance:
            assert refresh(pipeline_for(house.home, presented=False), instance, CORPUS).is_complete
        assert chats(server) == []
    return house


@pytest.fixture
def indexed(embedded: House, tmp_path: Path) -> Iterator[House]:
    """A home with passages and vectors, before the first question."""
    with copy_of(embedded, tmp_path / "home") as copy:
        yield copy


def start_run(house: House) -> subprocess.Popen:
    """`gsum run` in a process of its own."""
    gsum = str(Path(sys.executable).with_name("gsum"))
    return subprocess.Popen(
        [gsum, "run", house.folder.name, "--methods", "bm25"],
        env={**os.environ, "MARKED_KEY": MARKED_KEY, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
    )


def llm_calls(house: House) -> list[dict]:
    with duckdb.connect() as connection:
        define_views(connection, house.store, TABLES.values())
        return connection.sql("from llm_calls").to_arrow_table().to_pylist()


def n_stored_replies(house: House) -> int:
    with state_of(house.store).reading() as connection:
        return connection.execute(
            sa.select(sa.func.count()).where(CALLS.c.error.is_(None), ~CALLS.c.cached)
        ).scalar_one()


def answered(server: ScriptedServer) -> list[str]:
    """The requests with a reply; a request may occur twice."""
    return [line["messages"] for line in chats(server) if line["status"] == 200]


def settle(server: ScriptedServer) -> None:
    """Wait until the server has logged the requests that were in flight."""
    n = -1
    while n != (n := len(chats(server))):
        time.sleep(2 * LATENCY_S)


def test_replies_before_a_kill_are_not_requested_again(indexed: House, tmp_path: Path) -> None:
    with scripted_process(tmp_path / "log.jsonl", latency_s=LATENCY_S) as server:
        served_by(indexed, server, max_concurrent=2)
        process = start_run(indexed)
        started = time.monotonic()
        while len(chats(server)) < 7:
            assert process.poll() is None
            assert time.monotonic() - started < PATIENCE_S
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        stored = n_stored_replies(indexed)
        assert 0 < stored < N_QUESTIONS
        settle(server)
        n_before = len(answered(server))
        assert run(indexed).exit_code == 0
        # only replies that were in flight at the kill, and so not stored, are requested again
        assert len(answered(server)) - n_before == N_QUESTIONS - stored
    assert len(set(answered(server))) == N_QUESTIONS
    calls = llm_calls(indexed)
    paid = [call["prompt_hash"] for call in calls if not call["cached"]]
    assert len(set(paid)) == N_QUESTIONS
    assert indexed.table("summaries").num_rows == N_QUESTIONS


def test_failing_text_costs_only_its_row(indexed: House, tmp_path: Path) -> None:
    with scripted_process(tmp_path / "log.jsonl", always_fail="boat, 7?") as server:
        served_by(indexed, server, max_retries=1)
        said = run(indexed)
        assert said.exit_code == 1
        output = " ".join(said.output.split())
        assert "1 request" in output
        assert "Traceback" not in output
        answered = set(indexed.table("summaries")["query_id"].to_pylist())
        assert answered == {f"q{i:02d}" for i in range(N_QUESTIONS)} - {"q07"}
        assert indexed.table("scores").num_rows > 0
        assert failed_checks(indexed) >= {"every_question_answered", "requests_answered"}
        n_before = len(chats(server))
        assert run(indexed).exit_code == 1  # only this one is requested again
        assert len(chats(server)) - n_before == 2
    with scripted_process(tmp_path / "mended.jsonl") as server:
        served_by(indexed, server)
        assert run(indexed).exit_code == 0
        assert len(chats(server)) == 1
    assert indexed.table("summaries").num_rows == N_QUESTIONS
    errors = [call for call in llm_calls(indexed) if call["error"]]
    assert len(errors) == 2
    assert failed_checks(indexed) == set()


def failed_checks(house: House) -> set[str]:
    """Names of the checks whose latest evaluation failed."""
    latest: dict[tuple, bool] = {}
    with house.instance() as instance:
        records = instance.get_event_records(
            dg.EventRecordsFilter(dg.DagsterEventType.ASSET_CHECK_EVALUATION), ascending=True
        )
    for record in records:
        evaluation = record.event_log_entry.dagster_event.asset_check_evaluation_data
        latest[evaluation.asset_key, evaluation.check_name] = evaluation.passed
    return {name for (_, name), passed in latest.items() if not passed}


@pytest.mark.parametrize("key", ["", "sk-wrong-" + MARKED_KEY])
def test_missing_or_wrong_key_raises_before_any_work(
    house: House, tmp_path: Path, capfd: pytest.CaptureFixture[str], key: str
) -> None:
    with scripted_process(tmp_path / "log.jsonl", key=MARKED_KEY) as server:
        served_by(house, server)
        said = run(house, key=key)
        assert said.exit_code == 1
        output = said.output + "".join(capfd.readouterr())
        assert "MARKED_KEY" in output
        assert "Traceback" not in output
        assert MARKED_KEY not in output
        assert {line["path"] for line in server.lines()} <= {"/models"}
    assert not list(Path(house.store.root).rglob("chunks/**/data.parquet"))
    assert [path for path in house.home.root.rglob("*") if holds_key(path)] == []


def holds_key(path: Path) -> bool:
    return path.is_file() and MARKED_KEY.encode() in path.read_bytes()


def test_key_is_nowhere_in_the_home(
    house: House, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    faults = {"429": 4, "500": 5}
    log = tmp_path / "log.jsonl"
    with scripted_process(log, key=MARKED_KEY, every=faults, retry_after="0.1") as server:
        served_by(house, server)
        said = run(house)
        assert said.exit_code == 0, said.output
        assert house.table("summaries").num_rows == N_QUESTIONS
    with scripted_process(log, key="another-key-altogether") as server:  # echoes ours back
        served_by(house, server)
        (house.folder / "corpus.toml").write_text(f"[answer]\nmax_words = 60\n{WITHOUT_BERTSCORE}")
        refused = run(house)
        assert refused.exit_code == 1
    everything = said.output + refused.output + "".join(capfd.readouterr())
    assert MARKED_KEY not in everything
    assert "Traceback" not in everything
    assert [path for path in house.home.root.rglob("*") if holds_key(path)] == []


def test_key_revoked_during_a_run_ends_it_with_one_message(indexed: House, tmp_path: Path) -> None:
    with scripted_process(tmp_path / "log.jsonl", first=("ok",) * 9 + ("401",) * 90) as server:
        served_by(indexed, server, max_concurrent=1)
        said = run(indexed)
        assert said.exit_code == 1
        output = " ".join(said.output.split())
        assert output.count("refuses the key in environment variable MARKED_KEY") == 1
        kept = [line for line in chats(server) if line["status"] == 200]
        assert 0 < len(kept) < N_QUESTIONS
    with scripted_process(tmp_path / "again.jsonl") as server:
        served_by(indexed, server)
        assert run(indexed).exit_code == 0
        assert len(chats(server)) == N_QUESTIONS - len(kept)
