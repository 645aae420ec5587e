"""A store over another one shows both, and writes nothing below."""

from pathlib import Path

import fsspec
import pyarrow as pa
import pytest

from gsum_assets.pipeline.tables import TABLES
from gsum_resources.state.layered import store_over
from gsum_resources.store.memo import Memo
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance

TABLE = TABLES["source_queries"]
ROWS = pa.table({"file": ["queries.jsonl"], "content_hash": ["0"]}, TABLE.schema)
NOTHING = Provenance("", "")


@pytest.mark.parametrize("kind", ["local", "memory"])
def test_writes_go_to_the_upper_layer(tmp_path: Path, kind: str) -> None:
    url = str(tmp_path / "warehouse") if kind == "local" else "memory://layered"
    store = ParquetStore(url, str(tmp_path / "state.db"))
    store.write(TABLE, Partition("c"), ROWS, NOTHING)
    Memo(store, "embeddings", "m").put({b"0" * 16: b"value"})
    before = sorted(store.fs.find(store.root))
    with store_over(store) as above:
        assert above.read(TABLE, [Partition("c")])[0].num_rows == 1
        assert Memo(above, "embeddings", "m").get([b"0" * 16]) == {b"0" * 16: b"value"}
        version = above.provenance(TABLE, Partition("c"))
        above.write(TABLE, Partition("c"), ROWS.slice(0, 0), NOTHING)
        above.write(TABLE, Partition("d"), ROWS, NOTHING)
        assert above.partitions(TABLE) == [Partition("c"), Partition("d")]
        assert above.read(TABLE, [Partition("c")])[0].num_rows == 0
        assert above.provenance(TABLE, Partition("c")) != version
        above.delete(TABLE, Partition("c"))
        assert above.partitions(TABLE) == [Partition("d")]
        assert above.provenance(TABLE, Partition("c")) is None
    assert sorted(store.fs.find(store.root)) == before
    assert store.read(TABLE, [Partition("c")])[0].num_rows == 1
    with store_over(store, without=[TABLE.name]) as above:
        assert above.partitions(TABLE) == []
    if kind == "memory":
        fsspec.filesystem("memory").rm("/layered", recursive=True)
