"""Statistics of methods that answered the same questions: intervals, paired tests, marks.

The leaderboard, the HTML report and the benchmarks use these functions:

>>> import numpy as np
>>> from gsum.statistics import compare, marks
>>> scores = np.array([[0.5, 0.1], [0.6, 0.3], [0.4, 0.2], [0.7, 0.2], [0.6, 0.1], [0.5, 0.4]])
>>> marks(scores)
['best', 'worse']
>>> compare(scores[:, 0], scores[:, 1]).p_value
0.03125

Tests are sign-flip permutation tests: if two methods are equally good, the sign of each question's
difference is a coin toss (Fisher 1935; Good 2005, section 3.2). They are exact for any number of
questions: n questions with equal signs have p = 2^(1 - n), so that with fewer than six nothing is
significant at 5%.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

LEVEL = 0.95
SIGNIFICANT = 0.05
N_RESAMPLES = 10_000
BEST, TIED, WORSE = "best", "tied", "worse"

_CELLS_AT_ONCE = 2**22  # signs, or counts of drawn questions, in memory: 32 MiB
_DECIMALS = 9  # the last bits of a matrix product depend on the number of threads
_TIE = 1e-9  # statistics this close are equal
_LEAST_SPREAD = 0.1  # of a resample, relative to the values; less: one value makes the spread
_MAX_DEGENERATE = 0.01  # highest fraction of resamples with less spread for an interval


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


def intervals(
    values: np.ndarray, level: float = LEVEL, seed: int = 0, n_resamples: int = N_RESAMPLES
) -> np.ndarray:
    """Return an interval of each column's mean, `(n_columns, 2)`: low and high.

    Proportions, which are columns of 0, 1/2 (a tie) and 1, have Wilson's score interval (1927).
    Other columns have the studentized bootstrap (Efron and Tibshirani 1993, 12.5), which keeps its
    coverage for skewed scores and few questions, or Student's t if too many resamples have hardly
    any spread, since values are few or nearly all equal. Equal values from 0 to 1 count as
    proportions, so that the interval of ten perfect scores has a positive width, and intervals of
    values from 0 to 1 are clipped to that range.

    Parameters
    ----------
    values : one row per question, one column per method, `(n_questions, n_columns)`, or `(n,)`.
    level : probability that an interval holds the mean, between 0 and 1.
    seed : of the resampling; the same seed and number of questions draw the same questions.

    Raises
    ------
    ValueError
        If there is no value, or one is not finite.
    """
    values = _checked(values)
    found = _student(values, level)
    equal = np.ptp(values, axis=0) == 0
    bounded = ((values >= 0) & (values <= 1)).all(axis=0)
    shares = np.isin(values, (0.0, 0.5, 1.0)).all(axis=0) | (equal & bounded)
    found[shares] = wilson(values[:, shares].mean(axis=0), len(values), level)
    others = np.flatnonzero(~shares & ~equal)
    if len(others):
        studentized = _studentized(values[:, others], level, seed, n_resamples)
        usable = np.isfinite(studentized).all(axis=1)
        found[others[usable]] = studentized[usable]
    found[bounded] = found[bounded].clip(0, 1)
    return found.round(_DECIMALS)


def wilson(share: np.ndarray, n: int, level: float = LEVEL) -> np.ndarray:
    """Return Wilson's score interval of shares of n, `(n_shares, 2)`: low and high.

    It is conservative for values between 0 and 1.

    Parameters
    ----------
    share : means from 0 to 1, `(n_shares,)`.
    """
    from scipy.special import ndtri

    z = ndtri((1 + level) / 2)
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return np.stack([centre - half, centre + half], axis=1).clip(0, 1)


def compare(first: Sequence[float], second: Sequence[float], seed: int = 0) -> Comparison:
    """Compare two methods over the same questions.

    Parameters
    ----------
    first, second : scores of the same questions in the same order, `(n,)` each.

    Raises
    ------
    ValueError
        If the lengths differ, there is no value, or one is not finite.
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
    `can_differ`.

    Parameters
    ----------
    values : `(n_questions, n_methods)`, finite.
    """
    values = _checked(values)
    if not can_differ(len(values), alpha) or values.shape[1] < 2:
        return [TIED] * values.shape[1]
    best = int(values.mean(axis=0).round(_DECIMALS).argmax())
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
    exact.

    Parameters
    ----------
    values : `(n_questions, n_columns)`, finite.
    """
    values = _checked(values)
    n, k = values.shape
    first, second = np.triu_indices(k, 1)
    differences = values[:, first] - values[:, second]
    ends = _student(differences, LEVEL)
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
    mean = differences.mean(axis=0).round(_DECIMALS)
    low, high = ends.T.round(_DECIMALS)
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
    block = max(1, _CELLS_AT_ONCE // per_row)
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


def _student(values: np.ndarray, level: float) -> np.ndarray:
    """Return Student's t interval of each column's mean; infinite for one row."""
    from scipy.special import stdtrit

    n, mean = len(values), values.mean(axis=0)
    if n == 1:
        return np.stack([np.full_like(mean, -np.inf), np.full_like(mean, np.inf)], axis=1)
    half = stdtrit(n - 1, (1 + level) / 2) * values.std(axis=0, ddof=1) / np.sqrt(n)
    return np.stack([mean - half, mean + half], axis=1)


def _studentized(values: np.ndarray, level: float, seed: int, n_resamples: int) -> np.ndarray:
    """Return the studentized bootstrap interval of each column's mean, or NaN."""
    mean, deviation = values.mean(axis=0), values.std(axis=0)
    centred = values - mean
    t = np.empty((n_resamples, values.shape[1]))
    for rows, counts in _drawn(len(values), seed, n_resamples):
        shift = counts @ centred
        spread = np.sqrt(np.maximum(counts @ centred**2 - shift**2, 0))
        has_spread = spread > _LEAST_SPREAD * deviation
        t[rows] = np.where(has_spread, shift / np.where(has_spread, spread, 1), np.nan)
    degenerate = np.isnan(t).mean(axis=0) > _MAX_DEGENERATE
    t = np.where(np.isnan(t), 0, t).round(_DECIMALS)
    low, high = np.quantile(t, [(1 - level) / 2, (1 + level) / 2], axis=0)
    found = np.stack([mean - high * deviation, mean - low * deviation], axis=1)
    found[degenerate] = np.nan
    return found


def _drawn(n: int, seed: int, n_resamples: int) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield how often each question is drawn, as a fraction, in blocks of resamples."""
    generator = np.random.default_rng(seed)
    block = max(1, _CELLS_AT_ONCE // n)
    for start in range(0, n_resamples, block):
        rows = slice(start, min(start + block, n_resamples))
        size = rows.stop - rows.start
        drawn = generator.integers(n, size=(size, n)) + np.arange(size)[:, None] * n
        yield rows, np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n) / n


def _column(values: Sequence[float]) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"compare: values of shape {array.shape}; give one number per question")
    return array


def _checked(values: np.ndarray) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or len(array) == 0:
        raise ValueError(
            f"statistics: values of shape {array.shape}; give one row a question and one column a "
            "method, at least one question"
        )
    finite = np.isfinite(array).all(axis=1)
    if not finite.all():
        bad = int(np.argmin(finite))
        value = array[bad][~np.isfinite(array[bad])][0]
        raise ValueError(
            f"statistics: value {value} of question {bad}; leave out questions without a score"
        )
    return array
