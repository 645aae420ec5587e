"""Simulations of nine equally good methods: false marks, coverage of intervals, power.

    python -m tests.gsum.simulations [--trials 1000] [--store]

Scores are normal, or skewed as ROUGE-2 is (gamma of shape 1/2); all methods share the hardness of
a question. Six minutes with 1,000 trials on one processor.
"""

from collections.abc import Iterator

import numpy as np
from scipy.stats import ttest_rel

from benchmarks import Measurement
from benchmarks.results import interval, parser_of, publish
from gsum.statistics import SIGNIFICANT, WORSE, compare, intervals, marks

N_METHODS = 9
SIZES = (4, 10, 30, 125)
EFFECT = 0.3  # of the differences' standard deviation
POWER_SIZE = 125


def scores(kind: str, n_questions: int, generator: np.random.Generator) -> np.ndarray:
    """Return scores of equally good methods, `(n_questions, 9)`, whose means are 0."""
    shape = (n_questions, N_METHODS)
    if kind == "normal":
        return generator.normal(size=shape) + generator.normal(size=(n_questions, 1))
    return generator.gamma(0.5, size=shape) + generator.gamma(0.5, size=(n_questions, 1)) - 1


def measure(kind: str, n_questions: int, n_trials: int) -> np.ndarray:
    """Return for each trial if any method is marked worse, and the share of intervals that hold 0.

    Returns
    -------
    `(n_trials, 2)`.
    """
    generator = np.random.default_rng(n_questions)
    found = np.empty((n_trials, 2))
    for trial in range(n_trials):
        values = scores(kind, n_questions, generator)
        ends = intervals(values, seed=trial, n_resamples=2000)
        covered = ((ends[:, 0] <= 0) & (ends[:, 1] >= 0)).mean()
        found[trial] = WORSE in marks(values, seed=trial), covered
    return found


def power(n_questions: int, n_trials: int) -> np.ndarray:
    """Return for each trial if the sign-flip test finds a difference, and if a paired t-test does.

    Returns
    -------
    `(n_trials, 2)`.
    """
    generator = np.random.default_rng(n_questions)
    found = np.empty((n_trials, 2))
    for trial in range(n_trials):
        better = generator.normal(EFFECT, 1, n_questions)
        worse = np.zeros(n_questions)
        by_flips = compare(better, worse, seed=trial).p_value <= SIGNIFICANT
        found[trial] = by_flips, ttest_rel(better, worse).pvalue <= SIGNIFICANT
    return found


def tables(n_trials: int) -> Iterator[Measurement]:
    """Yield the table of false marks and coverage, and that of power."""
    rows = [
        [kind, str(n), *_cells(measure(kind, n, n_trials))]
        for kind in ("normal", "skewed")
        for n in SIZES
    ]
    yield Measurement(
        "Nine equally good methods",
        f"{n_trials} trials a row; percent with 95% intervals over trials. Skewed: gamma of shape "
        "1/2.",
        ["scores", "n", "any of 9 marked worse", "intervals that hold the mean"],
        rows,
    )
    yield Measurement(
        "A difference that there is",
        f"{EFFECT} standard deviations, {n_trials} trials; percent of the trials in which the test "
        "finds it, with 95% intervals.",
        ["n", "sign-flip test", "paired t-test"],
        [[str(POWER_SIZE), *_cells(power(POWER_SIZE, n_trials))]],
    )


def _cells(found: np.ndarray) -> list[str]:
    means, ends = found.mean(axis=0), intervals(found)
    return [interval(mean, *end, decimals=1) for mean, end in zip(means, ends, strict=True)]


def main() -> None:
    """Print what was simulated."""
    parser = parser_of(__doc__, "python -m tests.gsum.simulations")
    parser.add_argument("--trials", type=int, default=1000)
    chosen = parser.parse_args()
    publish("simulations", tables(chosen.trials), chosen.store)


if __name__ == "__main__":
    main()
