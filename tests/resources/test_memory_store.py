"""A store in memory is its own, and writes nothing to disk."""

import pyarrow as pa

from gsum_assets.pipeline.tables import TABLES
from gsum_resources.state.memory_store import MemoryStore
from gsum_resources.store.memo import Memo
from gsum_resources.store.parquet_store import Partition, Provenance

TABLE = TABLES["source_queries"]
ROWS = pa.table({"file": ["queries.jsonl"], "content_hash": ["0"]}, TABLE.schema)


def test_each_store_has_its_own_files() -> None:
    store, other = MemoryStore(), MemoryStore()
    written = store.write(TABLE, Partition("c"), ROWS, Provenance("", ""))
    Memo(store, "embeddings", "m").put({b"0" * 16: b"value"})
    assert store.partitions(TABLE) == [Partition("c")]
    assert store.read(TABLE, [Partition("c")])[0].num_rows == 1
    assert Memo(store, "embeddings", "m").get([b"0" * 16]) == {b"0" * 16: b"value"}
    assert other.partitions(TABLE) == []
    store.write(TABLE, Partition("c"), ROWS.slice(0, 0), Provenance("", ""))
    assert store.provenance(TABLE, Partition("c")) != written
    store.delete(TABLE, Partition("c"))
    assert store.partitions(TABLE) == []
