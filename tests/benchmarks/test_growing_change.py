"""The cost of a change counts rows that were written apart from those of the tables."""

from collections import Counter

from benchmarks.growing.change import Cost, _described, _row
from benchmarks.growing.measured import Usage


def cost(n_written: int) -> Cost:
    return Cost(
        Usage(wall_s=8.0, cpu_s=4.0, peak_mib=100.0, began=0.0),
        Counter({"graphrag/extractions": 2}),
        3,
        5,
        {"chunks": (8, 100, 100), "lightpal/candidates": (1, 900, n_written)},
        {},
        Counter({"lightpal.candidates": n_written}),
        1000,
    )


def test_rows_written_are_those_in_the_files_that_were_written() -> None:
    full, edit = cost(900), cost(20)
    assert (full.n_rows, full.n_written) == (1000, 1000)
    assert (edit.n_rows, edit.n_written) == (1000, 120)
    assert _row("1 document edited", edit)[4:7] == ["1,000 (100.0)", "120 (12.0)", "20 (2.0)"]
    assert "   1 partitions       900 rows,        20 written,        20 changed" in _described(
        "edit", edit
    )
