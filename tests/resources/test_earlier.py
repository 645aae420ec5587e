"""Rows of an earlier run count if code, models and settings are the same."""

import uuid
from pathlib import Path

import pyarrow as pa
import pytest

from gsum_resources.store.earlier import Earlier
from gsum_resources.store.lineage import code_version_of
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance
from gsum_resources.store.table import Column, Table

COLUMNS = (Column("item", pa.string(), "id"), Column("n", pa.int64(), "number"))
WHOLE = Table("lists", "list", COLUMNS)
BY_BUCKET = Table("vectors", "vector", COLUMNS, dimensions=("corpus", "bucket"))
HERE = Partition("tales")
DEPENDS_ON = {"model:embedding_model": "minilm"}


def rows(*items: str) -> pa.Table:
    return pa.table({"item": list(items), "n": list(range(len(items)))})


def written_by(table: Table, code_version: str = "1") -> Provenance:
    inputs = {**DEPENDS_ON, "table:chunks/corpus=tales": "abc"}
    return Provenance("", code_version_of(table, code_version), inputs)


@pytest.fixture(params=["local", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ParquetStore:
    is_local = request.param == "local"
    return ParquetStore(str(tmp_path) if is_local else f"memory://{uuid.uuid4().hex}/warehouse")


def earlier(store: ParquetStore, code_version: str = "1", **depends_on: str) -> Earlier:
    return Earlier(store, WHOLE, "tales", (), code_version, {**DEPENDS_ON, **depends_on})


def test_rows_of_another_code_model_or_setting_do_not_count(store: ParquetStore) -> None:
    store.write(WHOLE, HERE, rows("a"), written_by(WHOLE))
    assert earlier(store).rows_with("item", ["a"]).num_rows == 1
    for other in (
        earlier(store, code_version="2"),
        earlier(store, **{"model:embedding_model": "another"}),
        earlier(store, **{"settings:lists/corpus=tales": "abc"}),
        Earlier(store, WHOLE, "poems", (), "1", DEPENDS_ON),
        Earlier(None, WHOLE, "tales", (), "1", DEPENDS_ON),
    ):
        assert other.rows_with("item", ["a"]).num_rows == 0


def test_rows_by_key_are_those_of_the_buckets(store: ParquetStore) -> None:
    for bucket, items in (("00", ("a", "b")), ("01", ("c",))):
        store.write(BY_BUCKET, Partition("tales", bucket), rows(*items), written_by(BY_BUCKET))

    def found(buckets: tuple[str, ...], *items: str) -> list[str]:
        stored = Earlier(store, BY_BUCKET, "tales", buckets, "1", DEPENDS_ON)
        return stored.rows_with("item", items)["item"].to_pylist()

    assert found((), "b", "c", "d") == ["b", "c"]
    assert found(("00",), "b", "c") == ["b"]
    assert found((), "d") == []
