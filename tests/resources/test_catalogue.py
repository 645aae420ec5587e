"""The DuckDB file holds views only, and readers never block writers."""

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.refresh.step import complete_catalogue
from gsum_resources.store import catalogue
from gsum_resources.store.appended import APPENDED
from gsum_resources.store.catalogue import build_catalogue
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance
from gsum_resources.store.table import Macro, View
from tests.conftest import CORPUS, House

HOLD = """
    import sys, duckdb
    connection = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == "read")
    connection.sql("select count(*) from documents").fetchall()
    print("open", flush=True)
    sys.stdin.readline()
    print(connection.sql("select count(*) from documents").fetchall(), flush=True)
"""


def test_every_table_is_a_typed_view_before_any_file_exists(tmp_path: Path) -> None:
    path = tmp_path / "gsum.duckdb"
    build_catalogue(ParquetStore(str(tmp_path / "warehouse")), TABLES.values(), path)
    with duckdb.connect(str(path), read_only=True) as connection:
        for name, table in TABLES.items():
            relation = connection.sql(f"select * from {name}")
            assert relation.columns == [*table.dimensions, *table.schema.names]
            assert relation.fetchall() == []
        assert connection.sql("select * from provenance").fetchall() == []
    assert [p.name for p in tmp_path.iterdir()] == ["gsum.duckdb"]


def test_types_are_the_same_with_and_without_files(tmp_path: Path) -> None:
    store, path = ParquetStore(str(tmp_path / "warehouse")), tmp_path / "gsum.duckdb"
    names = [*TABLES, "provenance"]
    build_catalogue(store, TABLES.values(), path)
    with duckdb.connect(str(path), read_only=True) as connection:
        before = {n: connection.sql(f"select * from {n}").types for n in names}
    for table in TABLES.values():
        here = Partition(*("x" if d in table.dimensions else None for d in ("corpus", "bucket")))
        here = Partition("x", here.bucket, "m" if "method" in table.dimensions else None)
        store.write(table, here, table.empty(), Provenance("", "1"))
    build_catalogue(store, TABLES.values(), path)
    with duckdb.connect(str(path), read_only=True) as connection:
        after = {n: connection.sql(f"select * from {n}").types for n in names}
        counted = connection.sql("select count(*) from provenance").fetchall()
        assert counted == [(len(TABLES) - len(APPENDED),)]
    assert after == before


def test_provenance_has_the_number_of_failed_requests(tmp_path: Path) -> None:
    store, path = ParquetStore(str(tmp_path / "warehouse")), tmp_path / "gsum.duckdb"
    table = TABLES["summaries"]
    for method, failed in (("bm25", 0), ("gor", 3)):
        here = Partition("x", method=method)
        store.write(table, here, table.empty(), Provenance("", "1", asset=method, failed=failed))
    build_catalogue(store, TABLES.values(), path)
    with duckdb.connect(str(path), read_only=True) as connection:
        found = connection.sql("select asset, failed from provenance order by all").fetchall()
    assert found == [("bm25", 0), ("gor", 3)]


@pytest.mark.parametrize(
    "folder", ["it's here", "a[b]c", "[", "what? *", "corpus=other/bucket=7", "method=m"]
)
def test_root_may_have_any_name(tmp_path: Path, folder: str) -> None:
    store, path = ParquetStore(str(tmp_path / folder / "warehouse")), tmp_path / "gsum.duckdb"
    queries, summaries = TABLES["source_queries"], TABLES["summaries"]
    rows = pa.table([["queries.jsonl"], ["h"]], schema=queries.schema)
    store.write(queries, Partition("x"), rows, Provenance("", "1"))
    store.write(summaries, Partition("x", method="gor"), summaries.empty(), Provenance("", "1"))
    assert store.partitions(summaries) == [Partition("x", method="gor")]
    build_catalogue(store, TABLES.values(), path)
    with duckdb.connect(str(path), read_only=True) as connection:
        assert connection.sql("from source_queries").fetchall() == [("x", "queries.jsonl", "h")]
        found = connection.sql(
            "select table_name, corpus, bucket, method from provenance order by 1"
        )
        assert found.fetchall() == [
            ("source_queries", "x", None, None),
            ("summaries", "x", None, "gor"),
        ]


def test_catalogue_of_a_copied_home_is_not_of_its_store(tmp_path: Path) -> None:
    path = tmp_path / "gsum.duckdb"
    first, copy = ParquetStore(str(tmp_path / "a")), ParquetStore(str(tmp_path / "b"))
    assert not catalogue.is_of(first, TABLES.values(), path)
    build_catalogue(first, TABLES.values(), path)
    assert catalogue.is_of(first, TABLES.values(), path)
    assert not catalogue.is_of(copy, TABLES.values(), path)


@pytest.mark.slow
def test_run_continues_while_others_hold_the_file(house: House) -> None:
    documents = TABLES["documents"]
    house.store.write(documents, Partition(CORPUS, "00"), documents.empty(), Provenance("", "1"))
    complete_catalogue(house.workspace)
    with holder(house.home.catalogue, "read") as reader:
        complete_catalogue(house.workspace)
        with holder(house.home.catalogue, "write") as writer:  # of the new file
            assert not house.run([]).errors
            complete_catalogue(house.workspace)
            for process in (reader, writer):
                said, _ = process.communicate("\n")
                assert process.returncode == 0
                assert said.strip() == "[(9,)]"


@contextmanager
def holder(path: Path, how: str) -> Iterator[subprocess.Popen[str]]:
    """A process that has the file open."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(HOLD), str(path), how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        assert process.stdout.readline() == "open\n"
        yield process
    finally:
        process.kill()
        process.wait()


def test_table_started_by_another_process_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, path = ParquetStore(str(tmp_path / "warehouse")), tmp_path / "gsum.duckdb"
    define, table = catalogue.define_views, TABLES["source_queries"]
    rows = pa.table([["queries.jsonl"], ["h"]], schema=table.schema)

    def define_table_later(*arguments: Any) -> set[str]:
        """The other one's file comes when this one has looked, and its catalogue is replaced."""
        seen = define(*arguments)
        if not store.partitions(table):
            store.write(table, Partition("x"), rows, Provenance("", "1"))
        return seen

    monkeypatch.setattr(catalogue, "define_views", define_table_later)
    build_catalogue(store, TABLES.values(), path)
    with duckdb.connect(str(path), read_only=True) as connection:
        assert connection.sql("from source_queries").fetchall() == [("x", "queries.jsonl", "h")]


def test_views_of_older_files_are_left_out_with_what_reads_them(tmp_path: Path) -> None:
    store, path = ParquetStore(str(tmp_path / "warehouse")), tmp_path / "gsum.duckdb"
    documents = TABLES["documents"]
    older = replace(documents, columns=tuple(c for c in documents.columns if c.name != "date"))
    store.write(older, Partition("x", "00"), older.empty(), Provenance("", "1"))
    dated = View("dated", "document", "SELECT date FROM documents")
    since = Macro("since", ("day",), "document", "FROM dated WHERE date >= day")
    build_catalogue(store, TABLES.values(), path, [dated, since])
    with duckdb.connect(str(path), read_only=True) as connection:
        assert connection.sql("SELECT title FROM documents").fetchall() == []
