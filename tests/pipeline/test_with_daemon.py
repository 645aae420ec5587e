"""A real daemon and UI, as `gsum ui` starts them: what begins by itself, and what a person does."""

import json
import os
import signal
import subprocess
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from gsum_assets.answering.workspace import open_workspace
from gsum_assets.dagster_assets.partitions import PARTITION
from gsum_assets.refresh.staleness import Staleness
from gsum_assets.registry.families import METHODS
from tests.conftest import House
from tests.pipeline.homes import WITHOUT_BERTSCORE, furnish, settle, write_lines
from tests.pipeline.served_homes import MARKED_KEY, chats, gsum, house_with_questions, served_by
from tests.servers.scripted import ScriptedServer, scripted_process
from tests.ui.served import eventually, served

pytestmark = pytest.mark.slow

INTERVAL_S = 5
LATENCY_S = 0.4
SETTINGS = f"methods = ['bm25']\n{WITHOUT_BERTSCORE}"
SUCCESS, FAILURE = dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE
_LAUNCHED = (
    "{ __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } }"
)
REEXECUTE = (
    "mutation($params: ReexecutionParams!) "
    f"{{ launchRunReexecution(reexecutionParams: $params) {_LAUNCHED} }}"
)
CANCEL = "mutation($run: String!) { terminateRun(runId: $run) { __typename } }"


@dataclass
class Ui:
    """A home that `gsum ui` serves, with the server of its models."""

    house: House
    instance: dg.DagsterInstance
    server: ScriptedServer
    address: str

    def runs(self, corpus: str) -> list[dg.DagsterRun]:
        """Return the runs of a corpus, the last one first."""
        return list(self.instance.get_runs(dg.RunsFilter(tags={PARTITION: corpus})))

    def await_(self, happened: Callable[[], bool], what: str) -> None:
        eventually(happened, what, self.house.home.dagster / "ui.log")

    def await_runs(self, corpus: str, n: int) -> list[dg.DagsterRun]:
        """Wait until n runs of a corpus have ended, and a while longer for one too many."""

        def have_ended() -> bool:
            runs = self.runs(corpus)
            return len(runs) >= n and all(run.is_finished for run in runs)

        self.await_(have_ended, f"{n} runs of {corpus}")
        self.await_ticks()
        assert len(self.runs(corpus)) == n
        return self.runs(corpus)

    def await_ticks(self, n: int = 3) -> None:
        """Wait until the sensor has looked some times more."""
        (sensor,) = (s for s in self.instance.all_instigator_state() if s.name == "watch_corpora")
        found: set[str] = set()

        def looked() -> bool:
            ticks = self.instance.get_ticks(
                sensor.instigator_origin_id, sensor.selector_id, limit=1
            )
            found.update(str(tick.tick_id) for tick in ticks)
            return len(found) > n

        self.await_(looked, "ticks of the sensor")

    def graphql(self, query: str, **variables: object) -> dict[str, Any]:
        content = json.dumps({"query": query, "variables": variables}).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.address}/graphql", content, headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            (result,) = json.load(answer)["data"].values()
        return result

    def executed_again(self, run: dg.DagsterRun, strategy: str) -> dg.DagsterRun:
        """Let a person press a button of a run; return the new run at its end."""
        params = {"parentRunId": run.run_id, "strategy": strategy}
        run_id = self.graphql(REEXECUTE, params=params)["run"]["runId"]

        def ended() -> dg.DagsterRun | None:
            again = self.instance.get_run_by_id(run_id)
            return again if again and again.is_finished else None

        self.await_(lambda: bool(ended()), f"{strategy} of run {run.run_id}")
        again = ended()
        assert again
        return again

    def new_corpus(self, name: str, n_questions: int = 0) -> Path:
        """Write a corpus of three documents, and two questions if their number is not said."""
        furnish(self.house, name)
        folder = self.house.home.corpora / name
        if n_questions:
            texts = {f"q{i}": f"Who of {name}, {i}?" for i in range(n_questions)}
            rows: list[dict | str] = [{"query_id": i, "text": text} for i, text in texts.items()]
            write_lines(folder / "queries.jsonl", rows)
        (folder / "corpus.toml").write_text(SETTINGS)
        settle(folder)  # before, the files are still being written
        return folder

    def due(self, corpus: str) -> list[str]:
        """Return the steps that are stale with the models of the home."""
        workspace = open_workspace(self.house.home)
        methods = frozenset(METHODS.wanted(self.house.home.corpora, corpus))
        return [step.name for step in Staleness(workspace, corpus, methods).due()]

    def gsum_run(self, corpus: str, *options: str) -> subprocess.Popen[str]:
        return gsum(self.house.home.root, "run", corpus, *options)


def ended(process: subprocess.Popen[str]) -> str:
    output, _ = process.communicate(timeout=600)
    assert process.returncode == 0, output
    return output


@pytest.fixture(scope="module")
def ui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ui]:
    root = tmp_path_factory.mktemp("served")
    with (
        pytest.MonkeyPatch.context() as patch,
        scripted_process(root / "log.jsonl", latency_s=LATENCY_S) as server,
        house_with_questions(root / "home") as house,
    ):
        patch.setenv("MARKED_KEY", MARKED_KEY)
        for file in house.folder.iterdir():
            file.unlink()
        house.folder.rmdir()
        served_by(house, server, {"timeout_s": 120, "max_concurrent": 1})
        with served(house.home.root, INTERVAL_S) as address, house.instance() as instance:
            yield Ui(house, instance, server, address)


