"""One run a corpus at a time, whichever threads, processes and hosts it has."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from gsum_resources.state.locks import locked, locked_by
from gsum_resources.store.parquet_store import ParquetStore
from tests.state.databases import KINDS, new_database

CORPUS = "tales"
ROOT = Path(__file__).parents[2]
PATIENCE_S = 300.0  # against hanging alone: a slow machine is no failure
_HOLD = """
import sys, time
from gsum_resources.state.locks import locked
from gsum_resources.store.parquet_store import ParquetStore
with locked(ParquetStore(sys.argv[2], sys.argv[1]), "tales", sys.argv[3]):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ParquetStore:
    return ParquetStore(str(tmp_path / "warehouse"), new_database(request.param, tmp_path))


def holder(store: ParquetStore, run_id: str) -> subprocess.Popen[str]:
    """Return a process that holds the lock until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD, store.state_url, store.url, run_id],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    assert process.stdout.readline() == "held\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.communicate("\n", timeout=PATIENCE_S)
    assert process.returncode == 0


def test_lock_is_of_a_run_and_a_corpus(store: ParquetStore) -> None:
    assert locked_by(store, CORPUS) == ""
    with locked(store, CORPUS, "one"):
        assert locked_by(store, CORPUS) == "one"
        assert locked_by(store, "others") == ""
        with locked(store, "others", "two"), locked(store, CORPUS, "one"):
            assert locked_by(store, CORPUS) == "one"
        assert locked_by(store, CORPUS) == "one"
    assert locked_by(store, CORPUS) == ""


def test_threads_of_several_runs_take_turns(store: ParquetStore) -> None:
    at_work, most, waits = [], [], []

    def work(run_id: str) -> None:
        for _ in range(3):
            with locked(store, CORPUS, run_id, waits.append):
                at_work.append(run_id)
                most.append(len(set(at_work)))
                time.sleep(0.01)
                at_work.remove(run_id)

    threads = [threading.Thread(target=work, args=(f"run-{i}",)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert len(most) == 9
    assert set(most) == {1}
    assert all("of the same corpus (process" in line for line in waits)


def test_other_run_waits_until_the_last_process_of_a_run_has_ended(store: ParquetStore) -> None:
    first, second = holder(store, "one"), holder(store, "one")
    order: list[str] = []

    def wait() -> None:
        with locked(store, CORPUS, "two", lambda _: order.append("waits")):
            order.append("holds")

    waiting = threading.Thread(target=wait)
    waiting.start()
    while not order:
        time.sleep(0.05)
    end(first)
    time.sleep(1.2)  # two looks of the one that waits
    assert (order, locked_by(store, CORPUS)) == (["waits"], "one")
    end(second)
    waiting.join(PATIENCE_S)
    assert order == ["waits", "holds"]


def test_kill_releases_the_lock(store: ParquetStore) -> None:
    process = holder(store, "one")
    assert locked_by(store, CORPUS) == "one"
    process.kill()
    process.wait()
    began = time.monotonic()
    with locked(store, CORPUS, "two"):
        assert locked_by(store, CORPUS) == "two"
    assert time.monotonic() - began < 60  # and not by a time limit


def test_run_with_the_id_of_one_that_has_ended_holds_it_alone(store: ParquetStore) -> None:
    end(holder(store, "one"))
    with locked(store, CORPUS, "one"):
        process = holder(store, "one")
        end(process)
        assert locked_by(store, CORPUS) == "one"
