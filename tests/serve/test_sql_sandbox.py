"""SQL of clients: it reads the tables of its corpora, nothing else, and ends at its limits."""

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.serve import sql_sandbox
from gsum_assets.serve.sql_child import CorpusFiles, answer, connect
from gsum_assets.serve.sql_sandbox import SqlError, SqlLimits, SqlSandbox
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance

pytestmark = pytest.mark.slow

LIMITS = SqlLimits(rows=50, characters=10_000, seconds=60.0, memory_mib=128)
SECRET = "not for the other token"


def write_chunks(store: ParquetStore, corpus: str, text: str, n: int = 3) -> None:
    rows = {
        "chunk_id": [f"{corpus}-{i}" for i in range(n)],
        "document_id": ["d"] * n,
        "position": list(range(n)),
        "start": [0] * n,
        "end": [len(text)] * n,
        "n_tokens": [1] * n,
        "text": [text] * n,
    }
    table = TABLES["chunks"]
    content = pa.Table.from_pydict(rows, table.schema)
    store.write(table, Partition(corpus, "00"), content, Provenance("", "1"))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> ParquetStore:
    store = ParquetStore(str(tmp_path_factory.mktemp("home") / "warehouse"))
    write_chunks(store, "open", "for all to read")
    write_chunks(store, "closed", SECRET)
    return store


@pytest.fixture(scope="module")
def sandbox(store: ParquetStore) -> SqlSandbox:
    return SqlSandbox(store, LIMITS)


@pytest.fixture
def in_a_hurry(sandbox: SqlSandbox) -> Iterator[SqlSandbox]:
    sandbox._limits = replace(LIMITS, seconds=0.3)
    yield sandbox
    sandbox._limits = LIMITS


class Inside:
    """What the process of a query does, here: all but its own limits."""

    def __init__(self, sandbox: SqlSandbox) -> None:
        self._job = sandbox.job("", ["open"])
        self._connection = connect(self._job)

    def reply(self, query: str) -> dict[str, Any]:
        return answer(self._connection, {**self._job, "query": query})

    def error(self, query: str) -> str:
        return self.reply(query)["error"]


@pytest.fixture(scope="module")
def inside(sandbox: SqlSandbox) -> Inside:
    return Inside(sandbox)


def error_of(sandbox: SqlSandbox, query: str) -> str:
    with pytest.raises(SqlError) as raised:
        sandbox.run(query, ["open"])
    return str(raised.value)


def files_in(store: ParquetStore) -> dict[str, int]:
    home = Path(store.root).parent
    return {str(file): file.stat().st_size for file in home.rglob("*") if file.is_file()}


def test_rows_with_columns_and_types(sandbox: SqlSandbox) -> None:
    rows = sandbox.run("select corpus, position, text from chunks order by all", ["open"])
    assert rows["columns"] == ["corpus", "position", "text"]
    assert rows["types"] == ["VARCHAR", "INTEGER", "VARCHAR"]
    assert rows["rows"] == [["open", i, "for all to read"] for i in range(3)]
    assert not rows["is_truncated"]


def test_views_and_their_list(sandbox: SqlSandbox) -> None:
    query = "select table_name, corpus, row_count from provenance"
    assert sandbox.run(query, ["open"])["rows"] == [["chunks", "open", 3]]
    rows = sandbox.run("show tables", ["open"])
    assert len(rows["rows"]) == LIMITS.rows
    assert rows["is_truncated"]
    described = sandbox.run("describe chunks", ["open"])["rows"]
    assert [row[0] for row in described][:3] == ["corpus", "bucket", "chunk_id"]


def test_tables_of_an_object_store() -> None:
    store = ParquetStore("memory://sql-sandbox/warehouse")
    write_chunks(store, "open", "for all to read")
    write_chunks(store, "closed", SECRET)
    inside = Inside(SqlSandbox(store, LIMITS))
    rows = inside.reply("select distinct corpus, text from chunks")["rows"]
    assert rows == [["open", "for all to read"]]
    assert inside.reply("select count(*) from provenance")["rows"] == [[1]]


def test_values_that_json_lacks_are_texts(sandbox: SqlSandbox) -> None:
    query = "select date '2024-01-02', 'NaN'::float, 1.50::decimal(4, 2), map {'k': [1]}, {'a': 1}"
    assert sandbox.run(query, ["open"])["rows"] == [
        ["2024-01-02", None, "1.50", {"k": [1]}, {"a": 1}]
    ]


@pytest.mark.parametrize(
    "query",
    [
        "from chunks where corpus = 'closed'",
        "from read_parquet('gsum://warehouse/chunks/corpus=*/*/*.parquet') where false",
        "from glob('gsum://warehouse/**') where file like '%closed%'",
        "from provenance where corpus = 'closed'",
    ],
)
def test_rows_of_other_corpora_are_not_seen(inside: Inside, query: str) -> None:
    assert inside.reply(query)["rows"] == []


