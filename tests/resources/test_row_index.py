"""Rows that are selected by an index are those that a filter selects, in the same order."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_resources.store.lazy import Lazy, RowIndex, rows_where

VALUES = st.sampled_from(["a", "b", "ab", "é", "", "\U0001f600"])


def table(values: list[str], first: int = 0) -> pa.Table:
    numbers = list(range(first, first + len(values)))
    return pa.table({"id": pa.array(values, pa.string()), "n": pa.array(numbers, pa.int64())})


@given(st.lists(st.lists(VALUES, max_size=5), min_size=1, max_size=4), st.lists(VALUES))
def test_rows_are_those_of_a_filter(parts: list[list[str]], wanted: list[str]) -> None:
    tables = [table(values, 10 * i) for i, values in enumerate(parts)]
    values = pa.array(wanted, pa.string())
    found = RowIndex([Lazy.of(one) for one in tables], 1).rows_with("id", values)
    assert found.equals(rows_where(pa.concat_tables(tables), "id", values))


def test_equal_hashes_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsum_resources.store.lazy.hash", lambda _: 7, raising=False)
    found = RowIndex([Lazy.of(table(["a", "b", "a"]))], 1).rows_with("id", pa.array(["a"]))
    assert found["n"].to_pylist() == [0, 2]


def test_only_parts_with_such_rows_are_decoded() -> None:
    decoded: list[int] = []

    def part(number: int) -> Lazy:
        rows = table([f"d{number}", f"e{number}"])
        return Lazy(lambda: decoded.append(number) or rows, rows.select)

    index = RowIndex([part(number) for number in range(4)], 2)
    for _ in range(2):
        assert index.rows_with("id", pa.array(["d2", "e1"])).num_rows == 2
    assert decoded == [1, 2]
