"""`kill -9` in the midst of a run: the same command again finishes, and nothing is torn or lost."""

import os
import random
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
import duckdb
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from gsum_assets.corpus.load import N_BUCKETS
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.catalogue import define_views
from tests.conftest import CORPUS, House, document_in
from tests.pipeline.homes import WITHOUT_BERTSCORE, contents, house_at, write_lines
from tests.pipeline.served_homes import MARKED_KEY, chats, house_with_questions, run, served_by
from tests.pipeline.stalling_run import N_ANSWERED, kill_in, run_again
from tests.servers.scripted import ScriptedServer, scripted_process

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("only_tables")]
STEPS = ("chunks", "chunk_embeddings", "summaries")
METHODS = ["dense"]
N_DOCUMENTS = 7
Visible = tuple[dict[str, int], dict[str, int]]
Survivor = tuple[House, list[Visible]]


def furnish(house: House) -> None:
    """Documents in seven buckets, and questions enough for several batches."""
    documents = [document_in(bucket) for bucket in range(N_DOCUMENTS)]
    for document_id in documents:
        house.write_document(document_id)
    questions = [
        {"query_id": f"q{i}", "text": f"Who met {document_id}?", "document_id": document_id}
        for i, document_id in enumerate(documents[:5])
    ]
    write_lines(house.folder / "queries.jsonl", [{**q, "references": ["A."]} for q in questions])
    (house.folder / "corpus.toml").write_text(WITHOUT_BERTSCORE)  # each process would load a model


def logged(house: House, name: str) -> list[str]:
    return (house.home.root / name).read_text().splitlines()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    with house_at(tmp_path_factory.mktemp("undisturbed")) as house:
        furnish(house)
        assert house.run(METHODS).errors == []
        return contents(house)


@pytest.fixture(scope="module")
def survivor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Survivor]:
    """A home whose run was killed in each step, then ended; what was visible each time."""
    with house_at(tmp_path_factory.mktemp("killed")) as house:
        furnish(house)
        seen = []
        for step in STEPS:
            kill_in(house.home.root, step, METHODS)
            seen.append(visible(house))
        run_again(STEPS[-1], METHODS)
        yield house, [*seen, visible(house)]


def visible(house: House) -> Visible:
    """Files in the store by table or memo, each read whole, and rows by view."""
    n_files: Counter[tuple[str, ...]] = Counter()
    for path in Path(house.store.root).rglob("*.parquet"):
        pq.ParquetFile(path).read()
        n_files[path.relative_to(house.store.root).parts[: 2 if "_memo" in path.parts else 1]] += 1
    with duckdb.connect() as connection:
        define_views(connection, house.store, TABLES.values())
        n_rows = {
            name: connection.sql(f"select count(columns(*)) from {quoted(name)}").fetchall()[0][0]
            for name in TABLES
        }
    return {"/".join(parts): n for parts, n in n_files.items()}, n_rows


def quoted(name: str) -> str:
    """A table's view: `"gor"."record_edges"` of the table `gor.record_edges`."""
    return ".".join(f'"{part}"' for part in name.split("."))


def test_each_kill_hits_the_middle_of_its_step_and_no_partial_file_is_seen(
    survivor: Survivor,
) -> None:
    house, (in_chunks, in_embeddings, in_summaries, at_the_end) = survivor
    assert in_chunks[0]["chunks"] == 1
    assert "_memo/embeddings" not in in_chunks[0]
    assert in_embeddings[0]["chunks"] > 1
    assert in_embeddings[0]["_memo/embeddings"] in (1, 2)  # two texts, of one shard or of two
    assert "chunk_embeddings" not in in_embeddings[0]
    assert in_summaries[0]["chunk_embeddings"] == N_BUCKETS
    assert "summaries" not in in_summaries[0]
    partial = [file for file in Path(house.store.root).rglob("*") if file.suffix == ".part"]
    assert partial, "no kill met a file between writing and renaming"
    assert in_chunks[1]["documents"] == N_DOCUMENTS
    assert 0 <= in_chunks[1]["chunks"] < at_the_end[1]["chunks"]