def test_new_corpus_and_an_edit_are_one_run_each_and_gsum_run_follows_the_daemon(ui: Ui) -> None:
    folder = ui.new_corpus("first")
    (run,) = ui.await_runs("first", 1)
    assert run.status == SUCCESS
    assert ui.due("first") == []
    (document, *_) = sorted(folder.glob("*.txt"))
    document.write_text("A heron met the lamp. " * 30)
    settle(folder)
    run, _ = ui.await_runs("first", 2)
    assert run.status == SUCCESS
    assert ui.due("first") == []

    output = ended(ui.gsum_run("first", "--methods", "tfidf"))
    assert "executes the run; this command follows it" in output
    assert set(ui.house.table("leaderboard", "first")["method"].to_pylist()) == {"bm25", "tfidf"}
    assert 'methods = ["bm25", "tfidf"]' in (folder / "corpus.toml").read_text()
    submitted = [r for r in ui.runs("first") if "dagster/sensor_name" not in r.tags]
    assert [run.status for run in submitted] == [SUCCESS]
    assert "nothing to do" in ended(ui.gsum_run("first"))


def test_several_commands_and_the_daemon_at_once_pay_nothing_twice(ui: Ui) -> None:
    before = len(chats(ui.server))
    ui.new_corpus("shared", n_questions=4)
    for process in [ui.gsum_run("shared", "--methods", m) for m in ("bm25,tfidf", "bm25,dense")]:
        ended(process)
    ui.await_(lambda: all(r.is_finished for r in ui.runs("shared")), "the end of all runs")
    ui.await_ticks()
    assert {run.status for run in ui.runs("shared")} == {SUCCESS}
    assert ui.due("shared") == []
    times = Counter(line["messages"] for line in chats(ui.server)[before:])
    assert set(times.values()) == {1}


def answering(ui: Ui, corpus: str, n: int) -> dg.DagsterRun:
    """Return a run of a new corpus after some answers to its questions."""
    before = len(chats(ui.server))
    ui.new_corpus(corpus, n_questions=40)
    ui.await_(lambda: len(chats(ui.server)) >= before + n, "answers")
    (run,) = ui.runs(corpus)
    assert not run.is_finished
    return run


def test_canceling_ends_the_spending_until_somebody_asks(ui: Ui) -> None:
    run = answering(ui, "canceled", 3)
    assert ui.graphql(CANCEL, run=run.run_id)["__typename"] == "TerminateRunSuccess"
    ui.await_(lambda: ui.runs("canceled")[0].is_finished, "the end of the canceled run")
    time.sleep(2 * LATENCY_S)  # for what was in flight
    paid = len(chats(ui.server))
    ui.await_ticks(4)
    assert [run.status for run in ui.runs("canceled")] == [dg.DagsterRunStatus.CANCELED]
    assert len(chats(ui.server)) == paid
    ended(ui.gsum_run("canceled"))
    assert ui.house.table("summaries", "canceled").num_rows == 40
    assert ui.due("canceled") == []


def test_failed_run_is_executed_again_from_its_failure_and_as_a_whole(ui: Ui) -> None:
    obstacle = Path(ui.house.store.root, "summaries", "corpus=failing")
    obstacle.parent.mkdir(exist_ok=True)
    obstacle.touch()  # where a folder must be
    ui.new_corpus("failing")
    (run,) = ui.await_runs("failing", 1)
    assert run.status == FAILURE
    obstacle.unlink()
    again = ui.executed_again(run, "FROM_FAILURE")
    assert again.status == SUCCESS
    assert again.step_keys_to_execute
    assert "retrieval__summaries" in again.step_keys_to_execute
    assert "chunks" not in again.step_keys_to_execute
    assert ui.due("failing") == []
    assert ui.executed_again(run, "ALL_STEPS").status == SUCCESS


def test_run_whose_process_is_killed_is_finished_by_another_one(ui: Ui) -> None:
    before = len(chats(ui.server))
    run = answering(ui, "killed", 5)
    os.kill(worker_of(ui.instance, run), signal.SIGKILL)

    def is_finished() -> bool:
        return any(run.status == SUCCESS for run in ui.runs("killed"))

    ui.await_(is_finished, "a run that ends the work of the killed one")
    assert ui.due("killed") == []
    assert ui.house.table("summaries", "killed").num_rows == 40
    times = Counter(line["messages"] for line in chats(ui.server)[before:])
    assert len(times) == 40
    assert times.total() <= 41  # the reply in flight


def worker_of(instance: dg.DagsterInstance, run: dg.DagsterRun) -> int:
    """Return the process that the daemon has started for a run."""
    for entry in instance.all_logs(run.run_id, of_type=dg.DagsterEventType.ENGINE_EVENT):
        if pid := entry.get_dagster_event().engine_event_data.metadata.get("pid"):
            return int(str(pid.value))
    raise AssertionError(f"run {run.run_id} has no process")
