"""What an object store costs in requests and memory, and corpora that are in one."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from gsum_assets.pipeline.tables import TABLES
from gsum_resources.settings.paths import path_at
from gsum_resources.store.catalogue import define_views
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance
from tests.cluster.servers import object_store
from tests.conftest import CORPUS, House
from tests.pipeline.homes import contents, furnish, house_at

pytest.importorskip("s3fs", reason="make test-cluster installs it")
METHODS = ["bm25", "dense"]


@pytest.fixture(scope="module")
def served() -> Counter[str]:
    """Requests by operation, counted at the server."""
    return Counter()


@pytest.fixture(scope="module")
def bucket(served: Counter[str]) -> Iterator[str]:
    with object_store(served) as warehouse:
        yield warehouse.rpartition("/")[0]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A local home whose tables the others must equal."""
    with house_at(tmp_path_factory.mktemp("local")) as house:
        furnish(house)
        assert house.run(METHODS).is_complete
        yield house


def house_in(bucket: str, root: Path, patch: pytest.MonkeyPatch) -> House:
    """A house whose corpora, settings and tables are in the bucket."""
    patch.setenv("GSUM_HOME", str(root))
    patch.setenv("DAGSTER_HOME", str(root / "dagster"))
    patch.setenv("GSUM_WAREHOUSE", f"{bucket}/warehouse")
    patch.setenv("GSUM_CORPORA", f"{bucket}/corpora")
    patch.setenv("GSUM_SETTINGS", f"{bucket}/shared/gsum.toml")
    (path_at(bucket) / "shared" / "gsum.toml").write_bytes(b"")
    from gsum_resources.settings.home import Home

    return House(Home.from_environment())


def test_corpus_in_the_object_store_gives_the_same_tables(
    bucket: str, local: House, served: Counter[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = house_in(bucket, tmp_path, monkeypatch)
    for file in local.folder.iterdir():
        (remote.folder / file.name).write_bytes(file.read_bytes())
    assert remote.run(METHODS).is_complete
    assert contents(remote) == contents(local)
    assert not (tmp_path / "corpora").exists()

    served.clear()
    assert not remote.run().steps  # nothing is due
    assert served["LIST"] <= 14
    assert not served["PUT"] + served["PART"]

    (remote.folder / "added.txt").write_bytes(b"A boat was added. It met the clerk in winter.")
    (local.folder / "added.txt").write_bytes(b"A boat was added. It met the clerk in winter.")
    assert remote.run().is_complete
    assert local.run().is_complete
    assert contents(remote) == contents(local)
    assert "added" in remote.table("documents")["document_id"].to_pylist()

    other = path_at(bucket) / "corpora" / "other"
    (other / "a.txt").write_bytes(b"The lamp of the other corpus met the river.")
    for file in [*remote.folder.iterdir()]:
        file.unlink()
    assert remote.run([], corpus="other").is_complete
    assert contents(remote) == contents(local)  # the corpus may come back
    at_once = b"[automation]\nforget_after_h = 0\n"
    (path_at(bucket) / "shared" / "gsum.toml").write_bytes(at_once)
    assert House(remote.home).run([], corpus="other").is_complete
    tables = {name: remote.table(name, CORPUS).num_rows for name in ("documents", "summaries")}
    assert tables == {"documents": 0, "summaries": 0}
    assert remote.table("documents", "other").num_rows == 1


def test_an_upload_appears_when_it_is_complete(bucket: str, served: Counter[str]) -> None:
    store = ParquetStore(f"{bucket}/uploads")
    path, block = f"{store.root}/large.bin", b"x" * 2**23
    with store.new_file(path) as file:
        for _ in range(3):
            file.write(block)
        assert not store.fs.exists(path)
    assert store.fs.size(path) == 3 * 2**23
    served.clear()
    with pytest.raises(RuntimeError, match="stopped"):
        stop_half_way(store, path, block)
    assert store.fs.size(path) == 3 * 2**23
    assert served["PART"]
    assert served["ABORT"] == 1
    assert not served["COMPLETE"]
    served.clear()
    store.replace_file(f"{store.root}/small.bin", b"x")
    table = TABLES["source_queries"]
    rows = pa.table([["queries.jsonl"], ["h"]], schema=table.schema)
    store.write(table, Partition("x"), rows, Provenance("", "1"))
    assert served == {"PUT": 2}  # a small file takes one request
    served.clear()
    read, _ = store.read(table, [Partition("x")])
    assert served == {"GET": 1}
    assert read.drop_columns("corpus").equals(rows)
    with duckdb.connect() as connection:
        define_views(connection, store, [table])
        assert connection.sql("select file from source_queries").fetchall() == [("queries.jsonl",)]


def stop_half_way(store: ParquetStore, path: str, block: bytes) -> None:
    with store.new_file(path) as file:
        for _ in range(2):
            file.write(block)
        raise RuntimeError("stopped")
