"""The cost of a change counts rows that were written apart from those that changed."""

from collections import Counter

from benchmarks.growing.change import Cost, _described, _row
from benchmarks.growing.measured import Usage


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
