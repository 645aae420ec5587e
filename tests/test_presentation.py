"""Descriptions and metadata in the UI match the declared tables and the files."""

import base64
import io
import re
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from gsum_assets.definitions import defs
from gsum_assets.evaluation.leaderboard import best_methods
from gsum_assets.pipeline.columns import TEXT, TEXTS
from gsum_assets.pipeline.tables import TABLES, table_of
from gsum_assets.registry.families import FAMILIES
from gsum_assets.runner.execute import observe_sources
from gsum_assets.runner.run import refresh, register
from gsum_resources.dagster_io.table_metadata import of_all_corpora, of_file
from gsum_resources.settings.home import Home
from gsum_resources.store.catalogue import define_views
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance
from tests.conftest import CORPUS, READ_TOGETHER, House, document_in
from tests.pipeline.homes import WITHOUT_BERTSCORE

graph = defs.resolve_asset_graph()
SOURCES = [dg.AssetKey(name) for name in ("source_documents", "source_queries", "source_graph")]
WITH_TABLE = [*sorted(graph.materializable_asset_keys), *SOURCES]
ICONS = {"parquet", "python", "file", "source"}  # kinds that the UI has a picture for

every_asset = pytest.mark.parametrize("key", WITH_TABLE, ids=lambda key: key.to_user_string())


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    """The views of a warehouse without files."""
    connection = duckdb.connect(str(tmp_path_factory.mktemp("home") / "gsum.duckdb"))
    store = ParquetStore(str(tmp_path_factory.mktemp("warehouse")))
    define_views(connection, store, TABLES.values())
    return connection


def query_in(markdown: str) -> str:
    """The SQL in a `gsum sql "…"` block."""
    found = re.fullmatch(r'```shell\ngsum sql "([^"]+)"\n```', markdown)
    assert found, markdown
    return found[1]


@every_asset
def test_columns_equal_those_of_the_view(
    key: dg.AssetKey, empty: duckdb.DuckDBPyConnection
) -> None:
    table, metadata = table_of(key.path), graph.get(key).metadata
    schema = metadata["dagster/column_schema"]
    assert isinstance(schema, dg.TableSchema)
    seen = empty.sql(f"describe {metadata['dagster/table_name']}").fetchall()
    types = [
        (c.name, c.type.replace("TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE")) for c in schema.columns
    ]
    assert types == [(row[0], row[1]) for row in seen]
    shown = {column.name: column for column in schema.columns}
    assert set(shown) == {*table.dimensions, *table.schema.names}
    for column in table.columns:
        constraints = shown[column.name].constraints
        assert shown[column.name].description == column.meaning
        assert constraints.nullable == column.nullable
        assert ("key" in constraints.other) == (column.name in table.key)
        assert constraints.unique == (table.key == (column.name,))
        assert ("measured" in constraints.other) == column.measured
    for name in table.dimensions:
        assert shown[name].constraints.other == ["partition"]
        assert shown[name].description


@every_asset
def test_description_is_the_row_meaning_and_a_purpose(key: dg.AssetKey) -> None:
    description = graph.get(key).description or ""
    start = f"One row per {table_of(key.path).row}. "
    assert description.startswith(start)
    purpose = description.removeprefix(start)
    assert purpose[:1].isupper()
    assert purpose.endswith(".")
    assert "One row per" not in purpose


@pytest.mark.parametrize(
    "key", sorted(graph.get_all_asset_keys()), ids=lambda k: k.to_user_string()
)
def test_every_asset_has_kinds_with_icons(key: dg.AssetKey) -> None:
    node = graph.get(key)
    assert 1 <= len(node.kinds) <= 3
    assert node.kinds <= ICONS
    assert node.description
    assert node.group_name != "default"
    if key in WITH_TABLE:
        assert "parquet" in node.kinds


@every_asset
def test_example_query_runs(key: dg.AssetKey, empty: duckdb.DuckDBPyConnection) -> None:
    query = query_in(graph.get(key).metadata["sql"].value)
    assert empty.sql(query).fetchall() == []
    assert ("method = '…'" in query) == ("method" in table_of(key.path).dimensions)


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
        for key in graph.materializable_asset_keys:
            table, total, metadata = table_of(key.path), 0, {}
            found = materialized(instance, key.to_user_string())
            if not found:
                # none of these methods was requested
                assert key.path[0] in {family.name for family in FAMILIES} - {"retrieval"}
                continue
            n_rows = sum(m["dagster/partition_row_count"] for m in found.values())
            for metadata in found.values():
                file = Path(metadata["file"])
                rows = pq.read_metadata(file).num_rows
                assert metadata["dagster/partition_row_count"] == rows
                assert metadata["dagster/size_bytes"] == file.stat().st_size
                assert "failed_requests" not in metadata
                found = connection.sql(query_in(metadata["sql"])).fetchall()
                assert len(found) == min(5, n_rows)
                assert ("preview" in metadata) == (n_rows > 0)  # any bucket
                total += rows
            assert metadata["dagster/row_count"] == total, table.name


