"""Columns whose texts or lists do not fit into one array; the limit is made small."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.contexts import top_contexts
from gsum_resources.store import arrow, parquet_rows
from gsum_resources.store.arrow import repeated, rows_at, taken
from gsum_resources.store.content_hash import content_hash
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance
from tests.lightpal.toys import candidates, edges_of, topic_tables

MOST = 500
NEW = Provenance("", "1")


def written() -> Iterator[pa.Table]:
    """Tables with lists of passages."""
    documents, chunks, vectors = topic_tables(2, 3, 4)
    here = Collection.from_tables(documents, chunks, vectors)
    yield candidates(here, 8)
    yield edges_of(here)


def test_lists_are_in_arrays_below_the_limit(monkeypatch: pytest.MonkeyPatch):
    expected = list(written())
    monkeypatch.setattr(arrow, "MOST_VALUES", 20)
    for rows, whole in zip(written(), expected, strict=True):
        lists = [column for column in rows.columns if pa.types.is_list(column.type)]
        assert lists
        for column in lists:
            assert column.num_chunks > 2
            assert all(len(chunk.flatten()) <= 20 for chunk in column.chunks)
        rows.validate(full=True)
        assert rows.equals(whole)
        assert content_hash(rows) == content_hash(whole)


@pytest.mark.parametrize("most", [1, 4, 100])
def test_lists_return_their_values(monkeypatch: pytest.MonkeyPatch, most):
    monkeypatch.setattr(arrow, "MOST_VALUES", most)  # a list may be longer than that
    lengths = np.array([0, 3, 0, 1, 6, 0])
    lists = arrow.as_lists(pa.array(np.arange(10.0)), lengths)
    assert lists.to_pylist() == [[], [0, 1, 2], [], [3], [4, 5, 6, 7, 8, 9], []]
    assert arrow.lengths_of(lists).tolist() == lengths.tolist()
    assert arrow.values_of(lists.slice(1, 3)).tolist() == [0, 1, 2, 3]
    nothing = arrow.as_lists(pa.array([], pa.int64()), np.empty(0, np.int64))
    assert nothing.type == pa.list_(pa.int64())
    assert arrow.values_of(nothing).tolist() == arrow.lengths_of(nothing).tolist() == []


def test_dictionaries_of_many_rows_are_stored_as_texts(tmp_path, monkeypatch: pytest.MonkeyPatch):
    store = ParquetStore(str(tmp_path))
    tables = [TABLES[f"lightpal.{name}"] for name in ("candidates", "passage_edges")]
    plain = [
        store.write(t, Partition("plain"), r, NEW) for t, r in zip(tables, written(), strict=True)
    ]
    monkeypatch.setattr(parquet_rows, "_GROUP_ROWS", 100)
    monkeypatch.setattr("gsum_resources.store.content_hash._ROWS_AT_ONCE", 7)
    for table, rows, expected in zip(tables, written(), plain, strict=True):
        for index, name in enumerate(rows.column_names):
            if pa.types.is_string(rows.schema.field(name).type):
                rows = rows.set_column(index, name, rows[name].dictionary_encode())
        found = store.write(table, Partition("many"), rows, NEW)
        assert found.content_hash == expected.content_hash
        names = [column.name for column in table.columns]
        read = [
            store.read(table, [Partition(corpus)], names)[0].select(names).combine_chunks()
            for corpus in ("plain", "many")
        ]
        assert read[0].equals(read[1])
        assert read[1].schema.equals(table.schema)


def test_large_texts_of_chunks_are_ordered_and_cited(monkeypatch: pytest.MonkeyPatch):
    documents, chunks, _ = topic_tables(2, 3, 4)
    turned = chunks.take(list(range(chunks.num_rows))[::-1])
    ids = chunks["chunk_id"].to_pylist()[:3]
    rankings = pa.table(
        {"query_id": ["q"] * 3, "level": ["node"] * 3}
        | {"rank": pa.array([1, 2, 3], pa.int32()), "item_id": ids, "score": [3.0, 2.0, 1.0]}
    )
    expected = Collection.from_tables(documents, chunks).chunk_texts
    monkeypatch.setattr(arrow, "MOST_TEXT_BYTES", MOST)
    assert Collection.from_tables(documents, turned).chunk_texts == expected
    chunks = chunks.set_column(2, "position", pa.array(chunks["position"].to_pylist(), pa.int32()))
    assert top_contexts(rankings, chunks, 3)["text"].to_pylist() == list(expected[:3])


TEXTS = pa.array(["a", "bcd", "", "ef"])


@pytest.fixture
def _few_bytes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(arrow, "MOST_TEXT_BYTES", 6)


def n_bytes(column: pa.ChunkedArray) -> list[int]:
    return [sum(len(text or "") for text in chunk.to_pylist()) for chunk in column.chunks]


@pytest.mark.usefixtures("_few_bytes")
def test_taken_texts_are_in_several_arrays():
    indices = np.array([1, 0, 1, 3, 2, 1, 1])
    column = taken(TEXTS, indices)
    assert column.to_pylist() == TEXTS.take(pa.array(indices)).to_pylist()
    assert column.num_chunks == 4
    assert max(n_bytes(column)) <= 6
    column.validate(full=True)


@pytest.mark.usefixtures("_few_bytes")
def test_no_taken_text_is_an_empty_column():
    assert taken(TEXTS, np.empty(0, np.int64)).equals(pa.chunked_array([], pa.string()))
    assert taken(pa.array([], pa.string()), np.empty(0, np.int32)).to_pylist() == []


@pytest.mark.usefixtures("_few_bytes")
@pytest.mark.parametrize("n", [0, 1, 3, 7])
def test_repeated_texts_share_their_memory(n: int):
    column = repeated("ab", n)
    assert column.to_pylist() == ["ab"] * n
    assert max(n_bytes(column), default=0) <= 6
    assert len({chunk.buffers()[2].address for chunk in column.chunks}) <= 1


@pytest.mark.usefixtures("_few_bytes")
def test_rows_of_a_large_column_are_taken():
    texts = pa.chunked_array([["abc", None, "def"], ["gh", "a longer text", "i"]], pa.string())
    rows = pa.table({"text": texts, "number": range(6)})
    found = rows_at(rows, np.array([5, 1, 4, 0, 3, 2]))
    assert found.schema.equals(rows.schema)
    assert found["text"].to_pylist() == ["i", None, "a longer text", "abc", "gh", "def"]
    assert found["number"].to_pylist() == [5, 1, 4, 0, 3, 2]
    assert n_bytes(found["text"]) == [1, 13, 5, 3]  # one text is above the limit


def test_rows_of_a_small_column_are_taken_as_before(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(arrow, "MOST_TEXT_BYTES", 2**30)
    rows = pa.table({"text": pa.chunked_array([["a"], ["b"]], pa.string())})
    assert rows_at(rows, np.array([1, 0])).equals(rows.take([1, 0]))
