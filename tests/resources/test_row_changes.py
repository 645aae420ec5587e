"""Changes merged with their base are the rows that were written, at every moment."""

import os
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gsum_resources.dagster_io.table_metadata import of_file
from gsum_resources.store import parquet_store
from gsum_resources.store.arrow import decoded
from gsum_resources.store.catalogue import build_catalogue, define_views
from gsum_resources.store.lineage import Lineage
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance
from gsum_resources.store.row_changes import GONE, ROW, changes_of, difference, merged
from gsum_resources.store.table import Column, Table

DIMENSION = 6
TABLE = Table(
    "edges",
    "edge",
    (
        Column("source_id", pa.string(), "text"),
        Column("note", pa.string(), "text that may be null", True),
        Column("n", pa.int32(), "number"),
        Column("weight", pa.float64(), "number that may be null", True),
        Column("is_chosen", pa.bool_(), "truth value, or null", True),
        Column("time", pa.timestamp("us", "UTC"), "time"),
        Column("chunk_ids", pa.list_(pa.string()), "texts"),
        Column("places", pa.list_(pa.int32()), "numbers, or null", True),
        Column("embedding", pa.list_(pa.float32()), "vector"),
        Column("latency_s", pa.float64(), "seconds", measured=True),
    ),
)
HERE, THERE = Partition("tales"), Partition("minutes")
BY = Provenance("", "1", {"table:chunks/corpus=tales": "abc"}, "edges")
TEXTS = ("source_id", "note")


def row(random: np.random.Generator) -> dict[str, Any]:
    """A random row of few values, so that equal rows occur."""
    n = int(random.integers(40))
    return {
        "source_id": f"c{n % 13}",
        "note": f"d{n % 3}" if n % 3 else None,
        "n": n % 7,
        "weight": n % 5 / 4 if n % 5 else None,
        "is_chosen": bool(n % 2) if n % 9 else None,
        "time": datetime(2026, 1, 1 + n % 2, tzinfo=UTC),
        "chunk_ids": [f"c{i}" for i in range(n % 4)],
        "places": list(range(n % 3)) if n % 4 else None,
        "embedding": [float(n % 11 + i) for i in range(DIMENSION)],
        "latency_s": 0.5,
    }


def table_of(rows: list[dict[str, Any]], is_encoded: bool = False) -> pa.Table:
    """Rows as a step passes them: vectors of one length; ids as dictionaries if `is_encoded`."""
    columns = []
    for column in TABLE.columns:
        values = [one[column.name] for one in rows]
        kind = pa.list_(pa.float32(), DIMENSION) if column.name == "embedding" else column.type
        array = pa.array(values, kind)
        encoded = is_encoded and column.name == "source_id"
        columns.append(array.dictionary_encode() if encoded else array)
    return pa.table(columns, TABLE.schema.names)


def edited(rows: list[dict[str, Any]], random: np.random.Generator) -> list[dict[str, Any]]:
    """Rows after a few replacements, insertions, removals and moves."""
    rows = list(rows)
    for _ in range(random.integers(5)):
        at, to = random.integers(len(rows), size=2)
        kind = random.integers(4)
        if kind == 0:
            rows[at] = row(random)
        elif kind == 1:
            rows.insert(at, row(random))
        elif kind == 2:
            del rows[at]
        else:
            rows.insert(to, rows.pop(at))
    return rows


