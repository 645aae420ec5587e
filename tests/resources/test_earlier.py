"""Rows of an earlier run count if code, models and buckets are the same."""

import uuid
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

from gsum_assets.pipeline.step import Inputs
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.lazy import Lazy
from gsum_resources.store.lineage import code_version_of
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance

TABLE = TABLES["chunk_embeddings"]


@pytest.fixture(params=["local", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ParquetStore:
    is_local = request.param == "local"
    store = ParquetStore(str(tmp_path) if is_local else f"memory://{uuid.uuid4().hex}/warehouse")
    by = Provenance("", code_version_of(TABLE, "1"), {"model:embedding_model": "minilm", "x": "y"})
    for bucket, ids in (("00", ["a", "b"]), ("01", ["c"])):
        columns = {"chunk_id": ids, "document_id": ids, "embedding": [[1.0]] * len(ids)}
        store.write(TABLE, Partition("tales", bucket), pa.table(columns, TABLE.schema), by)
    return store


@pytest.mark.parametrize(
    ("changed", "wanted", "found"),
    [
        ({}, ["b", "c", "d"], ["b", "c"]),
        ({"buckets": ["00"]}, ["b", "c"], ["b"]),
        ({}, ["d"], []),
        ({"code_version": "2"}, ["b", "c"], []),
        ({"corpus": "poems"}, ["b", "c"], []),
        ({"store": None}, ["b", "c"], []),
        ({"model": "another"}, ["b", "c"], []),
    ],
)
def test_rows_by_key(store: ParquetStore, changed: dict, wanted: list, found: list) -> None:
    how = {"corpus": "tales", "store": store, "code_version": "1", "model": "minilm"} | changed
    model = SimpleNamespace(identity=how.pop("model"))
    inputs = Inputs({"embedding_model": Lazy.of(model)}, method="", **how)
    earlier = inputs.earlier_rows("chunk_embeddings", ["embedding_model"])
    assert earlier.rows_with("chunk_id", wanted)["chunk_id"].to_pylist() == found
