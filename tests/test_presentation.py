"""Descriptions and metadata in the UI match the tables and the files."""

import base64
import io
import re
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import duckdb
import pytest
from PIL import Image

from gsum_assets.dagster_assets.jobs import SOURCES
from gsum_assets.definitions import defs
from gsum_assets.pipeline.columns import TEXT, TEXTS
from gsum_assets.pipeline.tables import TABLES, table_of
from gsum_assets.registry.families import FAMILIES
from gsum_assets.runner.run import refresh
from gsum_resources.settings.home import Home
from gsum_resources.store.appended import read_appended
from gsum_resources.store.catalogue import define_views
from tests.conftest import CORPUS, House, document_in
from tests.pipeline.homes import WITHOUT_BERTSCORE

graph = defs.resolve_asset_graph()
unwanted = {family.name for family in FAMILIES} - {"retrieval"}


def query_in(markdown: str) -> str:
    """The SQL in a `gsum sql "…"` block."""
    found = re.fullmatch(r'```shell\ngsum sql "([^"]+)"\n```', markdown)
    assert found, markdown
    return found[1]


def materialized(instance: dg.DagsterInstance, asset: str) -> dict[str, dict]:
    """Metadata of the latest materialization of each partition, by its key."""
    records = instance.fetch_materializations(dg.AssetKey.from_user_string(asset), 100).records
    entries = {}
    for record in reversed(records):
        event = record.asset_materialization
        assert event is not None
        entries[event.partition] = {name: value.value for name, value in event.metadata.items()}
    return entries


def picture_in(markdown: str) -> Image.Image:
    found = re.fullmatch(r"!\[[^]]+\]\(data:image/png;base64,([^)]+)\)", markdown)
    assert found
    return Image.open(io.BytesIO(base64.b64decode(found[1])))


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[House, dg.DagsterInstance]]:
    """Two short documents, indexed once for all tests that do not change them."""
    root = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("DAGSTER_HOME", raising=False)
        house = House(Home(root, str(root / "warehouse")))
        house.folder.mkdir(parents=True)
        house.write_document(document_in(1))
        house.write_document(document_in(3))
        query = {"query_id": "q", "text": "What of the boat?", "references": ["It met the lamp."]}
        house.write_queries([query, {"query_id": "r", "text": "And the lamp?"}])
        (house.folder / "corpus.toml").write_text(WITHOUT_BERTSCORE)
        with dg.DagsterInstance.ephemeral() as instance:
            assert not refresh(house.pipeline(), instance, CORPUS, ["bm25"]).errors
            yield house, instance


def test_materialization_states_location_and_contents(
    indexed: tuple[House, dg.DagsterInstance],
) -> None:
    house, instance = indexed
    with duckdb.connect() as connection:
        define_views(connection, house.store, TABLES.values())
        for key in graph.materializable_asset_keys - set(SOURCES):
            found = materialized(instance, key.to_user_string())
            assert bool(found) == (key.path[0] not in unwanted), key
            for corpus, metadata in found.items():
                assert corpus == CORPUS
                n_rows = metadata["dagster/partition_row_count"]
                name = table_of(key.path).name
                (counted,) = connection.sql(f"select count(*) from {name}").fetchall()
                assert (n_rows,) == counted
                files = list(Path(metadata["folder"]).rglob("*.parquet"))
                assert metadata["dagster/size_bytes"] == sum(f.stat().st_size for f in files)
                rows = connection.sql(query_in(metadata["sql"])).fetchall()
                assert len(rows) == min(5, n_rows)


def test_materialization_has_plots_and_calls_of_models(
    indexed: tuple[House, dg.DagsterInstance],
) -> None:
    house, instance = indexed
    calls = read_appended(house.store, TABLES["llm_calls"], CORPUS).to_pylist()
    calls = [row for row in calls if row["asset"] == "retrieval/summaries"]
    shown = materialized(instance, "retrieval/summaries")[CORPUS]
    assert shown["llm/requests"] == len(calls) == 2
    assert (shown["llm/cached_share"], shown["llm/failures"]) == (0, 0)
    assert shown["llm/tokens_in"] == sum(row["tokens_in"] for row in calls)
    board = materialized(instance, "leaderboard")[CORPUS]
    assert "bm25" in board["leaderboard"]
    (plot,) = [item for label, item in board.items() if label.startswith("quality_and_cost_")]
    assert picture_in(plot).format == "PNG"
    assert 0 <= materialized(instance, "retrieval/scores")[CORPUS]["rouge1"] <= 1


def test_run_that_writes_nothing_keeps_version_and_plots(
    indexed: tuple[House, dg.DagsterInstance],
) -> None:
    house, instance = indexed
    keys = [dg.AssetKey(name) for name in ("chunks", "chunk_embeddings")]
    before = [materialized(instance, key.to_user_string())[CORPUS] for key in keys]
    versions = [version_of(instance, key) for key in keys]
    index = house.pipeline().definitions.resolve_job_def("index")
    done = index.execute_in_process(
        instance=instance, partition_key=CORPUS, asset_selection=[*SOURCES, *keys]
    )
    assert done.success
    after = [materialized(instance, key.to_user_string())[CORPUS] for key in keys]
    assert [version_of(instance, key) for key in keys] == versions
    assert {shown.pop("written") for shown in after} == {"nothing: every file is up to date"}
    for old, new in zip(before, after, strict=True):
        costs = ("written", "llm/", "embedding/")  # of that time
        assert new == {name: v for name, v in old.items() if not name.startswith(costs)}


def version_of(instance: dg.DagsterInstance, key: dg.AssetKey) -> str:
    (record,) = instance.fetch_materializations(key, limit=1).records
    assert record.asset_materialization
    return (record.asset_materialization.tags or {})["dagster/data_version"]


def test_no_column_that_documents_or_replies_fill_is_a_label() -> None:
    texts = {"text", "title", "name", "description", "summary", "document_id", "file"}
    columns = [column for table in TABLES.values() for column in table.columns]
    assert texts <= {column.name for column in columns}
    assert not [c for c in columns if c.label and (c.name in texts or c.type not in (TEXT, TEXTS))]