def histories(n: int = 12) -> Iterator[tuple[np.random.Generator, list[list[dict[str, Any]]]]]:
    """Random rows, each followed by its edits."""
    for seed in range(n):
        random = np.random.default_rng(seed)
        rows = [[row(random) for _ in range(random.integers(20, 60))]]
        for _ in range(6):
            rows.append(edited(rows[-1], random))
        yield random, rows


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tables have changes, too."""
    monkeypatch.setattr(parquet_store, "LEAST_ROWS", 2)


@pytest.fixture(params=["local", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ParquetStore]:
    if request.param == "local":
        yield ParquetStore(str(tmp_path / "warehouse"))
        return
    store = ParquetStore(f"memory://{uuid.uuid4().hex}/warehouse")
    yield store
    if store.fs.exists(store.root):
        store.fs.rm(store.root, recursive=True)


def names(store: ParquetStore, partition: Partition = HERE) -> list[str]:
    """The files of a partition."""
    folder = store.path(TABLE, partition).rpartition("/")[0]
    return sorted(path.rpartition("/")[2] for path in store.fs.find(folder))


def stored(store: ParquetStore, partition: Partition = HERE) -> list[dict[str, Any]]:
    """The rows that the store reads."""
    return store.read(TABLE, [partition])[0].select(TABLE.schema.names).to_pylist()


def in_sql(store: ParquetStore, partition: Partition = HERE) -> list[str]:
    """The rows of the view, which have no order."""
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        define_views(connection, store, [TABLE])
        columns = ", ".join(TABLE.schema.names)
        query = f"select {columns} from edges where corpus = '{partition.corpus}'"
        return unordered(connection.sql(query).to_arrow_table().to_pylist())


def unordered(rows: list[dict[str, Any]]) -> list[str]:
    """Rows as sorted texts."""
    return sorted(repr(one | {"time": one["time"].isoformat()}) for one in rows)


def some(n: int = 40, **changed: Any) -> list[dict[str, Any]]:
    """Rows that all differ."""
    random = np.random.default_rng(7)
    return [row(random) | {"n": i} | changed for i in range(n)]


@pytest.mark.parametrize("is_encoded", [False, True])
def test_changes_make_the_base_the_rows_that_were_written(is_encoded: bool) -> None:
    n_small = 0
    for random, (first, *others) in histories(40):
        base = table_of(first, bool(random.integers(2)))
        for rows in others:
            now = table_of(rows, is_encoded)
            found = difference(base, now)
            if found is None:
                continue
            n_small += 1
            changes = decoded(changes_of(now, found))
            assert merged(decoded(base), changes).to_pylist() == rows
    assert n_small > 100


def at(*positions: int) -> list[int]:
    return list(positions)


@pytest.mark.parametrize(
    ("change", "gone", "added"),
    [
        (lambda rows: rows, at(), at()),
        (lambda rows: [*rows[:5], rows[5] | {"note": "new"}, *rows[6:]], at(5), at(5)),
        (lambda rows: [*rows[:5], rows[5] | {"note": None}, *rows[6:]], at(5), at(5)),
        (lambda rows: [*rows[:5], rows[5] | {"chunk_ids": ["x"]}, *rows[6:]], at(5), at(5)),
        (lambda rows: [*rows[:5], rows[5] | {"places": []}, *rows[6:]], at(5), at(5)),
        (lambda rows: [*rows[:5], *rows[6:]], at(5), at()),
        (lambda rows: [rows[0], *rows], at(), at(1)),  # the first of two equal rows is kept
        (lambda rows: [rows[-1], *rows[:-1]], at(39), at(0)),  # one row moved, not 39
        (lambda rows: [*rows[10:12], *rows[:10], *rows[12:]], at(10, 11), at(0, 1)),
    ],
)
def test_no_more_than_what_changed_is_a_change(
    change: Callable[[list], list], gone: list[int], added: list[int]
) -> None:
    rows = [one | {"places": [one["n"]]} for one in some(note="old")]
    found = difference(table_of(rows), table_of(change(rows)))
    assert found
    assert (found.gone.tolist(), found.added.tolist()) == (gone, added)


def test_vectors_and_lists_differ_by_the_order_of_their_values() -> None:
    rows = some(embedding=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], chunk_ids=["a", "b"])
    now = [*rows]
    now[3] = now[3] | {"embedding": [2.0, 1.0, 3.0, 4.0, 5.0, 6.0]}
    now[8] = now[8] | {"chunk_ids": ["b", "a"]}
    now[9] = now[9] | {"chunk_ids": ["a"]}
    found = difference(table_of(rows), table_of(now))
    assert found
    assert found.added.tolist() == [3, 8, 9]


def test_many_changes_and_another_order_are_no_small_difference() -> None:
    rows = some(100)
    assert difference(table_of(rows), table_of(rows[::-1])) is None
    assert difference(table_of(rows), table_of(rows[:70])) is None
    assert difference(table_of(rows[:70]), table_of(rows)) is None
    assert difference(table_of(rows), table_of(rows[:90])) is not None


def test_every_reader_sees_the_rows_that_were_written(store: ParquetStore) -> None:
    n_changes, rows, written = 0, [], BY
    for random, history in histories(4):
        for rows in history:
            is_encoded = bool(random.integers(2))
            given = replace(BY, run_id=uuid.uuid4().hex)
            written = store.write(TABLE, HERE, table_of(rows, is_encoded), given)
            n_changes += len(names(store)) > 1
            read, hashes = store.read(TABLE, [HERE])
            assert read.select(TABLE.schema.names).to_pylist() == rows
            assert hashes == {HERE: written.content_hash}
            two, _ = store.read(TABLE, [HERE], ["weight", "source_id"])
            assert two["source_id"].to_pylist() == [one["source_id"] for one in rows]
            encoded, _ = store.read(TABLE, [HERE], as_dictionaries=TEXTS)
            assert encoded["note"].to_pylist() == [one["note"] for one in rows]
            assert pa.types.is_dictionary(encoded.schema.field("note").type)
            assert in_sql(store) == unordered(rows)
            assert store.provenance(TABLE, HERE) == written
            assert store.count(TABLE, "tales") == written.rows == len(rows)
            assert store.footers(TABLE, store.stamped(TABLE)) == {HERE: written}
    assert n_changes > 10
    store.compact("tales")
    assert names(store) == ["data.parquet"]
    assert stored(store) == rows
    assert in_sql(store) == unordered(rows)
    now = store.provenance(TABLE, HERE)
    assert now == replace(written, written=len(rows))


def test_few_changed_rows_are_few_written_rows(store: ParquetStore) -> None:
    rows = some()
    assert store.write(TABLE, HERE, table_of(rows), BY).written == 40
    base = store.fs.cat_file(store.path(TABLE, HERE))
    size = store.size(TABLE, HERE)
    for n in (1, 2, 3):  # counted from the base
        rows[n] = rows[n] | {"note": "changed"}
        assert store.write(TABLE, HERE, table_of(rows), BY).written == n
        assert store.fs.cat_file(store.path(TABLE, HERE)) == base
        assert store.size(TABLE, HERE) > size
    for n in range(20):
        rows[n] = rows[n] | {"note": "changed again"}
    assert store.write(TABLE, HERE, table_of(rows), BY).written == 40
    assert names(store) == ["data.parquet"]
    assert stored(store) == rows


def test_equal_rows_of_another_origin_are_not_written_again(store: ParquetStore) -> None:
    rows = some()
    store.write(TABLE, HERE, table_of(rows), BY)
    later = replace(BY, inputs={"table:chunks/corpus=tales": "def"}, run_id="later", failed=2)
    written = store.write(TABLE, HERE, table_of(rows), later)
    assert (written.written, written.rows) == (0, 40)
    assert store.provenance(TABLE, HERE) == written
    assert stored(store) == rows
    with duckdb.connect() as connection:
        define_views(connection, store, [TABLE])
        (found,) = connection.sql("select file, run_id, failed from provenance").fetchall()
    assert found[0].endswith("corpus=tales/data.parquet")
    assert found[1:] == ("later", 2)


def test_metadata_has_the_size_of_both_files_and_the_rows_written(store: ParquetStore) -> None:
    rows = some()
    for note in ("old", "new"):
        rows[0] = rows[0] | {"note": note}
        given = table_of(rows)
        written = store.write(TABLE, HERE, given, BY)
        found = of_file(store, TABLE, HERE, given, written, written.rows)
        sizes = [store.fs.size(path) for path in store.fs.find(store.root)]
        assert found["dagster/size_bytes"] == sum(sizes)
        assert found["dagster/partition_row_count"] == 40
        assert found.get("rows_written") == (1 if note == "new" else None)


def test_measurements_alone_are_no_changes(store: ParquetStore) -> None:
    rows = some()
    store.write(TABLE, HERE, table_of(rows), BY)
    again = [one | {"latency_s": 9.0} for one in rows]
    assert store.write(TABLE, HERE, table_of(again), BY).written == 0
    again[4] = again[4] | {"note": "changed"}
    assert store.write(TABLE, HERE, table_of(again), BY).written == 1
    expected = [one["latency_s"] for one in rows]
    expected[4] = 9.0
    assert [one["latency_s"] for one in stored(store)] == expected


def test_other_tables_are_written_as_a_whole(
    store: ParquetStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_bucket = replace(TABLE, dimensions=("corpus", "bucket"))
    here = Partition("tales", "00")
    for _ in range(2):
        assert store.write(by_bucket, here, table_of(some()), BY).written == 40
    monkeypatch.setattr(parquet_store, "LEAST_ROWS", 41)
    for _ in range(2):
        assert store.write(TABLE, HERE, table_of(some()), BY).written == 40
    monkeypatch.setattr(parquet_store, "LEAST_ROWS", 2)
    monkeypatch.setattr(parquet_store, "MOST_ROWS", 39)
    assert store.write(TABLE, HERE, table_of(some(note="other")), BY).written == 40
    assert len([path for path in store.fs.find(store.root) if "changes" in path]) == 0


def test_damaged_files_are_replaced(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    store.write(TABLE, HERE, table_of(some()), BY)
    path = Path(store.path(TABLE, HERE))
    rows = pq.ParquetFile(path).read()  # the footer stays
    pq.write_table(pa.concat_tables([rows.slice(1, 1), rows.slice(1)]), path)
    assert stored(store) != some()
    assert store.write(TABLE, HERE, table_of(some()), BY).written == 1
    assert stored(store) == some()
    path.write_bytes(path.read_bytes()[:-100])
    assert store.write(TABLE, HERE, table_of(some()), BY).written == 40
    assert stored(store) == some()


class Killed(BaseException):
    """The process ends here."""


def test_a_kill_leaves_the_old_rows_or_the_new_ones(
    store: ParquetStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = some()
    few = [first[0] | {"note": "few"}, *first[1:]]
    many = [one | {"note": "many"} for one in first]
    seen = set()
    for before, after in ((first, few), (few, many), (few, first), (few, [*few, few[0]])):
        for step in range(1, 6):
            store.delete(TABLE, HERE)
            store.write(TABLE, HERE, table_of(first), BY)
            store.write(TABLE, HERE, table_of(before), BY)
            with monkeypatch.context() as patch:
                _kill_at(patch, store, step)
                try:
                    store.write(TABLE, HERE, table_of(after), BY)
                except Killed:
                    seen.add(len(names(store)))
            assert stored(store) in (before, after)
            assert in_sql(store) == unordered(stored(store))
            known = store.provenance(TABLE, HERE)
            assert known
            assert {HERE: known.content_hash} == store.read(TABLE, [HERE])[1]
            store.write(TABLE, HERE, table_of(after), BY)
            assert stored(store) == after
    assert 2 in seen  # a new base beside the changes of the old one


def _kill_at(patch: pytest.MonkeyPatch, store: ParquetStore, step: int) -> None:
    """Let the process end before or after one of its operations on files."""
    left = [step]

    def patched(owner: Any, name: str) -> None:
        operation = getattr(owner, name)

        def take(*given: Any, **how: Any) -> Any:
            for moment in (lambda: None, lambda: operation(*given, **how)):
                result = moment()
                left[0] -= 1
                if not left[0]:
                    raise Killed
            return result

        patch.setattr(owner, name, take)

    patched(os, "replace")
    patched(store.fs, "rm_file")
    if not store.is_local:
        patched(store.fs, "pipe_file")


def test_changes_of_another_base_are_ignored_and_removed(store: ParquetStore) -> None:
    first = some()
    few = [first[0] | {"note": "few"}, *first[1:]]
    store.write(TABLE, HERE, table_of(first), BY)
    store.write(TABLE, HERE, table_of(few), BY)
    path = store.path(TABLE, HERE).replace("data", "changes")
    old = store.fs.cat_file(path)
    store.delete(TABLE, HERE)
    assert not names(store)
    store.fs.pipe_file(path, old)  # as if killed before the removal
    assert not store.partitions(TABLE)
    assert stored(store) == in_sql(store) == []
    store.write(TABLE, HERE, table_of(first), BY)
    store.fs.pipe_file(path, old)
    assert stored(store) == first  # though the base has the same rows as that of the changes
    assert in_sql(store) == unordered(first)
    assert store.write(TABLE, HERE, table_of(few), BY).written == 1
    store.fs.pipe_file(path, old)
    store.compact("tales")
    assert names(store) == ["data.parquet"]


def test_a_reader_sees_whole_versions_while_others_write(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    first = some()
    versions = [
        [first[0] | {"note": "few"}, *first[1:]],
        [one | {"note": "many"} for one in first],
        first,
        first[3:],
    ]
    known = {}
    for rows in versions:
        known[store.write(TABLE, HERE, table_of(rows), BY).content_hash] = rows
    is_done, seen = threading.Event(), set()

    def write() -> None:
        for n in range(120):
            ParquetStore(str(tmp_path)).write(TABLE, HERE, table_of(versions[n % 4]), BY)
        is_done.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not is_done.is_set():
        rows, hashes = store.read(TABLE, [HERE])
        seen.add(hashes[HERE])
        assert rows.select(TABLE.schema.names).to_pylist() == known[hashes[HERE]]
    writer.join()
    assert len(seen) > 1


def test_views_follow_changes_without_being_built_again(store: ParquetStore) -> None:
    rows, other = some(), some(note="other")
    for partition in (HERE, THERE):
        store.write(TABLE, partition, table_of(rows), BY)
    with duckdb.connect() as connection:
        define_views(connection, store, [TABLE])

        def notes() -> list[tuple]:
            query = "select corpus, count(*), count(*) filter (note = 'new') from edges group by 1"
            return sorted(connection.sql(query).fetchall())

        assert notes() == [("minutes", 40, 0), ("tales", 40, 0)]
        rows[2:5] = [rows[2] | {"note": "new"}]
        store.write(TABLE, HERE, table_of(rows), BY)
        assert notes() == [("minutes", 40, 0), ("tales", 38, 1)]
        store.write(TABLE, THERE, table_of(rows), BY)
        assert notes() == [("minutes", 38, 1), ("tales", 38, 1)]
        store.compact("tales")
        store.write(TABLE, THERE, table_of(other), BY)
        assert notes() == [("minutes", 40, 0), ("tales", 38, 1)]


def test_a_catalogue_can_be_read_without_gsum(tmp_path: Path) -> None:
    store, path = ParquetStore(str(tmp_path / "it's here")), tmp_path / "gsum.duckdb"
    rows = some()
    build_catalogue(store, [TABLE], path)
    store.write(TABLE, HERE, table_of(rows), BY)
    build_catalogue(store, [TABLE], path)
    rows[2] = rows[2] | {"note": "new"}
    store.write(TABLE, HERE, table_of(rows), BY)
    with duckdb.connect(str(path), read_only=True) as connection:
        assert connection.sql("select n from edges where note = 'new'").fetchall() == [(2,)]
        assert connection.sql("from edges").columns == ["corpus", *TABLE.schema.names]
        assert connection.sql("select row_count from provenance").fetchall() == [(40,)]


def test_a_file_of_changes_is_plain_parquet(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    rows = some()
    store.write(TABLE, HERE, table_of(rows), BY)
    store.write(TABLE, HERE, table_of([*rows[:4], *rows[7:], rows[0]]), BY)
    path = store.path(TABLE, HERE).replace("data", "changes")
    found = pq.ParquetFile(path).read()
    assert found.column_names == [*TABLE.schema.names, ROW, GONE]
    assert found[ROW].to_pylist() == [37]
    assert found[GONE].to_pylist() == [[4, 5, 6]]


def test_requests_to_an_object_store_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    store = ParquetStore(f"memory://{uuid.uuid4().hex}/warehouse")
    rows = some()
    made: list[str] = []
    for name in ("find", "glob", "ls", "info", "exists", "cat_file", "pipe_file", "rm_file"):
        operation = getattr(store.fs, name)

        def counted(*given: Any, name: str = name, operation: Any = operation, **how: Any) -> Any:
            made.append(name)
            n = len(made)
            try:
                return operation(*given, **how)
            finally:
                del made[n:]

        monkeypatch.setattr(store.fs, name, counted)

    def requests(action: Callable[[], Any]) -> list[str]:
        made.clear()
        action()
        return sorted(made)

    def snapshot() -> None:
        found = Lineage(store, {TABLE.name: TABLE}, lambda _: None)
        assert found.provenances(TABLE.name, "tales")

    def write() -> None:
        store.write(TABLE, HERE, table_of(rows), BY)

    write()
    assert requests(snapshot) == ["cat_file", "find"]
    assert requests(lambda: stored(store)) == ["cat_file", "cat_file"]  # one may find nothing
    assert requests(write) == ["cat_file", "pipe_file"]
    assert requests(snapshot) == ["cat_file", "cat_file", "find"]
    assert requests(snapshot) == ["find"]
    assert requests(lambda: stored(store)) == ["cat_file", "cat_file"]
    with monkeypatch.context() as patch:
        patch.setattr(parquet_store, "LEAST_ROWS", 1000)
        assert requests(write) == ["pipe_file"]