def test_overview_names_all_corpora(tmp_path: Path) -> None:
    """The event stored last summarizes the whole table."""
    store, table = ParquetStore(str(tmp_path)), TABLES["rejected_documents"]
    nothing = table.empty()
    for corpus in ("tales", "minutes"):
        for bucket, rows in (("00", rejected("bad")), ("01", nothing)):
            store.write(table, Partition(corpus, bucket), rows, Provenance("", "1", asset="a"))
    others = store.stamped(table)
    last = Partition("minutes", "01")
    written = store.write(table, last, nothing, Provenance("", "1", asset="a", time="2026-01-02T"))
    assert "preview" not in of_file(store, table, last, nothing, written)
    shown, n_rows = of_all_corpora(store, table, {last: written}, others).values()
    assert n_rows == 2
    assert [record.data for record in shown.records] == [
        {
            "corpus": corpus,
            "rows": 1,
            "buckets with rows": "1 of 2",
            "failed requests": 0,
            "written (UTC)": time,
        }
        for corpus, time in (("minutes", "2026-01-02 "), ("tales", ""))
    ]


def test_overview_of_many_corpora_is_cut_but_keeps_the_latest(tmp_path: Path) -> None:
    store, table = ParquetStore(str(tmp_path)), TABLES["gor.index"]
    footers = {
        partition: store.write(table, partition, table.empty(), Provenance("", "1", asset="a"))
        for partition in (Partition(f"c{i:02d}") for i in range(25))
    }
    last = Partition("c24")
    overview = of_all_corpora(
        store, table, {last: footers[last]}, dict.fromkeys(footers), lambda _: "figure"
    )
    ((label, shown),) = overview.items()
    names = [record.data["corpus"] for record in shown.records]
    assert label == "all_corpora (showing 10 of 25)"
    assert names == [*(f"c{i:02d}" for i in range(9)), "c24"]
    assert {record.data["main figure"] for record in shown.records} == {"figure"}


def test_leaderboard_of_each_corpus_names_its_best_method(
    indexed: tuple[House, dg.DagsterInstance],
) -> None:
    _, instance = indexed
    (board,) = materialized(instance, "leaderboard").values()
    (record,) = board["all_corpora"].records
    assert record.data["corpus"] == CORPUS
    assert "bm25 rouge1 " in record.data["main figure"]
    assert best_methods(TABLES["leaderboard"].empty()) == "no scores"


def test_materialization_has_plots(indexed: tuple[House, dg.DagsterInstance]) -> None:
    _, instance = indexed
    for asset, n_partitions in {
        "chunks": 8,
        "chunk_embeddings": 8,
        "retrieval/scores": 1,
        "leaderboard": 1,
    }.items():
        plots = [metadata["plot"] for metadata in materialized(instance, asset).values()]
        assert len(plots) == n_partitions
        assert all(picture_in(plot).format == "PNG" for plot in plots)
    (scores,) = materialized(instance, "retrieval/scores").values()
    assert 0 <= scores["rouge1"] <= 1
    (questions,) = materialized(instance, "queries").values()
    assert "| general | 2 |" in questions["questions"]


