"""Several processes at work on one corpus at once: both are right, and nothing is torn or left."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
import duckdb
import pyarrow.parquet as pq
import pytest

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.runner.report import NoEvents, StepReport
from gsum_assets.runner.run import pipeline_for, refresh
from tests.checks.indexed import evaluations
from tests.conftest import CORPUS, House, document_in, keep_no_step_logs
from tests.pipeline.homes import BAD, GOOD, contents, furnish, house_at
from tests.pipeline.served_homes import MARKED_KEY, gsum, served_by
from tests.servers.scripted import ScriptedServer, scripted_server

pytestmark = pytest.mark.slow


@contextmanager
def served_house(root: Path) -> Iterator[tuple[House, ScriptedServer]]:
    """Three documents and two questions, and a server of models."""
    root.mkdir()
    with scripted_server(root / "asked.jsonl") as server, house_at(root / "home") as house:
        furnish(house)
        served_by(house, server, {"timeout_s": 120})
        keep_no_step_logs(house.home)
        yield house, server


def test_two_runs_at_once_are_both_right_and_pay_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They start at the same moment; `test_with_daemon.py` has a daemon beside them."""
    monkeypatch.setenv("MARKED_KEY", MARKED_KEY)
    with served_house(tmp_path / "undisturbed") as (house, _), house.instance() as instance:
        pipeline = pipeline_for(house.home, presented=False)
        assert refresh(pipeline, instance, CORPUS, ["bm25", "dense"]).is_complete
        expected = contents(house)
    with served_house(tmp_path / "shared") as (house, server):
        home, methods = house.home.root, ("bm25", "bm25,dense")
        runs = [gsum(home, "run", CORPUS, "--methods", some) for some in methods]
        said = [run.communicate()[0] for run in runs]
        assert [run.returncode for run in runs] == [0, 0], "\n".join(said)
        assert contents(house) == expected
        assert_home_is_whole(house)
        prompts = Counter(line["messages"] for line in server.lines("/chat/completions"))
        assert len(prompts) > 1
        assert set(prompts.values()) == {1}


CHECKS = {
    ("documents", "one_version_each"),
    ("generated_questions", "requests_answered"),
    ("judgements", "no_position_bias"),
    ("judgements", "requests_answered"),
    ("rejected_documents", "none_rejected"),
    ("retrieval/answer_sources", "citations_support"),
    ("retrieval/answer_sources", "requests_answered"),
    ("retrieval/summaries", "every_question_answered"),
    ("retrieval/summaries", "requests_answered"),
    ("retrieval/summaries", "speakers_are_right"),
    ("win_rates", "requests_answered"),
}


def assert_home_is_whole(house: House) -> None:
    """Every file can be read, the catalogue has every table, and no run or slot is left."""
    for file in Path(house.store.root).rglob("*.parquet"):
        pq.ParquetFile(file).read()
    assert [f for f in house.home.root.rglob("*") if f.suffix == ".part"] == []
    with duckdb.connect(str(house.home.catalogue), read_only=True) as connection:
        for name, table in TABLES.items():
            if house.store.partitions(table):
                (counted,) = connection.sql(f"select count(*) from {name}").fetchall()
                assert counted == (house.table(name).num_rows,), name
    with house.instance() as instance:
        assert {run.status for run in instance.get_runs()} == {dg.DagsterRunStatus.SUCCESS}
        assert instance.event_log_storage.get_concurrency_run_ids() == set()
        checks = evaluations(instance)
    assert {(e.asset_key.to_user_string(), e.check_name) for e in checks} >= CHECKS
    assert [(e.asset_key, e.check_name, e.description) for e in checks if not e.passed] == []


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
