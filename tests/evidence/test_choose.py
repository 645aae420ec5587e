"""How many passages are read: small cases by hand."""

import numpy as np
import pytest

from gsum_assets.evidence.contexts import Budget, best_prefix, expected_f1

TENS = np.full(10, 10)


def n_read(
    probabilities: list[float], k_max: int = 12, max_tokens: int = 1000, k_min: int = 1
) -> int:
    """The number of passages of ten word pieces each."""
    found = np.array(probabilities)
    budget = Budget(k_max, max_tokens, 6, 0)
    return best_prefix(found, found.sum(), TENS[: len(found)], budget, k_min)


def test_expected_f1_by_hand() -> None:
    found = expected_f1(np.array([1.0, 0.5, 0.0]), 1.5)
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
    assert n_read(probabilities) == k


def test_certain_evidence_is_read_up_to_the_limits() -> None:
    sure = [1.0] * 10
    assert n_read(sure) == 10
    assert n_read(sure, k_max=4) == 4
    assert n_read(sure, max_tokens=35) == 3
    assert n_read(sure, max_tokens=5) == 1  # a passage longer than the budget is still read


def test_at_least_some_are_read_if_they_fit() -> None:
    probabilities = [0.9, 0.1, 0.1, 0.1, 0.0]
    assert n_read(probabilities) == 1
    assert n_read(probabilities, k_min=2) == 2
    assert n_read(probabilities, k_min=9) == 5
    assert n_read(probabilities, max_tokens=25, k_min=4) == 2
