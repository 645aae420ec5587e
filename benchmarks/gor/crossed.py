"""The mean of a difference that two things of chance decide: the questions, and the seed."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gsum.statistics import compare


class Difference(NamedTuple):
    """A mean difference with its 95% interval and two-sided p-value."""

    mean: float
    low: float
    high: float
    p_value: float


def difference(values: np.ndarray, control: Sequence[float] | np.ndarray) -> Difference:
    """Compare a method with a control over the same questions.

    With one row it is `gsum.statistics.compare`. With several, a row a seed, questions and seeds
    are both taken as drawn: the variance of the mean is that of the questions' means over the
    number of questions plus that of the seeds' means over the number of seeds (a little too much,
    since both hold what is left over), with Satterthwaite's degrees of freedom.

    Parameters
    ----------
    values : `(n_seeds, n_questions)`.
    control : `(n_questions,)`, without chance.
    """
    gained = np.asarray(values, float) - np.asarray(control, float)
    if len(gained) == 1:
        found = compare(list(values[0]), list(control))
        return Difference(found.difference, found.low, found.high, found.p_value)
    return _crossed(gained)


def _crossed(gained: np.ndarray) -> Difference:
    from scipy.special import stdtr, stdtrit

    of_each = [gained.mean(axis=axis) for axis in (0, 1)]  # questions, seeds
    variances = np.array([means.var(ddof=1) / len(means) for means in of_each])
    mean, variance = float(gained.mean()), variances.sum()
    if not variance:
        return Difference(mean, mean, mean, 0.0 if mean else 1.0)
    freedoms = np.array([len(means) - 1 for means in of_each])
    freedom = variance**2 / (variances**2 / freedoms).sum()
    error = variance**0.5
    half = float(stdtrit(freedom, 0.975) * error)
    p_value = 2 * float(stdtr(freedom, -abs(mean) / error))
    return Difference(mean, mean - half, mean + half, p_value)
