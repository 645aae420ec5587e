"""Which later writes of other partitions make a file out of date, and which do not."""

from pathlib import Path

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from gsum_resources.store.input_key import InputKey
from gsum_resources.store.lineage import Lineage, Reads
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance
from gsum_resources.store.table import Column, Table

PASSAGES = Table(
    "passages", "passage", (Column("n", pa.int64(), "a number"),), ("corpus", "method")
)
BOARD = Table("board", "method", (Column("n", pa.int64(), "a number"),), ("corpus",))
CHUNKS = Table("chunks", "chunk", (Column("n", pa.int64(), "a number"),), ("corpus", "bucket"))
TABLES = {table.name: table for table in (PASSAGES, BOARD, CHUNKS)}
FAMILIES = {"walks": ["walk", "jump"], "words": ["bm25"]}
HERE = Partition("tales")
names = st.text("abz09._-", min_size=1)
parts = st.none() | names


def write(store: ParquetStore, table: Table, partition: Partition, n: int, **inputs: str) -> str:
    rows = pa.table({"n": pa.array([n], pa.int64())}, schema=table.schema)
    footer = Provenance("", f"/{table.fingerprint}", **inputs)  # type: ignore[arg-type]
    return store.write(table, partition, rows, footer).content_hash


def changes(store: ParquetStore) -> list[str]:
    return Lineage(store, TABLES, lambda _: None, FAMILIES).changes("board", HERE, None)


def board_of_walks(store: ParquetStore) -> None:
    """Write a board from the passages of the one walk that there is."""
    walk = Partition("tales", method="walk")
    reads = Reads()
    reads.table(PASSAGES, {walk: write(store, PASSAGES, walk, 1)}, "walks")
    write(store, BOARD, HERE, 1, inputs=reads.inputs_of(HERE))  # type: ignore[arg-type]


def test_methods_of_another_family_in_the_same_table_change_nothing(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    board_of_walks(store)
    write(store, PASSAGES, Partition("tales", method="bm25"), 2)
    write(store, PASSAGES, Partition("tales", method="of-an-older-gsum"), 3)
    write(store, PASSAGES, Partition("letters", method="walk"), 4)
    assert changes(store) == []


def test_methods_of_the_family_that_was_read_make_out_of_date(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    board_of_walks(store)
    write(store, PASSAGES, Partition("tales", method="jump"), 2)
    assert changes(store) == ["table:passages/corpus=tales/family=walks"]


def test_families_of_one_table_are_recorded_apart() -> None:
    reads = Reads()
    reads.table(PASSAGES, {Partition("tales", method="walk"): "a"}, "walks")
    reads.table(PASSAGES, {Partition("tales", method="bm25"): "b"}, "words")
    inputs = reads.inputs_of(HERE)
    assert len(set(inputs.values())) == 2
    assert set(inputs) == {f"table:passages/corpus=tales/family={f}" for f in FAMILIES}
    of_a_method = reads.inputs_of(Partition("tales", method="walk"))
    assert "table:passages/corpus=tales/method=walk" in of_a_method


def test_bucket_without_a_file_depends_on_no_other_bucket(tmp_path: Path) -> None:
    store, reads, bucket = ParquetStore(str(tmp_path)), Reads(), Partition("tales", "03")
    reads.table(CHUNKS, {})
    (key,) = reads.inputs_of(bucket)
    lineage = Lineage(store, TABLES, lambda _: None)
    before = lineage.present_version(InputKey.parse(key))
    write(store, CHUNKS, Partition("tales", "04"), 1)
    assert Lineage(store, TABLES, lambda _: None).present_version(InputKey.parse(key)) == before


@given(st.builds(InputKey, names, names, parts, parts, parts, parts))
def test_keys_are_read_as_they_were_written(key: InputKey) -> None:
    assert InputKey.parse(str(key)) == key
