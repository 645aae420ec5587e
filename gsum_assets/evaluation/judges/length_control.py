"""Win rates at equal length: what is left of a preference if longer answers are liked better.

A judge that prefers longer answers favours methods that write them (arXiv 2506.06331). As in
length-controlled AlpacaEval (arXiv 2404.04475, section 3), the logit of a question's value is
a + b · tanh(d / s), where d is the difference of both answers in words and s its standard
deviation. Each pair of methods has its own a, and all pairs of a criterion share b. The rate at
equal length is that of d = 0.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

_RIDGE = 0.01  # so that a pair that always wins has a rate below 1
_STEPS = 50


class Valued(NamedTuple):
    """A question's value for the first method of a pair, 0 to 1, and words of both answers."""

    value: float
    n_words: float
    n_words_opponent: float


def at_equal_length(pairs: Mapping[tuple, Sequence[Valued]]) -> dict[tuple, float]:
    """Return the win rate of each pair at equal length.

    Parameters
    ----------
    pairs : questions by pair, all of one criterion; pairs without any are left out.
    """
    named = [pair for pair, valued in pairs.items() if valued]
    rows = [(i, *valued) for i, pair in enumerate(named) for valued in pairs[pair]]
    if not rows:
        return {}
    number, values, n_words, n_other = np.array(rows, dtype=np.float64).T
    longer = n_words - n_other
    spread = longer.std() or 1.0
    x = np.zeros((len(rows), len(named) + 1))
    x[np.arange(len(rows)), number.astype(int)] = 1
    x[:, -1] = np.tanh(longer / spread)
    weights = np.zeros(x.shape[1])
    for _ in range(_STEPS):  # Newton's method
        p = 1 / (1 + np.exp(-x @ weights))
        gradient = x.T @ (values - p) - _RIDGE * weights
        curvature = (x.T * (p * (1 - p))) @ x + _RIDGE * np.eye(len(weights))
        step = np.linalg.solve(curvature, gradient)
        weights += step
        if np.abs(step).max() < 1e-9:
            break
    rates = 1 / (1 + np.exp(-weights[:-1]))
    return dict(zip(named, rates.tolist(), strict=True))
