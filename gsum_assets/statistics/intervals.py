"""Intervals of means: Wilson's, the studentized bootstrap, and Student's."""

from collections.abc import Iterator

import numpy as np

LEVEL = 0.95
N_RESAMPLES = 10_000
CELLS_AT_ONCE = 2**22  # signs, or counts of drawn questions, in memory: 32 MiB
DECIMALS = 9  # the last bits of a matrix product depend on the number of threads

_LEAST_SPREAD = 0.1  # of a resample, relative to the values; less: one value makes the spread
_MAX_DEGENERATE = 0.01  # highest fraction of resamples with less spread for an interval


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

    Raises `ValueError` if there is no value, or one is not finite.
    """
    values = checked(values)
    found = student(values, level)
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
    return found.round(DECIMALS)


def wilson(share: np.ndarray, n: int, level: float = LEVEL) -> np.ndarray:
    """Return Wilson's score interval of shares of n, `(n_shares, 2)`: low and high.

    It is conservative for values between 0 and 1. `share` are means from 0 to 1, `(n_shares,)`.
    """
    from scipy.special import ndtri

    z = ndtri((1 + level) / 2)
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return np.stack([centre - half, centre + half], axis=1).clip(0, 1)


def student(values: np.ndarray, level: float) -> np.ndarray:
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
    t = np.where(np.isnan(t), 0, t).round(DECIMALS)
    low, high = np.quantile(t, [(1 - level) / 2, (1 + level) / 2], axis=0)
    found = np.stack([mean - high * deviation, mean - low * deviation], axis=1)
    found[degenerate] = np.nan
    return found


def _drawn(n: int, seed: int, n_resamples: int) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield how often each question is drawn, as a fraction, in blocks of resamples."""
    generator = np.random.default_rng(seed)
    block = max(1, CELLS_AT_ONCE // n)
    for start in range(0, n_resamples, block):
        rows = slice(start, min(start + block, n_resamples))
        size = rows.stop - rows.start
        drawn = generator.integers(n, size=(size, n)) + np.arange(size)[:, None] * n
        yield rows, np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n) / n


def checked(values: np.ndarray) -> np.ndarray:
    """Return values as `(n_questions, n_columns)`, or raise `ValueError`."""
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
