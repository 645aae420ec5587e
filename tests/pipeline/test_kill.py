"""`kill -9` in the midst of a run: the same command again finishes, and nothing is torn or lost."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pyarrow.parquet as pq
import pytest

from gsum_resources.memo import Memo
from tests.conftest import House, document_in
from tests.pipeline.homes import contents, house_at, write_lines
from tests.pipeline.stalling_run import METHODS, STEPS, stalled

ROOT = Path(__file__).parents[2]
PATIENCE_S = 120.0  # a busy machine is no failure


def furnish(house: House) -> None:
    """Documents in seven buckets, and questions enough for several batches."""
    documents = [document_in(bucket) for bucket in range(7)]
    for document_id in documents:
        house.write_document(document_id)
    questions = [
        {"query_id": f"q{i}", "text": f"Who met {document_id}?", "document_id": document_id}
        for i, document_id in enumerate(documents[:5])
    ]
    write_lines(house.folder / "queries.jsonl", [{**q, "references": ["A."]} for q in questions])


def command(step: str) -> list[str]:
    return [sys.executable, "-m", "tests.pipeline.stalling_run", step]


def kill_in(home: Path, step: str) -> None:
    """Start the command and end it with SIGKILL once it is in the midst of a step."""
    said = home / f"stderr-{step}"
    with said.open("w") as stderr:
        process = subprocess.Popen(command(step), cwd=ROOT, env=environment(), stderr=stderr)
    try:
        started = time.monotonic()
        while not stalled(home, step).exists():
            assert process.poll() is None, said.read_text()
            assert time.monotonic() - started < PATIENCE_S, f"{step} was not reached"
            time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert process.returncode == -signal.SIGKILL


def environment() -> dict[str, str]:
    """Equal hashes of equal passages in every process, for the log."""
    return {**os.environ, "PYTHONHASHSEED": "0"}


def logged(house: House, name: str) -> list[str]:
    return (house.home.root / name).read_text().splitlines()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    with house_at(tmp_path_factory.mktemp("undisturbed")) as house:
        furnish(house)
        assert house.run(METHODS).errors == []
        return contents(house)


@pytest.fixture(scope="module")
def survivor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[House, list[list[str]]]]:
    """A home whose run was killed three times and then ended; what a reader saw after each kill."""
    with house_at(tmp_path_factory.mktemp("killed")) as house:
        furnish(house)
        seen = []
        for step in STEPS:
            kill_in(house.home.root, step)
            seen.append(files(house))
        again = command(STEPS[-1])
        subprocess.run(again, cwd=ROOT, env=environment(), check=True, timeout=PATIENCE_S)
        yield house, seen


def files(house: House) -> list[str]:
    """Every file that a glob of the store names; each is whole, for its rows can be read."""
    patterns = ["**/data.parquet", "_memo/**/*.parquet", "llm_calls/**/*.parquet"]
    found = [path for p in patterns for path in house.store.fs.glob(f"{house.store.root}/{p}")]
    for path in found:
        pq.ParquetFile(path).read()
    return found


def test_each_kill_found_the_run_in_the_midst_of_its_step(survivor) -> None:
    _, (in_chunks, in_embeddings, in_summaries) = survivor
    assert [sum("/chunks/" in path for path in in_chunks)] == [1]
    assert sum("/chunks/" in path for path in in_embeddings) == 8
    assert not [path for path in in_embeddings if "/chunk_embeddings/" in path]
    assert [path for path in in_embeddings if "/_memo/embeddings/" in path]
    assert [path for path in in_summaries if "/chunk_embeddings/" in path]
    assert not [path for path in in_summaries if "/leaderboard/" in path]
    assert [path for path in in_summaries if "/_memo/completions/" in path]


def test_no_half_written_file_is_seen(survivor) -> None:
    house, seen = survivor
    assert list(Path(house.store.root).rglob("*.part")), "no kill met a file between the two names"
    for found in [*seen, files(house)]:
        assert not [path for path in found if not path.endswith(".parquet")]
    import duckdb

    with duckdb.connect(str(house.home.catalogue), read_only=True) as connection:
        (n_files,) = connection.sql("select count(distinct file) from provenance").fetchall()[0]
        assert n_files == len(list(Path(house.store.root).rglob("data.parquet")))


def test_every_table_equals_that_of_an_undisturbed_home(survivor, undisturbed) -> None:
    house, _ = survivor
    assert contents(house) == undisturbed


def test_what_was_saved_before_a_kill_is_not_computed_again(survivor) -> None:
    house, _ = survivor
    for log in ("embedded.log", "asked.log"):
        times = Counter(logged(house, log))
        assert len(times) > 2
        assert set(times.values()) == {1}, log


def test_killed_runs_are_marked_as_failed(survivor) -> None:
    house, _ = survivor
    with house.instance() as instance:
        statuses = Counter(run.status for run in instance.get_runs())
    assert statuses.pop(dg.DagsterRunStatus.FAILURE) == len(STEPS)
    assert set(statuses) == {dg.DagsterRunStatus.SUCCESS}


def test_a_memo_opens_in_the_midst_of_another_process_writing(survivor) -> None:
    house, _ = survivor
    memo = Memo(house.store, "embeddings", house.embedder.identity)
    assert memo.get([b"\0" * 16]) == {}
