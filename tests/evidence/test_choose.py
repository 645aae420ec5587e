"""How many passages are read: small cases by hand."""

import numpy as np
import pytest

from gsum_assets.evidence.choose import best_prefix, expected_f1, prefix_within, spread

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


def test_prefix_within_counts_each_length() -> None:
    assert prefix_within(np.array([5, 20, 1]), 12, 25) == 2
    assert prefix_within(np.array([5, 20, 1]), 12, 26) == 3


def test_spread_takes_the_best_of_each_stretch() -> None:
    found = np.array([0.1, 0.9, 0.2, 0.2, 0.0, 0.3])
    assert spread(found, TENS[:6], 3, 1000).tolist() == [1, 2, 5]
    assert spread(found, TENS[:6], 12, 25).tolist() == [1, 5]  # room for two passages
    assert spread(found, TENS[:6], 12, 1).tolist() == [1]
    assert spread(found[:1], TENS[:1], 12, 1000).tolist() == [0]


def test_spread_keeps_within_the_budget_when_the_best_are_long() -> None:
    tokens = np.array([10, 90, 10, 90])
    found = np.array([0.0, 1.0, 0.0, 1.0])
    chosen = spread(found, tokens, 12, 100)
    assert tokens[chosen].sum() <= 100