def test_home_equals_an_undisturbed_one_and_killed_runs_have_failed(
    survivor: Survivor, undisturbed: dict
) -> None:
    house, _ = survivor
    assert contents(house) == undisturbed
    with dg.DagsterInstance.from_config(str(house.home.dagster)) as instance:
        statuses = Counter(run.status for run in instance.get_runs())
    assert statuses.pop(dg.DagsterRunStatus.FAILURE) == len(STEPS)
    assert set(statuses) == {dg.DagsterRunStatus.SUCCESS}


def test_work_before_a_kill_is_recorded_and_not_repeated(survivor: Survivor) -> None:
    house, (*_, in_summaries, _) = survivor
    for log in ("embedded.log", "asked.log"):
        times = Counter(logged(house, log))
        assert len(times) > 2
        assert set(times.values()) == {1}, log
    assert in_summaries[1]["llm_calls"] == 0  # three replies are in the database alone
    rows = ds.dataset(f"{house.store.root}/llm_calls").to_table().to_pylist()
    called = Counter(row["prompt_hash"] for row in rows if not row["cached"])
    assert set(called.values()) == {1}
    assert called.total() == len(logged(house, "asked.log")) > N_ANSWERED
    recalled = {row["prompt_hash"] for row in rows if row["cached"]}
    assert len(recalled) >= N_ANSWERED
    assert recalled <= called.keys()


# `gsum run` at random moments.

N_KILLS = 5
MOST_STEPS = 12  # files and replies until a kill
AT_ONCE = 4  # requests in flight


@contextmanager
def served_house(root: Path) -> Iterator[tuple[House, ScriptedServer]]:
    with (
        scripted_process(root / "log.jsonl", latency_s=0.05) as server,
        house_with_questions(root / "home") as house,
    ):
        served_by(house, server, {"timeout_s": 120, "max_concurrent": AT_ONCE})
        yield house, server


def progress(house: House, server: ScriptedServer) -> int:
    return len(server.lines()) + sum(1 for _ in Path(house.store.root).rglob("*.parquet"))


def test_run_that_is_killed_at_random_moments_ends_as_an_undisturbed_one(tmp_path: Path) -> None:
    (tmp_path / "calm").mkdir()
    with served_house(tmp_path / "calm") as (house, server):
        assert run(house, "bm25,dense").exit_code == 0
        expected, paid = contents(house), Counter(line["messages"] for line in chats(server))
        assert set(paid.values()) == {1}
    chance, killed = random.Random(1), []
    (tmp_path / "killed").mkdir()
    with served_house(tmp_path / "killed") as (house, server):
        for _ in range(N_KILLS):
            process, until = gsum_run(house), progress(house, server)
            until += chance.randint(1, MOST_STEPS)
            while process.poll() is None and progress(house, server) < until:
                time.sleep(0.01)
            time.sleep(chance.uniform(0, 0.3))
            killed.append(time.time())
            process.kill()
            process.communicate()
        output, _ = (last := gsum_run(house)).communicate()
        assert last.returncode == 0, output
        assert contents(house) == expected
        answered = defaultdict(list)
        for line in chats(server):
            answered[line["messages"]].append(line["answered"])
        assert answered.keys() == paid.keys()
        for first, *again in map(sorted, answered.values()):
            # a reply that left in the moment of a kill may not have arrived
            assert not again or any(first - at > -1 for at in killed)
        assert sum(map(len, answered.values())) - len(paid) <= N_KILLS * 2 * AT_ONCE
        with house.instance() as instance:
            statuses = Counter(run.status for run in instance.get_runs())
            slots = instance.event_log_storage
            assert not any(slots.get_concurrency_info(p).active_slot_count for p in POOLS)
        assert statuses.keys() <= {dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.SUCCESS}


def gsum_run(house: House) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(Path(sys.executable).with_name("gsum")), "run", CORPUS, "--methods", "bm25,dense"],
        env={**os.environ, "GSUM_HOME": str(house.home.root), "MARKED_KEY": MARKED_KEY},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


POOLS = ("llm", "compute")
