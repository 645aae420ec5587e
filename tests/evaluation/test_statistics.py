import numpy as np
import pytest
from gsum_assets.evaluation.statistics import estimate, paired_difference
from scipy.stats import norm


def test_mean_and_deviation_by_hand():
    found = estimate([0.0, 1.0, 1.0, 0.0])
    assert (found.mean, found.std, found.n) == (0.5, 0.5, 4)


def test_one_question_has_no_spread():
    found = estimate([0.3])
    assert (found.mean, found.std, found.low, found.high) == (0.3, 0, 0.3, 0.3)


def test_equal_values_have_no_spread():
    found = estimate([0.25] * 9)
    assert found.low == found.high == 0.25


def test_two_values_resample_into_quarters():
    # Means 0, 1/2, 1 come with 1/4, 1/2, 1/4: bounds of 40% lie at 1/2, of 95% at both ends.
    assert estimate([0.0, 1.0], level=0.4).low == estimate([0.0, 1.0], level=0.4).high == 0.5
    assert (estimate([0.0, 1.0]).low, estimate([0.0, 1.0]).high) == (0, 1)


def test_the_interval_is_the_normal_one_for_many_values():
    values = np.random.default_rng(0).normal(0.4, 0.1, size=2000)
    found = estimate(values, seed=1)
    half = norm.ppf(0.975) * values.std() / np.sqrt(2000)
    assert found.low == pytest.approx(values.mean() - half, abs=0.05 * half)
    assert found.high == pytest.approx(values.mean() + half, abs=0.05 * half)


def test_the_interval_covers_the_truth_as_often_as_it_says():
    generator = np.random.default_rng(2)
    covered = 0
    for trial in range(200):
        found = estimate(generator.exponential(size=60), seed=trial, n_resamples=500)
        covered += found.low <= 1 <= found.high
    assert 0.86 < covered / 200 < 0.99


def test_the_seed_decides():
    values = np.random.default_rng(0).random(30)
    assert estimate(values, seed=5) == estimate(values, seed=5)
    assert estimate(values, seed=5) != estimate(values, seed=6)


def test_blocks_bound_the_memory_and_keep_the_mean():
    found = estimate(np.linspace(0, 1, 50_000), n_resamples=200)
    assert found.low < found.mean < found.high


def test_a_shift_of_every_question_is_certain():
    second = np.random.default_rng(0).random(50)
    found = paired_difference(second + 0.1, second)
    assert (found.mean, found.low, found.high) == pytest.approx((0.1, 0.1, 0.1))
    assert found.p_value < 0.001


def test_pairing_removes_what_questions_share():
    generator = np.random.default_rng(3)
    hardness = generator.normal(0, 1, 200)
    first, second = hardness + generator.normal(0.05, 0.05, 200), hardness
    found = paired_difference(first, second)
    assert 0 < found.low < found.mean < found.high
    assert estimate(first).low < estimate(second).high  # apart they cannot be told apart


def test_exchanging_the_methods_turns_the_sign():
    generator = np.random.default_rng(4)
    first, second = generator.random(40), generator.random(40)
    forth, back = paired_difference(first, second), paired_difference(second, first)
    assert forth.mean == pytest.approx(-back.mean)
    assert (forth.low, forth.high) == pytest.approx((-back.high, -back.low))
    assert forth.p_value == pytest.approx(back.p_value)


def test_a_vanished_difference_counts_against_the_better_method():
    # Differences 1 and 0: a quarter of the resamples draws 0 twice.
    assert paired_difference([1.0, 1.0], [0.0, 1.0]).p_value == pytest.approx(0.5, abs=0.03)


def test_no_difference_is_not_significant():
    values = np.random.default_rng(5).random(40)
    assert paired_difference(values, values).p_value == 1


def test_p_values_of_equal_methods_are_spread_evenly():
    generator = np.random.default_rng(6)
    small = [
        paired_difference(generator.normal(size=50), np.zeros(50), n_resamples=400).p_value < 0.2
        for _ in range(200)
    ]
    assert 0.12 < np.mean(small) < 0.3


@pytest.mark.parametrize("values", [[], [[1.0], [2.0]]])
def test_not_one_number_a_question_is_an_error(values):
    with pytest.raises(ValueError, match="shape"):
        estimate(values)


def test_a_value_that_is_no_number_is_an_error():
    with pytest.raises(ValueError, match=r"value nan of question 1; leave out"):
        estimate([0.5, np.nan])


def test_unequal_lengths_are_an_error():
    with pytest.raises(ValueError, match="2 and 1 values; keep the questions"):
        paired_difference([1.0, 2.0], [1.0])