@pytest.mark.slow
def test_buckets_and_corpora_of_one_run_are_distinguished(house: House) -> None:
    other = house.home.corpora / "other"
    other.mkdir()
    (other / "only.txt").write_text("The clerk met the winter.")
    pipeline = house.pipeline()
    with dg.DagsterInstance.ephemeral() as instance:
        for corpus in (CORPUS, "other"):
            register(pipeline, instance, corpus)
        observe_sources(pipeline, instance, CORPUS, {})
        observe_sources(pipeline, instance, "other", {})
        job = pipeline.definitions.resolve_implicit_global_asset_job_def()
        names = (*READ_TOGETHER, "chunks")
        result = job.execute_in_process(
            instance=instance,
            asset_selection=[dg.AssetKey(name) for name in names],
            tags={
                "dagster/asset_partition_range_start": f"00|{CORPUS}",
                "dagster/asset_partition_range_end": "07|other",
            },
        )
        assert result.success
        with pytest.raises(dg.DagsterInvariantViolationError):  # it is in the store, not in memory
            result.output_for_node("chunks")
        entries = materialized(instance, "chunks")
        house.write_document(document_in(3), "The boat met the lamp.")
        observe_sources(pipeline, instance, CORPUS, {})
        edited_bucket = dg.MultiPartitionKey({"corpus": CORPUS, "bucket": "03"})
        assert job.execute_in_process(
            instance=instance,
            asset_selection=[dg.AssetKey(name) for name in names],
            partition_key=edited_bucket,
        ).success
        after = materialized(instance, "chunks")
    assert {key.split("|")[1] for key in entries} == {CORPUS, "other"}
    assert len(entries) == 16
    small = [metadata for key, metadata in entries.items() if key.endswith("|other")]
    assert sum(m["dagster/partition_row_count"] for m in small) == 1
    # the page shows the row count of the last event: that of the table, and not of a corpus
    (n_rows,) = (m["dagster/row_count"] for m in entries.values() if "dagster/row_count" in m)
    assert n_rows == sum(m["dagster/partition_row_count"] for m in entries.values())
    assert all("corpus = 'other'" in m["sql"] for m in small)
    assert all(f"{len('The clerk met the winter.')} characters" in m["preview"] for m in small)
    plots = {key.split("|")[1]: metadata["plot"] for key, metadata in entries.items()}
    assert plots[CORPUS] != plots["other"]
    (edited,) = (key for key in entries if after[key] != entries[key])
    assert edited == f"03|{CORPUS}"
    assert after[edited]["dagster/partition_row_count"] == 1
    assert after[edited]["dagster/row_count"] == house.table("chunks").num_rows + 1


def rejected(reason: str) -> pa.Table:
    row = {"document_id": "a", "file": "a.txt", "line": 0, "reason": reason, "is_other_type": False}
    return pa.Table.from_pylist([row], TABLES["rejected_documents"].schema)


@pytest.mark.parametrize("root", ["{tmp_path}", "memory://{tmp_path}"], ids=["file", "memory"])
def test_file_with_failed_requests_counts_them(root: str, tmp_path: Path) -> None:
    store = ParquetStore(root.format(tmp_path=tmp_path))
    table, partition, rows = TABLES["rejected_documents"], Partition("tales", "03"), rejected("bad")
    written = store.write(table, partition, rows, Provenance("", "1", failed=2))
    metadata = of_file(store, table, partition, rows, written)
    assert metadata["failed_requests"] == 2
    assert metadata["dagster/size_bytes"] > 0
    assert metadata["file"].value.endswith("corpus=tales/bucket=03/data.parquet")
    assert metadata["file"].value.startswith("memory://") != store.is_local


def test_preview_shows_labels_and_lengths_of_texts(tmp_path: Path) -> None:
    kind = "![x](http://a.b/c.png) <script> `a|b` \n# head " + "long " * 100
    row = {field.name: None for field in TABLES["queries"].schema} | {
        **{"query_id": "q", "text": "Who met the lamp?", "retrieval_text": "x", "kind": kind},
        **{"references": ["It met the boat.", "Nobody."], "relevant_document_ids": ["tale"]},
        **{"relevant_chunk_ids": [], "form": "short", "options": [], "split": "test"},
    }
    store, table = ParquetStore(str(tmp_path)), TABLES["queries"]
    rows = pa.Table.from_pylist([row], table.schema)
    written = store.write(table, Partition("tales"), rows, Provenance("", "1"))
    preview = of_file(store, table, Partition("tales"), rows, written)["preview"].value
    assert preview.count("\n") == 2  # header, rule, one row
    assert r"\!\[x\]\(http://a.b/c.png\) &lt;script\> \`a\|b\` \# head long" in preview
    cells = preview.splitlines()[2].split(" | ")
    assert cells[:3] == ["| q", "17 characters", "1 character"]
    assert cells[3].endswith("…")
    values = ["2 values", "1 value", "0 values", "short", "0 values", "test"]
    assert cells[4:] == ["None", *values, "None |"]


def test_no_column_that_documents_or_replies_fill_is_a_label() -> None:
    texts = {"text", "title", "name", "description", "summary", "document_id", "file"}
    columns = [column for table in TABLES.values() for column in table.columns]
    assert texts <= {column.name for column in columns}
    assert not [c for c in columns if c.label and (c.name in texts or c.type not in (TEXT, TEXTS))]
