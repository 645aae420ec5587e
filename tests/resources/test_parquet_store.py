"""The store gives back what was put in, refuses what does not fit, and never shows half a file."""

import os
import threading
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gsum_assets.pipeline.embed import vector_column
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.vectors import vectors_of
from gsum_resources.state.database import MemoryStore
from gsum_resources.store.catalogue import define_views
from gsum_resources.store.content_hash import content_hash
from gsum_resources.store.memo import Memo
from gsum_resources.store.parquet_store import ParquetStore
from gsum_resources.store.partition import Partition, Provenance, StoreError, version_of

DOCUMENTS = TABLES["documents"]
HERE = Partition("tales", "03")
BY = Provenance("", "1", {"table:source_documents/corpus=tales/bucket=03": "abc"}, "documents")

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
ROWS = st.lists(
    st.fixed_dictionaries(
        {"document_id": TEXT, "title": TEXT, "text": TEXT}
        | {"n_words": st.integers(0, 2**31 - 1)}
        | {"cites": st.none() | st.lists(TEXT, max_size=3), "encoding": st.none() | TEXT}
        | {"metadata": st.none() | TEXT, "file": st.none() | TEXT}
        | {"date": st.none() | st.dates(), "date_source": st.none() | TEXT}
    ),
    max_size=6,
)


def documents(*texts: str) -> pa.Table:
    rows = [
        {"document_id": f"d{i}", "title": "t", "text": t, "n_words": 1} for i, t in enumerate(texts)
    ]
    return pa.Table.from_pylist(rows, DOCUMENTS.schema)


@pytest.fixture(params=["local", "objects", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ParquetStore:
    if request.param == "memory":
        return MemoryStore()
    is_local = request.param == "local"
    return ParquetStore(str(tmp_path / "warehouse") if is_local else f"memory://{tmp_path.name}")


def test_each_store_in_memory_has_its_own_files() -> None:
    store, other = MemoryStore(), MemoryStore()
    store.write(DOCUMENTS, HERE, documents("x"), BY)
    Memo(store, "embeddings", "m").put({b"0" * 16: b"value"})
    assert Memo(store, "embeddings", "m").get([b"0" * 16]) == {b"0" * 16: b"value"}
    assert (store.partitions(DOCUMENTS), other.partitions(DOCUMENTS)) == ([HERE], [])


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS)
def test_rows_come_back_equal_from_store_and_sql(store: ParquetStore, rows: list[dict]) -> None:
    table = pa.Table.from_pylist(rows, DOCUMENTS.schema)
    store.write(DOCUMENTS, HERE, table, BY)
    read, _ = store.read(DOCUMENTS, [HERE])
    assert read.select(DOCUMENTS.schema.names).to_pylist() == rows
    assert set(read["bucket"].to_pylist()) <= {"03"}
    with duckdb.connect() as connection:
        define_views(connection, store, [DOCUMENTS])
        names = ", ".join(DOCUMENTS.schema.names)
        found = connection.sql(f"select {names} from documents").fetchall()
    assert found == [tuple(row[name] for name in DOCUMENTS.schema.names) for row in rows]


def test_provenance_round_trips_and_hash_identifies_content(store: ParquetStore) -> None:
    written = store.write(DOCUMENTS, HERE, documents("one"), BY)
    assert store.provenance(DOCUMENTS, HERE) == written
    assert written.inputs == BY.inputs
    assert written.rows == 1
    again = store.write(DOCUMENTS, HERE, documents("one"), replace(BY, run_id="later"))
    assert again.content_hash == written.content_hash
    other = store.write(DOCUMENTS, HERE, documents("two"), BY)
    assert other.content_hash != written.content_hash
    assert store.provenance(DOCUMENTS, HERE) == other


def test_measured_columns_do_not_affect_the_hash(store: ParquetStore) -> None:
    table = TABLES["summaries"]
    row = {"query_id": "q", "sample": 0, "text": "t", "is_refusal": False, "model": "m"}
    row |= {"calls": 1, "tokens_in": 1, "tokens_out": 1}
    here = Partition("tales", method="bm25")
    hashes = {
        store.write(
            table,
            here,
            pa.Table.from_pylist([{**row, "latency_s": s, "cost_usd": s}], table.schema),
            BY,
        ).content_hash
        for s in (0.1, 0.2)
    }
    assert len(hashes) == 1


def test_partitions_are_listed_and_missing_ones_omitted(store: ParquetStore) -> None:
    other = Partition("tales", "05")
    for partition in (other, HERE):
        store.write(DOCUMENTS, partition, documents("x"), BY)
    store.write(DOCUMENTS, Partition("else", "00"), documents("x"), BY)
    assert store.partitions(DOCUMENTS, "tales") == [HERE, other]
    rows, hashes = store.read(DOCUMENTS, [HERE, Partition("tales", "07")])
    assert rows.num_rows == 1
    assert list(hashes) == [HERE]
    store.delete(DOCUMENTS, HERE)
    assert store.partitions(DOCUMENTS, "tales") == [other]


def test_missing_files_read_as_an_empty_typed_table(store: ParquetStore) -> None:
    rows, hashes = store.read(DOCUMENTS, [HERE])
    assert hashes == {}
    assert rows.schema.names == [*DOCUMENTS.schema.names, "corpus", "bucket"]


def test_no_rows_have_one_hash_with_and_without_a_file(store: ParquetStore) -> None:
    missing, _ = store.read(DOCUMENTS, [HERE])
    store.write(DOCUMENTS, HERE, DOCUMENTS.empty(), BY)
    assert content_hash(store.read(DOCUMENTS, [HERE])[0]) == content_hash(missing)


@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.list_(pa.float32(), 2)])
def test_lists_have_one_hash_in_memory_and_from_a_file(kind: pa.DataType) -> None:
    built = pa.table({"vector": pa.array([[1.0, 2.0]], kind)})
    pq.write_table(built, stream := pa.BufferOutputStream())
    read = pq.read_table(pa.BufferReader(stream.getvalue()))
    assert str(read.schema.field("vector").type) != str(kind)
    assert content_hash(read) == content_hash(built)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (documents("x").drop_columns(["title"]), r"missing columns \['title'\]"),
        (
            documents("x").append_column("colour", pa.array(["red"])),
            r"unknown columns \['colour'\]",
        ),
        (documents("x").set_column(3, "n_words", pa.array(["one"])), "'n_words' has type string"),
        (documents("x").set_column(3, "n_words", pa.array([2**40])), "'n_words' does not fit"),
        (
            documents("x").set_column(1, "title", pa.array([None], pa.string())),
            "'title' has 1 null",
        ),
    ],
)
def test_mismatched_tables_are_refused_by_name(
    store: ParquetStore, broken: pa.Table, message: str
) -> None:
    store.write(DOCUMENTS, HERE, documents("good"), BY)
    with pytest.raises(StoreError, match=message) as error:
        store.write(DOCUMENTS, HERE, broken, BY)
    assert "table 'documents' written by asset 'documents'" in str(error.value)
    assert store.read(DOCUMENTS, [HERE])[0]["text"].to_pylist() == ["good"]


