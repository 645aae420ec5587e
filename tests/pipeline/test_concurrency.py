"""Several processes at work on one corpus at once: both are right, and nothing is torn or left."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import duckdb
import pyarrow.parquet as pq
import pytest
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecord
from dagster._core.storage.asset_check_execution_record import (
    AssetCheckExecutionRecordStatus as Status,
)

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.runner.report import NoEvents, StepReport
from gsum_assets.runner.run import Pipeline, pipeline_for, refresh
from tests.conftest import CORPUS, House, document_in, keep_no_step_logs
from tests.pipeline.homes import BAD, GOOD, contents, furnish, house_at
from tests.servers.scripted import ScriptedServer, scripted_server

pytestmark = pytest.mark.slow

MODELS = "backend = 'openai_compatible'\nmodel = 'scripted'\napi_key_env = ''\nbase_url = '{}'\n"


@dataclass
class Served:
    """A home, to be entered by `house_at`, with its pipeline and the server of its models."""

    root: Path
    pipeline: Pipeline
    server: ScriptedServer


@dataclass
class Trial:
    """A home at which processes were at work at once.

    `codes` and `said`: how each exited, and what it printed.
    """

    home: Served
    codes: list[int]
    said: list[str]


@contextmanager
def served_home(root: Path, presented: bool = True) -> Iterator[Served]:
    """Three documents and two questions, and a server of models."""
    with scripted_server(root / "asked.jsonl") as server:
        with house_at(root / "home") as house:
            furnish(house)
            models = MODELS.format(server.base_url)
            (house.home.root / "gsum.toml").write_text(f"[llm]\n{models}[embedding]\n{models}")
            keep_no_step_logs(house.home)
            served = Served(house.home.root, pipeline_for(house.home, presented=presented), server)
        yield served


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The tables of a home that one process wrote from the same documents."""
    with (
        served_home(tmp_path_factory.mktemp("undisturbed"), presented=False) as home,
        house_at(home.root) as house,
        house.instance() as instance,
    ):
        assert refresh(home.pipeline, instance, CORPUS, ["bm25", "dense"]).is_complete
        return contents(house)


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    """Two `gsum run` start at the same moment; `test_with_daemon.py` has one beside them."""
    with served_home(tmp_path_factory.mktemp("shared")) as home:
        with house_at(home.root) as house:
            runs = [gsum_run(house, methods) for methods in ("bm25", "bm25,dense")]
            said = [run.communicate()[0] for run in runs]
        yield Trial(home, [run.returncode for run in runs], said)


def gsum_run(house: House, *methods: str) -> subprocess.Popen[str]:
    """`gsum run` in a process of its own."""
    gsum = str(Path(sys.executable).with_name("gsum"))
    options = ["--methods", ",".join(methods)] if methods else []
    folders = {"GSUM_HOME": house.home.root, "DAGSTER_HOME": house.home.dagster}
    return subprocess.Popen(
        [gsum, "run", CORPUS, *options],
        env=os.environ | {name: str(folder) for name, folder in folders.items()},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.fixture
def house(trial: Trial) -> Iterator[House]:
    with house_at(trial.home.root) as entered:
        yield entered


def test_every_table_equals_that_of_an_undisturbed_home(
    trial: Trial, house: House, undisturbed: dict[str, str]
) -> None:
    assert trial.codes == [0, 0], "\n".join(trial.said)
    assert contents(house) == undisturbed


def test_every_file_is_complete_and_none_is_left_over(house: House) -> None:
    files = list(Path(house.store.root).rglob("*.parquet"))
    assert sum(pq.ParquetFile(file).read().num_rows for file in files)
    left = [f for f in house.home.root.rglob("*") if f.suffix == ".part"]
    assert left == []


def test_catalogue_has_every_table(house: House) -> None:
    with duckdb.connect(str(house.home.catalogue), read_only=True) as connection:
        for name, table in TABLES.items():
            if house.store.partitions(table):
                (counted,) = connection.sql(f"select count(*) from {name}").fetchall()
                assert counted == (house.table(name).num_rows,), name


def test_no_run_and_no_pool_slot_is_left(house: House) -> None:
    with house.instance() as instance:
        assert {run.status for run in instance.get_runs()} == {dg.DagsterRunStatus.SUCCESS}
        assert instance.event_log_storage.get_concurrency_run_ids() == set()


def test_every_check_passed(trial: Trial, house: House) -> None:
    keys = trial.home.pipeline.definitions.resolve_asset_graph().asset_check_keys
    with house.instance() as instance:
        found = instance.event_log_storage.get_asset_check_summary_records(list(keys)).values()
        last = [one.last_check_execution_record for one in found if one.last_check_execution_record]
    assert len(last) > 50
    failed = {one.key: _described(one) for one in last if one.status != Status.SUCCEEDED}
    assert failed == {}


def _described(record: AssetCheckExecutionRecord) -> str:
    """Return the message of a check and its run."""
    evaluation = record.evaluation
    return f"{evaluation.description if evaluation else record.status} ({record.run_id})"


def test_no_prompt_is_paid_for_twice(trial: Trial) -> None:
    options = Counter(line["messages"] for line in trial.home.server.lines("/chat/completions"))
    assert len(options) > 1
    assert set(options.values()) == {1}


def test_files_may_change_during_a_run(changeable: House) -> None:
    """Edited and restored between the observation of the folder and the reading of documents."""
    new, old = document_in(5), (changeable.folder / f"{GOOD}.txt").read_text()

    class Editor(NoEvents):
        n_changes = 0

        def step(self, asset: str) -> None:
            if asset == "documents" and not self.n_changes:
                self.n_changes += 1
                changeable.write_document(GOOD, "A heron met the lamp. " * 30)
                changeable.write_document(new, "A clerk met the river. " * 30)

        def ended(self, step: StepReport) -> None:
            if step.name == "documents":
                changeable.write_document(GOOD, old)

    changeable.write_document(BAD, "A mirror met the coin. " * 30)
    with changeable.instance() as instance:
        refresh(changeable.pipeline(), instance, CORPUS, events=Editor())
    assert changeable.run().is_complete
    documents = changeable.table("documents").to_pylist()
    present = {f.stem: f.read_text().rstrip() for f in changeable.folder.glob("*.txt")}
    assert {row["document_id"]: row["text"] for row in documents} == present
    assert new in present
    assert changeable.run().steps == []
