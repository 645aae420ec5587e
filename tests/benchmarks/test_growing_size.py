"""Exponents of the benchmark of sizes."""

import pytest

from benchmarks.growing.size import _exponent


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
