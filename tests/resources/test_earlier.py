"""Rows of an earlier run count if code, models and settings are the same."""

import uuid
from pathlib import Path

import pyarrow as pa
import pytest

from gsum_resources.store.earlier import Earlier, read_basis
from gsum_resources.store.lineage import code_version_of
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance
from gsum_resources.store.table import Column, Table

COLUMNS = (Column("item", pa.string(), "id"), Column("n", pa.int64(), "number"))
WHOLE = Table("lists", "list", COLUMNS)
BY_BUCKET = Table("vectors", "vector", COLUMNS, dimensions=("corpus", "bucket"))
HERE = Partition("tales")
DEPENDS_ON = {"model:embedding_model": "minilm"}
BASIS = pa.table({"document_id": ["d1"], "digest": ["x"]}).replace_schema_metadata({"note": "7"})


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


def test_rows_have_the_basis_that_was_stored_with_them(store: ParquetStore) -> None:
    assert earlier(store).with_basis() is None
    earlier(store).write_basis(rows("a", "b"), BASIS)
    assert earlier(store).with_basis() is None  # killed before the rows were written
    content = store.write(WHOLE, HERE, rows("a", "b"), written_by(WHOLE)).content_hash
    found = earlier(store).with_basis(["item"])
    assert found
    assert found[0]["item"].to_pylist() == ["a", "b"]
    assert found[1].equals(BASIS)
    assert found[1].schema.metadata[b"note"] == b"7"
    assert read_basis(store, WHOLE, "tales", content) is not None
    store.write(WHOLE, HERE, rows("a", "c"), written_by(WHOLE))
    assert earlier(store).with_basis() is None  # the basis is of other rows
    assert read_basis(store, WHOLE, "poems", content) is None


def test_rows_of_another_code_model_or_setting_do_not_count(store: ParquetStore) -> None:
    earlier(store).write_basis(rows("a"), BASIS)
    store.write(WHOLE, HERE, rows("a"), written_by(WHOLE))
    assert earlier(store).with_basis() is not None
    for other in (
        earlier(store, code_version="2"),
        earlier(store, **{"model:embedding_model": "another"}),
        earlier(store, **{"settings:lists/corpus=tales": "abc"}),
        Earlier(store, WHOLE, "poems", (), "1", DEPENDS_ON),
        Earlier(None, WHOLE, "tales", (), "1", DEPENDS_ON),
    ):
        assert other.with_basis() is None
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
