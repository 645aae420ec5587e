"""The Dagster UI and daemon for real: what is dropped into a folder reaches the leaderboard."""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from typing import Any

import dagster as dg
import duckdb
import pytest

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.runner.run import pipeline_for, refresh
from gsum_resources.settings.home import Home
from gsum_resources.store.catalogue import define_views
from tests.conftest import CORPUS, House, document_in
from tests.pipeline.homes import WITHOUT_BERTSCORE, house_at, write_lines
from tests.servers.scripted import scripted_process
from tests.ui.served import eventually, served

pytestmark = pytest.mark.slow

FIRST, NEW, WRITTEN, BAD = (document_in(bucket) for bucket in (0, 4, 5, 6))  # one range of buckets
SETTINGS = f"methods = ['bm25']\n{WITHOUT_BERTSCORE}"
WRONG = SETTINGS.replace("'bm25'", "'bm25', 'gor'") + "[gor]\nwrong = 1\n"
MODELS = "backend = 'openai_compatible'\nmodel = 'scripted'\napi_key_env = ''\nbase_url = '{}'\n"
WRITER = """
import pathlib, sys, time
target, end = map(pathlib.Path, sys.argv[1:])
with target.open("a") as file:
    while not end.exists():
        file.write("A ferry passed. ")
        file.flush()
        time.sleep(0.3)
    file.write("The last ferry passed.")
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A document of one sentence, a leaderboard, and a run that failed."""
    root = tmp_path_factory.mktemp("ui")
    with house_at(root) as house, scripted_process(root / "asked.jsonl") as server:
        # a server of models: the real ones would be loaded in the process of every run
        models = MODELS.format(server.base_url)
        (root / "gsum.toml").write_text(f"[llm]\n{models}[embedding]\n{models}")
        house.write_document(FIRST, "The boat met the lamp.")
        question = {"query_id": "q1", "text": "Which heron met the boat?", "references": ["It."]}
        write_lines(house.folder / "queries.jsonl", [question | {"relevant_document_ids": [FIRST]}])
        settings = house.folder / "corpus.toml"
        settings.write_text(WRONG)
        with house.instance() as instance:
            errors = refresh(pipeline_for(house.home), instance, CORPUS).errors
            settings.write_text(SETTINGS)
            assert refresh(pipeline_for(house.home), instance, CORPUS).is_complete
        assert errors
        assert all("unknown key 'wrong'" in error for error in errors)
        yield house


@pytest.fixture(scope="module")
def address(house: House) -> Iterator[str]:
    with served(house.home.root) as address:
        yield address


@pytest.fixture(scope="module")
def page(browser: Any, address: str) -> Iterator[Any]:
    opened = browser.new_page(viewport={"width": 1500, "height": 1000})
    opened.set_default_timeout(60_000)
    yield opened
    opened.close()


def rows(house: House, query: str) -> list[tuple]:
    with duckdb.connect() as connection:
        define_views(connection, house.store, TABLES.values())
        return connection.sql(query).fetchall()


def mrr(house: House) -> list[float]:
    """On the leaderboard, of all questions."""
    wanted = {"metric": "mrr", "split": "all", "kind": "general"}
    board = house.table("leaderboard").to_pylist()
    return [row["mean"] for row in board if all(row[k] == v for k, v in wanted.items())]


def is_waited_for(home: Home) -> bool:
    """Whether the sensor said that it leaves the folder alone, since its files are written."""
    with dg.DagsterInstance.from_config(str(home.dagster)) as instance:
        return any(
            "still being written" in (tick.tick_data.skip_reason or "")
            for state in instance.all_instigator_state()
            if state.instigator_name == "watch_corpora"
            for tick in instance.get_ticks(state.instigator_origin_id, state.selector_id, limit=20)
        )


def test_dropped_files_are_read_once_complete(house: House, address: str) -> None:
    """A good one, a bad one, and one that a process keeps writing for some time."""
    assert mrr(house) == [1.0]
    log, written = house.home.dagster / "ui.log", house.folder / f"{WRITTEN}.txt"
    end = house.home.root / "end"
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(written), str(end)])
    try:
        house.write_document(NEW, "A heron met the boat, the heron of noon.")
        (house.folder / f"{BAD}.txt").write_bytes(b"caf\xe9\0\1\2 by the river")
        eventually(lambda: is_waited_for(house.home), "the file seen while it is written", log)
        assert len(rows(house, "select * from documents")) == 1
    finally:
        end.touch()
        writer.wait(60)
    eventually(lambda: mrr(house) == [0.5], "a leaderboard that knows the dropped document", log)
    texts = dict(rows(house, "select document_id, text from documents"))
    assert texts.keys() == {FIRST, NEW, WRITTEN}
    assert texts[WRITTEN] == written.read_text()
    assert texts[WRITTEN].endswith("The last ferry passed.")
    rejected = rows(house, "select document_id, reason from rejected_documents")
    assert [document for document, _ in rejected] == [BAD]
    assert "binary or damaged, no text" in rejected[0][1]


