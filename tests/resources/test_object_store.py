"""A store where every operation is a request: what is listed, read and written at once."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store import parquet_store
from gsum_resources.store.catalogue import build_catalogue, define_views
from gsum_resources.store.input_key import InputKey
from gsum_resources.store.lineage import Lineage
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance

QUERIES, CHUNKS = TABLES["source_queries"], TABLES["source_documents"]


def listed_files(table: Any, n: int) -> pa.Table:
    rows = {
        field.name: [f"{field.name}-{i}" if pa.types.is_string(field.type) else i for i in range(n)]
        for field in table.schema
    }
    return pa.table(rows, schema=table.schema)


@pytest.fixture
def store() -> Iterator[ParquetStore]:
    store = ParquetStore(f"memory://{uuid.uuid4().hex}/warehouse")
    for table, bucket in ((QUERIES, None), (CHUNKS, "00"), (CHUNKS, "01")):
        for corpus in ("tales", "minutes"):
            rows = listed_files(table, 3)
            store.write(table, Partition(corpus, bucket), rows, Provenance("", "1", asset="a"))
    yield store
    store.fs.rm(store.root, recursive=True)


@pytest.fixture
def requests(store: ParquetStore, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The operations that are requested from now on."""
    made: list[str] = []
    for name in ("find", "glob", "ls", "info", "exists", "cat_file", "open", "pipe_file"):
        operation = getattr(store.fs, name)

        def counted(*given: Any, name: str = name, operation: Any = operation, **how: Any) -> Any:
            made.append(name)
            n = len(made)
            result = operation(*given, **how)
            del made[n:]  # what an operation calls itself is no request
            return result

        monkeypatch.setattr(store.fs, name, counted)
    return made


def test_a_snapshot_lists_once_and_reads_each_footer_once(
    store: ParquetStore, requests: list[str]
) -> None:
    for n_footers in (3, 0):
        requests.clear()
        lineage = Lineage(store, TABLES, lambda _: None)
        found = {name: lineage.provenances(name, "tales") for name in TABLES}
        assert {name: len(footers) for name, footers in found.items() if footers} == {
            QUERIES.name: 1,
            CHUNKS.name: 2,
        }
        assert sorted(requests) == ["cat_file"] * n_footers + ["find"]


def test_a_snapshot_knows_numbers_of_rows_from_its_listing(
    store: ParquetStore, requests: list[str]
) -> None:
    lineage = Lineage(store, TABLES, lambda _: None)
    keys = [InputKey(kind, CHUNKS.name, "tales") for kind in ("table", "rows", "size")]
    requests.clear()
    assert list(map(lineage.present_version, keys))[1:] == ["6", "3"]
    assert lineage.present_version(InputKey("rows", "chunks", "tales")) == "0"
    assert sorted(requests) == ["cat_file"] * 2 + ["find"]


def test_a_table_is_read_and_written_by_one_request(
    store: ParquetStore, requests: list[str]
) -> None:
    requests.clear()
    store.read(QUERIES, [Partition("tales")])
    store.write(QUERIES, Partition("tales"), listed_files(QUERIES, 2), Provenance("", "1"))
    assert requests == ["cat_file", "pipe_file"]


def test_a_changed_file_has_a_new_footer(store: ParquetStore) -> None:
    def version() -> str:
        found = Lineage(store, TABLES, lambda _: None).provenances(QUERIES.name, "tales")
        return found[Partition("tales")].content_hash

    before = version()
    store.write(QUERIES, Partition("tales"), listed_files(QUERIES, 2), Provenance("", "1"))
    assert version() != before


def test_partitions_are_those_of_the_tables_dimensions(store: ParquetStore) -> None:
    path = store.path(CHUNKS, Partition("tales", "00"))
    stray = path.replace("bucket=00", "method=m")
    store.fs.pipe_file(stray, store.fs.cat_file(path))
    assert store.partitions(CHUNKS, "tales") == [Partition("tales", "00"), Partition("tales", "01")]
    assert store.partitions(CHUNKS, "tale") == []
    assert store.partitions(TABLES["chunks"]) == []
    assert store.counts([CHUNKS, QUERIES], "tales") == {CHUNKS.name: 6, QUERIES.name: 3}


def test_rows_and_footers_are_the_same_by_ranges(
    store: ParquetStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    partitions = store.partitions(CHUNKS)
    whole = store.read(CHUNKS, partitions)
    footers = store.footers(CHUNKS, partitions)
    monkeypatch.setattr(parquet_store, "_WHOLE", 100)
    monkeypatch.setattr(parquet_store, "_TAIL", 16)
    assert store.read(CHUNKS, partitions) == whole
    assert store.footers(CHUNKS, partitions) == footers
    assert footers.keys() == set(partitions)
    assert store.provenance(CHUNKS, Partition("tales", "07")) is None


def test_a_failed_write_leaves_the_old_file(store: ParquetStore) -> None:
    path = f"{store.root}/notes.txt"
    store.replace_file(path, b"old")

    def stop_half_way() -> None:
        with store.new_file(path) as file:
            file.write(b"half")
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        stop_half_way()
    assert store.fs.cat_file(path) == b"old"


def test_views_request_nothing_before_they_are_queried(
    store: ParquetStore, requests: list[str]
) -> None:
    with duckdb.connect() as connection:
        define_views(connection, store, TABLES.values())
        assert requests == ["find"]
        counted = connection.sql("select corpus, count(*) from source_documents group by 1")
        assert sorted(counted.fetchall()) == [("minutes", 6), ("tales", 6)]
        assert connection.sql("select count(*) from provenance").fetchall() == [(6,)]
        assert connection.sql("from chunks").fetchall() == []
        empty = connection.sql("from chunks").types
    with duckdb.connect() as connection:
        store.write(
            TABLES["chunks"], Partition("x", "00"), TABLES["chunks"].empty(), Provenance("", "1")
        )
        define_views(connection, store, TABLES.values())
        assert connection.sql("from chunks").types == empty


def test_catalogue_has_no_credentials(
    store: ParquetStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret-of-ours")
    path = tmp_path / "gsum.duckdb"
    for _ in range(2):  # a new file, then a copy of it
        build_catalogue(store, TABLES.values(), path)
    with duckdb.connect(str(path), read_only=True) as connection:
        connection.register_filesystem(store.fs)
        assert connection.sql("select count(*) from source_queries").fetchall() == [(6,)]
    assert b"a-secret-of-ours" not in path.read_bytes()
