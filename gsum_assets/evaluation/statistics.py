"""How sure a mean over questions is, and a difference of two methods over the same questions.

Everything rests on one resampling (`Resamples`): questions are drawn with replacement, and every
method and metric keeps its values of the questions drawn. So intervals of many columns, and paired
differences of any two of them, come out of one matrix product.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

N_RESAMPLES = 10_000
LEVEL = 0.95
_CELLS_AT_ONCE = 2**22  # counts of drawn questions in memory at a time: 32 MiB
_DECIMALS = 9  # the last bits of a matrix product depend on the number of threads


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


class Resamples:
    """Several columns of values of the same questions, resampled together.

    Percentile bootstrap (Efron 1979). The same seed and number of questions draw the same
    questions, whatever the columns.

    Parameters
    ----------
    values : one row a question, one column a method or metric, `(n_questions, n_columns)`, finite.
    seed : of the drawing.
    level : share of the resampled means inside an interval, between 0 and 1.
    """

    def __init__(
        self,
        values: np.ndarray,
        seed: int = 0,
        level: float = LEVEL,
        n_resamples: int = N_RESAMPLES,
    ) -> None:
        self._values = _checked(np.asarray(values, dtype=np.float64))
        self._ends = [(1 - level) / 2, (1 + level) / 2]
        self._means = _resampled_means(self._values, seed, n_resamples)

    def estimates(self) -> list[Estimate]:
        """The mean of each column."""
        means, deviations = self._values.mean(0).round(_DECIMALS), self._values.std(0)
        low, high = np.quantile(self._means, self._ends, axis=0).round(_DECIMALS)
        n = len(self._values)
        return [
            Estimate(float(m), float(s), float(a), float(b), n)
            for m, s, a, b in zip(means, deviations, low, high, strict=True)
        ]

    def differences(self, first: Sequence[int], second: Sequence[int]) -> list[Difference]:
        """The mean of column `first[i]` less that of column `second[i]`, for each i."""
        if not len(first):
            return []
        means = (self._values[:, first] - self._values[:, second]).mean(0).round(_DECIMALS)
        resampled = (self._means[:, first] - self._means[:, second]).round(_DECIMALS)
        low, high = np.quantile(resampled, self._ends, axis=0).round(_DECIMALS)
        against = np.where(means > 0, (resampled <= 0).sum(0), (resampled >= 0).sum(0))
        # One is added to both counts so that p is never 0: the sample itself is a resample too.
        p_values = np.minimum(1.0, 2 * (1 + against) / (1 + len(resampled)))
        n = len(self._values)
        return [
            Difference(float(m), float(a), float(b), float(p), n)
            for m, a, b, p in zip(means, low, high, p_values, strict=True)
        ]


def estimate(
    values: Sequence[float] | np.ndarray,
    seed: int = 0,
    level: float = LEVEL,
    n_resamples: int = N_RESAMPLES,
) -> Estimate:
    """Mean, standard deviation and bootstrap interval of one column.

    Parameters
    ----------
    values : one for each question, `(n,)`, finite.

    Raises
    ------
    ValueError
        If there is no value, or one is not finite.
    """
    return Resamples(_column(values), seed, level, n_resamples).estimates()[0]


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
    both = np.hstack([_column(first), _column(second)])
    return Resamples(both, seed, level, n_resamples).differences([0], [1])[0]


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values adjusted for their number (Holm 1979), in the given order.

    The smallest of m is multiplied by m, the next by m - 1, …; none becomes smaller than one
    before it. Among those at most alpha, the chance of a single false one is at most alpha.
    """
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(order), 0, -1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(1, np.maximum.accumulate(np.asarray(p_values)[order] * factors))
    return adjusted.tolist()


def _column(values: Sequence[float] | np.ndarray) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(
            f"statistics: values of shape {array.shape}; give one number for each question"
        )
    return array[:, None]


def _checked(values: np.ndarray) -> np.ndarray:
    if len(values) == 0:
        raise ValueError(
            f"statistics: values of shape {values.shape}; give one number for each question"
        )
    finite = np.isfinite(values).all(axis=1)
    if not finite.all():
        bad = int(np.argmin(finite))
        found = values[bad][~np.isfinite(values[bad])][0]
        raise ValueError(
            f"statistics: value {found} of question {bad}; leave out questions without a score"
        )
    return values


def _resampled_means(values: np.ndarray, seed: int, n_resamples: int) -> np.ndarray:
    """Means of the columns over questions drawn with replacement, `(n_resamples, n_columns)`."""
    generator = np.random.default_rng(seed)
    n = len(values)
    means = np.empty((n_resamples, values.shape[1]))
    block = max(1, _CELLS_AT_ONCE // n)
    for start in range(0, n_resamples, block):
        stop = min(start + block, n_resamples)
        drawn = generator.integers(n, size=(stop - start, n))
        drawn += np.arange(stop - start)[:, None] * n
        counts = np.bincount(drawn.ravel(), minlength=(stop - start) * n).reshape(-1, n)
        means[start:stop] = counts @ values / n
    return means
