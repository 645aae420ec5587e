"""Statistics of methods against closed forms, SciPy and simulations."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binomtest, permutation_test, t, ttest_1samp

from gsum.statistics import BEST, TIED, WORSE, compare, holm, intervals, marks, pairwise
from tests.gsum import simulations

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("n", [2, 4, 9, 12])
def test_p_value_equals_the_exact_permutation_test(n: int) -> None:
    first, second = RANDOM.random(n), RANDOM.random(n)
    exact = permutation_test(
        (first - second,),
        lambda x, axis: x.mean(axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
    )
    assert compare(first, second).p_value == pytest.approx(exact.pvalue)


def test_sampled_p_value_is_close_to_the_t_test() -> None:
    first, second = RANDOM.normal(0.2, 1, 200), RANDOM.normal(0, 1, 200)
    found, t = compare(first, second), ttest_1samp(first - second, 0)
    assert found.p_value == pytest.approx(t.pvalue, abs=0.01)
    interval = t.confidence_interval()
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))


def test_swapping_methods_flips_the_sign() -> None:
    first, second = RANDOM.random(40), RANDOM.random(40)
    forth, back = compare(first, second), compare(second, first)
    assert (forth.difference, forth.low, forth.high) == (-back.difference, -back.high, -back.low)
    assert forth.p_value == back.p_value


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (np.arange(30.0), np.arange(30.0), (0, 0, 0, 1, 30)),
        ([1.0], [0.0], (1, -np.inf, np.inf, 1, 1)),
    ],
)
def test_comparisons_known_values(first: list, second: list, expected: tuple) -> None:
    assert compare(first, second) == expected
    assert compare([1, 1, 1, 1], [0.5, 0.1, 0.9, 0.2]).p_value == 0.125  # four equal signs


@pytest.mark.parametrize(("n_won", "n"), [(10, 10), (7, 20), (5, 10)])
def test_shares_have_a_wilson_interval_and_ties_count_half(n_won: int, n: int) -> None:
    wilson = binomtest(n_won, n).proportion_ci(method="wilson")
    values = np.repeat([1.0, 0.0], [n_won, n - n_won])
    if 2 * n_won == n:
        values = np.full(n, 0.5)
    assert intervals(values)[0] == pytest.approx([wilson.low, wilson.high])


def test_columns_are_independent_and_the_seed_decides() -> None:
    values = RANDOM.random((30, 3))
    together = intervals(values, seed=5)
    assert together.tolist() == [intervals(values[:, i], seed=5)[0].tolist() for i in range(3)]
    assert intervals(values, seed=6).tolist() != together.tolist()


@pytest.mark.parametrize("step", [1e-9, 1e-3, 0.05])
def test_one_value_that_makes_the_spread_has_students_interval(step: float) -> None:
    values = np.array([*(step * i for i in range(12)), -30.0])
    half = t.ppf(0.975, 12) * values.std(ddof=1) / np.sqrt(13)
    expected = [values.mean() - half, values.mean() + half]
    np.testing.assert_allclose(intervals(values)[0], expected, atol=1e-6)


def test_equal_grades_have_no_spread() -> None:
    assert intervals(np.full(8, 4.0)).tolist() == [[4, 4]]


def test_marks_of_better_worse_and_tied_methods() -> None:
    hardness = RANDOM.random((40, 1))
    noise = RANDOM.normal(0, 0.02, (40, 3))
    assert marks(hardness + noise + [0, 0.5, 0.49]) == [WORSE, BEST, TIED]


def test_single_method_or_too_few_questions_are_tied() -> None:
    assert marks(RANDOM.random((30, 1))) == [TIED]
    assert marks(np.array([[1.0, 0.0]] * 5)) == [TIED, TIED]
    assert marks(np.array([[1.0, 0.0]] * 6)) == [BEST, WORSE]


def test_correction_lies_between_none_and_holm() -> None:
    values = RANDOM.random((25, 1)) + RANDOM.normal(0, 0.2, (25, 6)) + np.arange(6) / 20
    found = pairwise(values)
    pairs = np.triu_indices(6, 1)
    alone, together = found.p_value[pairs], found.p_adjusted[pairs]
    assert (together >= alone).all()
    assert (together <= np.array(holm(alone.tolist())) + 0.01).all()


def test_copy_of_a_method_costs_no_power() -> None:
    values = RANDOM.random((20, 1)) + RANDOM.normal([0, 0.2], 0.2, (20, 2))
    copied = pairwise(np.column_stack([values, values[:, 1], values[:, 1]]))
    assert copied.p_adjusted[0, 1] == pairwise(values).p_adjusted[0, 1]


def test_holm_known_values() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_few_simulations_keep_the_error_rate() -> None:
    false_marks, coverage = simulations.measure("skewed", 10, n_trials=150).mean(axis=0)
    assert false_marks <= 0.1
    assert coverage >= 0.85


@pytest.mark.parametrize(
    ("function", "values", "message"),
    [
        (intervals, [np.empty((0, 2))], "shape"),
        (intervals, [np.zeros((2, 2, 2))], "shape"),
        (marks, [np.array([[0.5, 0.1], [0.2, np.nan]])], "value nan of question 1; leave out"),
        (compare, [[1.0, 2.0], [1.0]], "2 and 1 values; keep the questions"),
    ],
)
def test_values_that_are_not_one_per_question_raise(
    function: Callable, values: list, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        function(*values)
