"""Columns of texts that do not fit into one array; the limit is made small."""

import numpy as np
import pyarrow as pa
import pytest

from gsum_resources.store import arrow
from gsum_resources.store.arrow import repeated, rows_at, taken

TEXTS = pa.array(["a", "bcd", "", "ef"])


@pytest.fixture(autouse=True)
def _few_bytes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(arrow, "MOST_TEXT_BYTES", 6)


def n_bytes(column: pa.ChunkedArray) -> list[int]:
    return [sum(len(text or "") for text in chunk.to_pylist()) for chunk in column.chunks]


def test_taken_texts_are_in_several_arrays():
    indices = np.array([1, 0, 1, 3, 2, 1, 1])
    column = taken(TEXTS, indices)
    assert column.to_pylist() == TEXTS.take(pa.array(indices)).to_pylist()
    assert column.num_chunks == 4
    assert max(n_bytes(column)) <= 6
    column.validate(full=True)


def test_no_taken_text_is_an_empty_column():
    assert taken(TEXTS, np.empty(0, np.int64)).equals(pa.chunked_array([], pa.string()))
    assert taken(pa.array([], pa.string()), np.empty(0, np.int32)).to_pylist() == []


@pytest.mark.parametrize("n", [0, 1, 3, 7])
def test_repeated_texts_share_their_memory(n: int):
    column = repeated("ab", n)
    assert column.to_pylist() == ["ab"] * n
    assert max(n_bytes(column), default=0) <= 6
    assert len({chunk.buffers()[2].address for chunk in column.chunks}) <= 1


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
