"""How sure a mean over questions is, and a difference of two methods over the same questions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

N_RESAMPLES = 10_000
LEVEL = 0.95
_CELLS_AT_ONCE = 2**22  # resampled values in memory at a time: 32 MiB


@dataclass(frozen=True)
class Estimate:
    """A mean over questions.

    Attributes
    ----------
    mean, std : `std` is that of the questions asked (divided by n), 0 for a single one.
    low, high : bounds of the bootstrap interval of the mean.
    n : number of questions.
    """

    mean: float
    std: float
    low: float
    high: float
    n: int


def estimate(
    values: Sequence[float] | np.ndarray,
    seed: int = 0,
    level: float = LEVEL,
    n_resamples: int = N_RESAMPLES,
) -> Estimate:
    """Mean, standard deviation and percentile bootstrap interval (Efron 1979).

    Parameters
    ----------
    values : one for each question, `(n,)`, finite.
    seed : of the resampling; the same seed gives the same interval.
    level : share of the resampled means inside the interval, between 0 and 1.

    Raises
    ------
    ValueError
        If there is no value, or one is not finite.
    """
    array = _checked(values)
    means = _resampled_means(array, seed, n_resamples)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(float(array.mean()), float(array.std()), float(low), float(high), len(array))


@dataclass(frozen=True)
class Difference:
    """How much better the first method is than the second, over the same questions.

    `p_value` is two-sided: twice the share of resamples in which the difference vanishes or
    changes its sign, at most 1.
    """

    mean: float
    low: float
    high: float
    p_value: float
    n: int


def paired_difference(
    first: Sequence[float] | np.ndarray,
    second: Sequence[float] | np.ndarray,
    seed: int = 0,
    level: float = LEVEL,
    n_resamples: int = N_RESAMPLES,
) -> Difference:
    """Paired bootstrap of mean(first - second): questions are drawn, both methods keep theirs.

    Parameters
    ----------
    first, second : values of the same questions in the same order, `(n,)` each.

    Raises
    ------
    ValueError
        If the lengths differ, there is no value, or one is not finite.
    """
    if len(first) != len(second):
        raise ValueError(
            f"paired_difference: {len(first)} and {len(second)} values; "
            "keep the questions that both methods have, in one order"
        )
    array = _checked(np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64))
    means = _resampled_means(array, seed, n_resamples)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    against = means <= 0 if array.mean() > 0 else means >= 0
    # One is added to both counts so that p is never 0: the sample itself is a resample too.
    p_value = min(1.0, 2 * (1 + int(against.sum())) / (1 + n_resamples))
    return Difference(float(array.mean()), float(low), float(high), p_value, len(array))


def _checked(values: Sequence[float] | np.ndarray) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(
            f"statistics: values of shape {array.shape}; give one number for each question"
        )
    if not np.isfinite(array).all():
        bad = int(np.argmin(np.isfinite(array)))
        raise ValueError(
            f"statistics: value {array[bad]} of question {bad}; leave out questions without a score"
        )
    return array


def _resampled_means(values: np.ndarray, seed: int, n_resamples: int) -> np.ndarray:
    """Means of samples drawn with replacement, `(n_resamples,)`."""
    from scipy.stats import bootstrap

    if len(values) == 1:  # scipy refuses, though every resample is the value itself
        return np.full(n_resamples, values[0])
    batch = max(1, _CELLS_AT_ONCE // len(values))
    drawn = bootstrap(
        (values,), np.mean, n_resamples=n_resamples, batch=batch, method="percentile", rng=seed
    )
    return drawn.bootstrap_distribution
