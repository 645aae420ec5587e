"""Paired comparisons of methods by sign-flip permutation tests, and the marks that follow.

If two methods are equally good, the sign of each question's difference is a coin toss (Fisher 1935;
Good 2005, section 3.2). The tests are exact for any number of questions: n questions with equal
signs have p = 2^(1 - n), so that with fewer than six nothing is significant at 5%.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from gsum_assets.statistics.intervals import (
    CELLS_AT_ONCE,
    DECIMALS,
    LEVEL,
    N_RESAMPLES,
    checked,
    student,
)

SIGNIFICANT = 0.05
BEST, TIED, WORSE = "best", "tied", "worse"

_TIE = 1e-9  # statistics this close are equal


class Comparison(NamedTuple):
    """The difference of two methods over the same questions.

    Attributes
    ----------
    difference : mean of first - second.
    low, high : its 95% interval (Student's t of the differences); infinite for one question.
    p_value : two-sided, of the sign-flip permutation test that the difference is 0.
    n : number of questions.
    """

    difference: float
    low: float
    high: float
    p_value: float
    n: int


class Pairwise(NamedTuple):
    """Every two columns compared, `(n_columns, n_columns)` each: row minus column.

    `p_adjusted` holds for the whole table: among all pairs with at most alpha, the chance of a
    single false one is at most alpha.
    """

    difference: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p_value: np.ndarray
    p_adjusted: np.ndarray


def compare(first: Sequence[float], second: Sequence[float], seed: int = 0) -> Comparison:
    """Compare two methods over the same questions.

    `first` and `second` are scores of the same questions in the same order, `(n,)` each.

    Raises `ValueError` if the lengths differ, there is no value, or one is not finite.
    """
    if len(first) != len(second):
        raise ValueError(
            f"compare: {len(first)} and {len(second)} values; keep the questions that both "
            "methods have, in one order"
        )
    columns = np.stack([_column(first), _column(second)], axis=1)
    found = pairwise(columns, seed)
    d, low, high, p, _ = (float(table[0, 1]) for table in found)
    return Comparison(d, low, high, p, len(columns))


def marks(values: np.ndarray, alpha: float = SIGNIFICANT, seed: int = 0) -> list[str]:
    """Return for each column "best", "tied" or "worse".

    "best" has the highest mean (the first of equal ones), "worse" is significantly below it, and
    "tied" is not. With probability 1 - alpha no "worse" of the whole row is wrong, whichever method
    is best by chance. All are "tied" if no difference of n questions could be significant, see
    `can_differ`. `values` are `(n_questions, n_methods)`, finite.
    """
    values = checked(values)
    if not can_differ(len(values), alpha) or values.shape[1] < 2:
        return [TIED] * values.shape[1]
    best = int(values.mean(axis=0).round(DECIMALS).argmax())
    p_best = pairwise(values, seed).p_adjusted[best]
    found = [WORSE if p <= alpha else TIED for p in p_best]
    found[best] = BEST
    return found


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for their number (Holm 1979), in the given order.

    The smallest of m is multiplied by m, the next by m - 1, …; none becomes smaller than one
    before it. Among those at most alpha, the chance of a single false one is at most alpha.
    """
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(order), 0, -1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(1, np.maximum.accumulate(np.asarray(p_values)[order] * factors))
    return adjusted.tolist()


def can_differ(n_questions: int, alpha: float = SIGNIFICANT) -> bool:
    """Return whether any difference over so many questions could be significant."""
    return 2.0 ** (1 - n_questions) <= alpha


def pairwise(values: np.ndarray, seed: int = 0, n_resamples: int = N_RESAMPLES) -> Pairwise:
    """Compare every two columns by sign-flip permutation tests.

    Signs of a question are flipped in all pairs at once, so that the correction for multiple tests
    accounts for correlated pairs: the maximum statistic, step down (Westfall and Young 1993, 2.8;
    Romano and Wolf 2005). If 2^(n - 1) is at most `n_resamples`, all flips are used and the test is
    exact. `values` are `(n_questions, n_columns)`, finite.
    """
    values = checked(values)
    n, k = values.shape
    first, second = np.triu_indices(k, 1)
    differences = values[:, first] - values[:, second]
    ends = student(differences, LEVEL)
    scale = np.sqrt((differences**2).sum(axis=0))
    scale[scale < _TIE] = np.inf  # equal on every question
    observed = np.abs(differences.sum(axis=0)) / scale
    order = np.argsort(-observed, kind="stable")
    reached, surpassed, n_flips = np.zeros(len(order)), np.zeros(len(order)), 0
    for signs in _flips(n, seed, n_resamples, per_row=n + 3 * len(order)):
        sums = signs @ values
        flipped = np.abs(sums[:, first] - sums[:, second]) / scale
        reached += (flipped >= observed - _TIE).sum(axis=0)
        # the largest of this pair and all that are less extreme
        largest = np.maximum.accumulate(flipped[:, order[::-1]], axis=1)[:, ::-1]
        surpassed += (largest >= observed[order] - _TIE).sum(axis=0)
        n_flips += len(signs)
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate(surpassed / n_flips)
    mean = differences.mean(axis=0).round(DECIMALS)
    low, high = ends.T.round(DECIMALS)
    return Pairwise(
        _square(k, mean, -mean, 0.0),
        _square(k, low, -high, 0.0),
        _square(k, high, -low, 0.0),
        _square(k, reached / n_flips, reached / n_flips, 1.0),
        _square(k, adjusted, adjusted, 1.0),
    )


def _square(k: int, upper: np.ndarray, lower: np.ndarray, diagonal: float) -> np.ndarray:
    table = np.full((k, k), diagonal)
    rows, columns = np.triu_indices(k, 1)
    table[rows, columns], table[columns, rows] = upper, lower
    return table


def _flips(n: int, seed: int, n_resamples: int, per_row: int) -> Iterator[np.ndarray]:
    """Yield signs in blocks, `(n_flips, n)`; the first row is the observation itself.

    A flip and its opposite give the same two-sided statistic: half of all are enough.
    """
    block = max(1, CELLS_AT_ONCE // per_row)
    if n - 1 <= np.log2(n_resamples):
        for start in range(0, 2 ** (n - 1), block):
            numbers = np.arange(start, min(start + block, 2 ** (n - 1)))
            yield 1.0 - 2.0 * ((numbers[:, None] >> np.arange(n)) & 1)
        return
    generator = np.random.default_rng(seed)
    for start in range(0, n_resamples, block):
        size = (min(block, n_resamples - start), n)
        signs = 1.0 - 2.0 * generator.integers(2, size=size)
        signs[0] = 1.0 if start == 0 else signs[0]
        yield signs


def _column(values: Sequence[float]) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"compare: values of shape {array.shape}; give one number per question")
    return array