def test_interrupted_write_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ParquetStore(str(tmp_path))
    store.write(DOCUMENTS, HERE, documents("old"), BY)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", die)
        with pytest.raises(KeyboardInterrupt):
            store.write(DOCUMENTS, HERE, documents("new"), BY)
    assert store.read(DOCUMENTS, [HERE])[0]["text"].to_pylist() == ["old"]
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["data.parquet"]


def test_foreign_file_is_reported(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    path = Path(store.path(DOCUMENTS, HERE))
    path.parent.mkdir(parents=True)
    pq.write_table(documents("x"), path)
    with pytest.raises(StoreError, match="not written by gsum"):
        store.provenance(DOCUMENTS, HERE)


def test_vectors_are_read_without_copying(store: ParquetStore) -> None:
    vectors = np.random.default_rng(0).normal(size=(50, 12)).astype(np.float32)
    ids = [f"c{i}" for i in range(50)]
    table = pa.table({"chunk_id": ids, "document_id": ids, "embedding": vector_column(vectors)})
    here, empty = Partition("tales", "00"), Partition("tales", "01")
    store.write(TABLES["chunk_embeddings"], here, table, BY)
    store.write(TABLES["chunk_embeddings"], empty, table.slice(0, 0), BY)
    read, _ = store.read(TABLES["chunk_embeddings"], [empty, here])
    found = vectors_of(read, ids)
    assert (found == vectors).all()
    assert not found.flags.owndata


def test_empty_vectors_are_equal_at_any_length(store: ParquetStore) -> None:
    table = TABLES["query_embeddings"]
    hashes = {
        store.write(table, HERE, rows, BY).content_hash
        for rows in (
            table.empty(),
            *(
                pa.table({"query_id": pa.array([], pa.string()), "embedding": vector_column(none)})
                for none in (np.empty((0, 3)), np.empty((0, 12)))
            ),
        )
    }
    assert len(hashes) == 1


def test_hash_does_not_depend_on_memory_layout() -> None:
    schema = pa.schema(
        [("a", pa.string()), ("b", pa.list_(pa.string())), ("c", pa.float64()), ("d", pa.bool_())]
    )
    rows = [
        {"a": "x", "b": ["p", "q"], "c": 1.5, "d": True},
        {"a": None, "b": [], "c": None, "d": False},
        {"a": "", "b": None, "c": 2.5, "d": None},
    ]
    whole = pa.Table.from_pylist(rows, schema)
    padded = pa.Table.from_pylist([rows[2], *rows, rows[0]], schema).slice(1, 3)
    in_parts = pa.concat_tables([whole.slice(0, 1), whole.slice(1, 2)])
    assert content_hash(padded) == content_hash(in_parts) == content_hash(whole)


@example([("ab", ""), ("c", "")], [("a", ""), ("bc", "")])
@given(st.lists(st.tuples(TEXT, TEXT), max_size=4), st.lists(st.tuples(TEXT, TEXT), max_size=4))
def test_hash_differs_where_rows_differ(first: list, second: list) -> None:
    schema = pa.schema([("a", pa.string()), ("b", pa.string())])

    def hashed(rows: list) -> str:
        columns = [[row[i] for row in rows] for i in (0, 1)]
        return content_hash(pa.table(columns, schema=schema))

    assert (hashed(first) == hashed(second)) == (first == second)


def test_set_version_changes_with_its_members() -> None:
    one = {HERE: "a", Partition("tales", "04"): "b"}
    assert version_of(one) == version_of(dict(reversed(one.items())))
    assert len({version_of(one), version_of({HERE: "a"}), version_of({**one, HERE: "b"})}) == 3


def test_null_differs_from_every_value() -> None:
    false = [False] * 7
    first = pa.table({"a": pa.array([*false, None], pa.bool_())})
    second = pa.table({"a": pa.array([True, *false], pa.bool_())})
    assert content_hash(first) != content_hash(second)


def test_old_leftovers_of_killed_writers_are_deleted(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    store.write(DOCUMENTS, HERE, documents("kept"), BY)
    folder = Path(store.path(DOCUMENTS, HERE)).parent
    old, young = folder / "data.parquet.0.part", folder / "data.parquet.1.part"
    for trace in (old, young):
        trace.touch()
    os.utime(old, (0, 0))
    store.sweep()
    assert sorted(path.name for path in folder.iterdir()) == ["data.parquet", young.name]


def test_other_files_beside_a_table_are_ignored(store: ParquetStore) -> None:
    whole, here = replace(DOCUMENTS, dimensions=("corpus",)), Partition("tales")
    written = store.write(whole, here, documents("before"), BY)
    folder = store.path(whole, here).rpartition("/")[0]
    store.fs.pipe_file(f"{folder}/changes.parquet", b"rows that differ")
    assert store.read(whole, [here])[0]["text"].to_pylist() == ["before"]
    assert store.footers(whole, store.stamped(whole)) == {here: written}
    with duckdb.connect() as connection:
        define_views(connection, store, [whole])
        assert connection.sql("select text from documents").fetchall() == [("before",)]
        assert connection.sql("select row_count from provenance").fetchall() == [(1,)]


def test_a_reader_sees_whole_versions_while_others_write(tmp_path: Path) -> None:
    store, n_versions = ParquetStore(str(tmp_path)), 60
    store.write(DOCUMENTS, HERE, documents("0"), BY)

    def write() -> None:
        for n in range(1, n_versions):
            ParquetStore(str(tmp_path)).write(DOCUMENTS, HERE, documents(*[str(n)] * n), BY)

    writer = threading.Thread(target=write)
    writer.start()
    while writer.is_alive():
        texts = store.read(DOCUMENTS, [HERE])[0]["text"].to_pylist()
        assert texts == [texts[0]] * (int(texts[0]) or 1)
    writer.join()
    footer = store.provenance(DOCUMENTS, HERE)
    assert footer
    assert footer.rows == n_versions - 1