def test_rejected_file_fails_its_check(house: House) -> None:
    key = dg.AssetCheckKey(dg.AssetKey("rejected_documents"), "none_rejected")
    with dg.DagsterInstance.from_config(str(house.home.dagster)) as instance:
        summary = instance.event_log_storage.get_asset_check_summary_records([key])[key]
    found = summary.last_check_execution_record
    assert found and found.event and found.event.dagster_event  # noqa: PT018
    evaluation = found.event.dagster_event.asset_check_evaluation_data
    assert not evaluation.passed
    assert f"{BAD}.txt" in (evaluation.description or "")


def test_page_of_a_failing_check_names_the_file(page: Any, address: str) -> None:
    page.goto(f"{address}/assets/rejected_documents?view=checks&checkDetail=none_rejected")
    page.get_by_text(f"{BAD}.txt").first.wait_for()


def test_asset_graph_shows_the_groups(page: Any, address: str) -> None:
    page.goto(f"{address}/asset-groups")
    for group in ("corpus", "retrieval", "evaluation", "models"):
        page.get_by_text(group, exact=True).first.wait_for()


@pytest.mark.parametrize(
    ("asset", "shown"),
    [
        ("chunks", ["One row per passage of a document", "first character in the document's text"]),
        ("leaderboard", ["One row per method", "upper end of the mean's 95% interval"]),
    ],
)
def test_asset_page_shows_meaning_schema_and_table(
    page: Any, address: str, asset: str, shown: list[str]
) -> None:
    page.goto(f"{address}/assets/{asset}")
    for text in shown:
        page.get_by_text(text).first.wait_for()
    if asset == "leaderboard":
        page.get_by_text("Show Markdown").first.click()
        page.locator("table").get_by_text("bm25").first.wait_for()


def asked(address: str, query: str, **variables: Any) -> dict:
    """Return what the UI's GraphQL answers."""
    content = json.dumps({"query": query, "variables": variables}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{address}/graphql", content, headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["data"]


STALE = """query($key: [AssetKeyInput!], $of: String) {
    assetNodes(assetKeys: $key) {
        staleStatus(partition: $of)
        staleCauses(partition: $of) { reason }
    }
}"""
LAST = """{ runsOrError(limit: 1) { ... on Runs {
    results { runId status jobName repositoryOrigin { repositoryLocationName } }
} } }"""


def test_nothing_is_stale_after_a_run(address: str) -> None:
    for asset in ("documents", "chunk_embeddings", "retrieval/summaries", "retrieval/scores"):
        found = asked(address, STALE, key=[{"path": asset.split("/")}], of=CORPUS)
        assert found["assetNodes"] == [{"staleStatus": "FRESH", "staleCauses": []}], asset


def last_run(address: str) -> dict:
    (run,) = asked(address, LAST)["runsOrError"]["results"]
    return run


def test_corpus_is_indexed_from_the_page_of_the_job(house: House, page: Any, address: str) -> None:
    before = last_run(address)["runId"]
    page.goto(f"{address}/locations/gsum/jobs/index")
    page.get_by_role("button", name="Materialize all").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Select a partition or create one").click()
    page.get_by_text(CORPUS, exact=True).locator("visible=true").last.click()
    page.keyboard.press("Escape")
    dialog.get_by_role("button", name="Launch").last.click()
    log = house.home.dagster / "ui.log"
    eventually(lambda: last_run(address)["runId"] != before, "a run", log)


def test_failed_run_of_the_command_line_names_the_reason_and_is_executed_again(
    house: House, page: Any, address: str
) -> None:
    with house.instance() as instance:
        runs = instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.FAILURE]))
        run = next(run for run in runs if "gsum/command" in run.tags)
    page.goto(f"{address}/runs/{run.run_id}?logs=type%3ASTEP_FAILURE")
    page.get_by_text("unknown key 'wrong'").first.wait_for()
    page.goto(f"{address}/runs/{run.run_id}")
    page.get_by_role("button", name="Re-execute").first.click()

    def is_repeated() -> bool:
        with house.instance() as instance:
            return any(r.parent_run_id == run.run_id for r in instance.get_runs(limit=5))

    eventually(is_repeated, "the run once more", house.home.dagster / "ui.log")
    assert last_run(address)["repositoryOrigin"] == {"repositoryLocationName": "gsum"}
