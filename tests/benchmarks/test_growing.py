"""Costs of a change, and exponents of sizes, as the benchmarks count them."""

from collections import Counter

import pytest

from benchmarks.growing.change import Cost, _described, _row
from benchmarks.growing.measured import Usage
from benchmarks.growing.size import _exponent

# The cost of a change counts rows that were written apart from those of the tables.


def test_rows_are_those_in_the_files_that_were_written() -> None:
    edit = Cost(
        Usage(wall_s=8.0, cpu_s=4.0, peak_mib=100.0, began=0.0),
        Counter({"graphrag/extractions": 2}),
        3,
        5,
        {"chunks": (8, 100), "lightpal/candidates": (1, 900)},
        {},
        Counter({"lightpal.candidates": 20}),
        1000,
    )
    assert edit.n_rows == 1000
    assert _row("1 document edited", edit)[4:6] == ["1,000 (100.0)", "20 (2.0)"]
    assert "   1 partitions       900 rows,        20 changed  light" in _described("edit", edit)


# Exponents of the benchmark of sizes.


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([1.0, 10.0, 100.0], "1.00"),
        ([1.0, 100.0, 10_000.0], "2.00 !"),
        ([0.0, 2.0, 40.0], "1.30 !"),  # a step that was too short to be measured is left out
        ([0.0, 0.0, 5.0], ""),
    ],
)
def test_exponents_are_fitted_to_all_sizes_and_marked(values, shown):
    assert _exponent([1_000, 10_000, 100_000], values) == shown
