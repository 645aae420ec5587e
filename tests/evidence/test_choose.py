"""How many passages are read: small cases by hand."""

import numpy as np
import pytest

from gsum_assets.evidence.choose import best_prefix, expected_f1, prefix_within

TENS = np.full(10, 10)


def test_expected_f1_by_hand() -> None:
    found = expected_f1(np.array([1.0, 0.5, 0.0]))
    assert found == pytest.approx([2 / 2.5, 3 / 3.5, 3 / 4.5])


@pytest.mark.parametrize(
    ("probabilities", "k"),
    [
        ([1.0, 0.0, 0.0], 1),
        ([1.0, 0.5, 0.0], 2),
        ([0.5, 0.5, 0.5], 3),
        ([0.9, 0.1, 0.1, 0.1], 1),
        ([0.0, 0.0], 1),  # something is read even if nothing is expected
        ([0.3], 1),
    ],
)
def test_prefix_of_the_largest_expected_f1(probabilities: list[float], k: int) -> None:
    found = np.array(probabilities)
    assert best_prefix(found, TENS[: len(found)], 12, 1000) == k


def test_certain_evidence_is_read_up_to_the_limits() -> None:
    sure = np.ones(10)
    assert best_prefix(sure, TENS, 12, 1000) == 10
    assert best_prefix(sure, TENS, 4, 1000) == 4
    assert best_prefix(sure, TENS, 12, 35) == 3
    assert best_prefix(sure, TENS, 12, 5) == 1  # a passage longer than the budget is still read


def test_at_least_some_are_read_if_they_fit() -> None:
    found = np.array([0.9, 0.1, 0.1, 0.1, 0.0])
    assert best_prefix(found, TENS[:5], 12, 1000) == 1
    assert best_prefix(found, TENS[:5], 12, 1000, k_min=2) == 2
    assert best_prefix(found, TENS[:5], 12, 1000, k_min=9) == 5
    assert best_prefix(found, TENS[:5], 12, 25, k_min=4) == 2


def test_prefix_within_counts_each_length() -> None:
    assert prefix_within(np.array([5, 20, 1]), 12, 25) == 2
    assert prefix_within(np.array([5, 20, 1]), 12, 26) == 3