@pytest.mark.parametrize(
    "query",
    [
        "from read_csv('/etc/passwd')",
        "from read_text('/etc/passwd')",
        "from read_parquet('{warehouse}/chunks/corpus=open/bucket=00/data.parquet')",
        "from '{warehouse}/chunks/corpus=closed/bucket=00/data.parquet'",
        "from glob('/etc/*')",
        "from 'https://example.org/rows.csv'",
        "from read_duckdb('/etc/passwd')",
        "select getenv('HOME')",
        "from job",
        "from query('copy (select 1) to ''/tmp/gsum-copy.csv''')",
        "from enable_logging(storage = 'file', storage_path = '/tmp/gsum-log')",
    ],
)
def test_nothing_but_the_tables_is_read(inside: Inside, store: ParquetStore, query: str) -> None:
    message = inside.error(query.replace("{warehouse}", store.root))
    assert "root:" not in message
    assert SECRET not in message


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("create table t as select 1", "CREATE"),
        ("copy chunks to '/tmp/gsum-copy.csv'", "COPY"),
        ("attach '/tmp/gsum.db'", "ATTACH"),
        ("install httpfs", "LOAD"),
        ("set enable_external_access = true", "SET"),
        ("pragma database_list", "PRAGMA"),
        ("select 1; drop view chunks", "SELECT, DROP"),
        ("", "it is empty"),
    ],
)
def test_only_one_select_is_run(inside: Inside, query: str, kind: str) -> None:
    message = inside.error(query)
    assert message.startswith("the query must be one SELECT statement; ")
    assert message.endswith(kind)


@pytest.mark.parametrize(
    "written",
    [
        "copy (select 1) to 'gsum://warehouse/chunks/corpus=open/bucket=00/data.parquet'",
        "copy (select 1) to '{warehouse}/chunks/corpus=open/bucket=00/data.parquet'",
        "copy (select 1) to '/tmp/gsum-copy.csv'",
        "delete from chunks returning *",
    ],
)
def test_a_write_within_a_select_writes_nothing(
    inside: Inside, store: ParquetStore, written: str
) -> None:
    """DuckDB 2.0 has statements that write within a SELECT; its parser calls all of it SELECT."""
    before = files_in(store)
    query = f"with w as ({written}) from w".replace("{warehouse}", store.root)
    message = inside.error(query)
    assert files_in(store) == before
    assert not Path("/tmp/gsum-copy.csv").exists()
    assert "Traceback" not in message
    assert ".py" not in message


def test_a_process_writes_no_file(store: ParquetStore, sandbox: SqlSandbox) -> None:
    before = files_in(store)
    path = f"{store.root}/chunks/corpus=open/bucket=00/data.parquet"
    assert error_of(sandbox, f"with w as (copy (select 1) to '{path}') from w")
    assert "COPY" in error_of(sandbox, f"copy (select 1) to '{path}'")
    assert files_in(store) == before


@pytest.mark.parametrize(
    "query",
    [
        "select count(*) from range(1000000000000000) where range % 7 = 3",
        "with recursive t as (select 1 x union all select x + 1 from t) select count(*) from t",
    ],
)
def test_a_query_that_runs_for_ever_is_ended(in_a_hurry: SqlSandbox, query: str) -> None:
    assert "took more than 0.3 seconds" in error_of(in_a_hurry, query)


def test_a_process_that_does_not_end_is_killed(
    store: ParquetStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where one operation of DuckDB is not interrupted."""
    killed: list[float] = []

    def never(*_: object, timeout: float, **__: object) -> None:
        killed.append(timeout)
        raise subprocess.TimeoutExpired("query", timeout)

    monkeypatch.setattr(sql_sandbox.subprocess, "run", never)
    with pytest.raises(SqlError, match="took more than 60 seconds"):
        SqlSandbox(store, LIMITS).run("select 1", ["open"])
    assert killed == [LIMITS.seconds + sql_sandbox._GRACE_S]


@pytest.mark.parametrize(
    "query",
    [
        "select list(range) from range(1000000000)",
        "from range(200000000) order by random()",
        "select list_transform(range(300000000), lambda x: repeat('x', 100) || x)",
    ],
)
def test_a_query_that_fills_memory_is_ended(sandbox: SqlSandbox, query: str) -> None:
    message = error_of(sandbox, query)
    assert "128 MiB" in message


def test_rows_without_end_are_cut(sandbox: SqlSandbox) -> None:
    rows = sandbox.run("from range(1000000000000000)", ["open"])
    assert rows["rows"] == [[i] for i in range(LIMITS.rows)]
    assert rows["is_truncated"]
    rows = sandbox.run("select repeat('x', 4000) from range(50)", ["open"])
    assert len(rows["rows"]) == 2
    assert rows["is_truncated"]


def test_a_table_that_gets_its_first_file_has_rows(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path / "warehouse"))
    sandbox = SqlSandbox(store, LIMITS)
    assert sandbox.run("from chunks", ["open"])["rows"] == []
    write_chunks(store, "open", "first")
    assert sandbox.run("select text from chunks limit 1", ["open"])["rows"] == [["first"]]
    write_chunks(store, "open", "second")
    assert sandbox.run("select text from chunks limit 1", ["open"])["rows"] == [["second"]]


@pytest.mark.parametrize(
    "path",
    [
        "gsum://warehouse/chunks/corpus=closed/bucket=00/data.parquet",
        "gsum://warehouse/chunks/corpus=open/../corpus=closed/bucket=00/data.parquet",
        "gsum://warehouse/chunks/corpus=open//bucket=00/data.parquet",
        "gsum://warehouse/../state.db",
        "gsum:///etc/passwd",
        "/etc/passwd",
        "gsum://warehouse/chunks",
    ],
)
def test_the_file_system_has_only_files_of_its_corpora(store: ParquetStore, path: str) -> None:
    files = CorpusFiles(store.fs, store.root, ["open"])
    for method in (files.open, files.info, files.modified):
        with pytest.raises(FileNotFoundError):
            method(path)
    assert files.glob(path) == []
    with pytest.raises(PermissionError):
        files.open("gsum://warehouse/chunks/corpus=open/bucket=00/data.parquet", "wb")
    assert files.find("gsum://warehouse/chunks/../../..") == {}
