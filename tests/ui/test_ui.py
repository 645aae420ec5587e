"""The Dagster UI and daemon for real: a folder becomes a leaderboard without a command."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import pytest

from gsum_assets.tables import TABLES
from gsum_resources.catalogue import define_views
from gsum_resources.home import Home
from tests.conftest import House, document_in
from tests.pipeline.homes import WITHOUT_BERTSCORE, house_at, write_lines
from tests.ui.served import eventually, served

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = [
    "--no-sandbox",  # tests may run as root
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A document of one sentence and a question in a folder that nobody registered."""
    with house_at(tmp_path_factory.mktemp("ui")) as made:
        made.write_document(document_in(0), "The boat met the lamp.")
        write_lines(
            made.folder / "queries.jsonl",
            [{"query_id": "q1", "text": "Who met the boat?", "references": ["The boat."]}],
        )
        (made.folder / "corpus.toml").write_text(f"methods = ['bm25']\n{WITHOUT_BERTSCORE}")
        yield made


@pytest.fixture(scope="module")
def address(house: House) -> Iterator[str]:
    with served(house.home.root) as address:
        yield address


@pytest.fixture(scope="module")
def page(address: str) -> Iterator[Any]:
    """A headless browser's page; skips, saying so, where there is no Chromium."""
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine: `apt-get install chromium` makes these tests run")
    from playwright.sync_api import sync_playwright

    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        opened = browser.new_page(viewport={"width": 1500, "height": 1000})
        opened.set_default_timeout(60_000)
        yield opened
        browser.close()


def rows(house: House, query: str) -> list[tuple]:
    with duckdb.connect() as connection:
        define_views(connection, house.store, TABLES.values())
        return connection.sql(query).fetchall()


def is_materialized_by_hand(home: Home, asset: str) -> bool:
    """Whether a run made it that no sensor asked for."""
    with dg.DagsterInstance.from_config(str(home.dagster)) as instance:
        runs = instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.SUCCESS]))
        by_hand = {run.run_id for run in runs if "dagster/sensor_name" not in run.tags}
        made = instance.fetch_materializations(dg.AssetKey.from_user_string(asset), limit=1000)
        return any(record.run_id in by_hand for record in made.records)


def test_a_new_folder_becomes_a_leaderboard(house: House, address: str) -> None:
    eventually(
        lambda: house.table("leaderboard").num_rows > 0,
        "a leaderboard of the new corpus",
        house.home.root / "ui.log",
    )
    assert set(rows(house, "select distinct method from leaderboard")) == {("bm25",)}
    assert len(rows(house, "select * from documents")) == 1


def test_a_dropped_file_is_taken_in(house: House, address: str) -> None:
    new = document_in(5)
    house.write_document(new, "A heron met the boat at noon.")
    eventually(
        lambda: new in house.table("chunks")["document_id"].to_pylist(),
        "chunks of the dropped document",
        house.home.root / "ui.log",
    )
    eventually(
        lambda: new in house.table("rankings")["item_id"].to_pylist(),
        "a ranking that knows the dropped document",
        house.home.root / "ui.log",
    )


def test_the_asset_graph_shows_the_groups(page: Any, address: str) -> None:
    page.goto(f"{address}/asset-groups")
    for group in ("corpus", "retrieval", "evaluation", "models"):
        page.get_by_text(group, exact=True).first.wait_for()
    page.screenshot(path=SCREENSHOTS / "asset-graph.png")


@pytest.mark.parametrize(
    ("asset", "shown"),
    [
        ("chunks", ["One row per passage of a document", "first character in the document's text"]),
        ("leaderboard", ["One row per method", "upper end of the mean's 95% bootstrap interval"]),
    ],
)
def test_an_asset_page_shows_meaning_schema_and_plot(
    page: Any, address: str, asset: str, shown: list[str]
) -> None:
    page.goto(f"{address}/assets/{asset}")
    for text in shown:
        page.get_by_text(text).first.wait_for()
    page.screenshot(path=SCREENSHOTS / f"{asset}.png", full_page=True)
    page.get_by_text("Show Markdown").first.click()
    page.locator("img[src^='data:image/png']").first.wait_for()
    page.screenshot(path=SCREENSHOTS / f"{asset}-plot.png")


def test_an_asset_is_materialized_through_the_ui(house: House, page: Any, address: str) -> None:
    assert not is_materialized_by_hand(house.home, "leaderboard")
    page.goto(f"{address}/assets/leaderboard")
    page.get_by_role("button", name="Materialize").first.click()
    # nobody asked for Graph of Records here, and the UI warns that a parent was never made
    page.get_by_role("dialog").get_by_text("gor / scores").wait_for()
    page.get_by_role("button", name="Confirm", exact=True).click()
    page.get_by_role("button", name="All", exact=True).first.click()
    launch = page.get_by_role("button", name="Launch").last
    launch.click()
    eventually(
        lambda: is_materialized_by_hand(house.home, "leaderboard"),
        "a leaderboard made by the UI",
        house.home.root / "ui.log",
    )
