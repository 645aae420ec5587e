"""Simulations of nine equally good methods: false marks, coverage of intervals, power.

    python -m tests.gsum.simulations [--trials 1000]

Scores are normal, or skewed as ROUGE-2 is (gamma of shape 1/2); all methods share the hardness of
a question. Six minutes with 1,000 trials on one processor.
"""

import argparse

import numpy as np
from scipy.stats import ttest_rel

from gsum.statistics import SIGNIFICANT, WORSE, compare, intervals, marks

N_METHODS = 9
SIZES = (4, 10, 30, 125)
EFFECT = 0.3  # of the differences' standard deviation


def scores(kind: str, n_questions: int, generator: np.random.Generator) -> np.ndarray:
    """Return scores of equally good methods, `(n_questions, 9)`, whose means are 0."""
    shape = (n_questions, N_METHODS)
    if kind == "normal":
        return generator.normal(size=shape) + generator.normal(size=(n_questions, 1))
    return generator.gamma(0.5, size=shape) + generator.gamma(0.5, size=(n_questions, 1)) - 1


def measure(kind: str, n_questions: int, n_trials: int) -> tuple[float, float]:
    """Return how often any method is marked worse, and how often an interval holds the mean 0."""
    generator = np.random.default_rng(n_questions)
    false_marks = covered = 0
    for trial in range(n_trials):
        values = scores(kind, n_questions, generator)
        false_marks += WORSE in marks(values, seed=trial)
        ends = intervals(values, seed=trial, n_resamples=2000)
        covered += ((ends[:, 0] <= 0) & (ends[:, 1] >= 0)).mean()
    return false_marks / n_trials, covered / n_trials


def power(n_questions: int, n_trials: int) -> tuple[float, float]:
    """Return how often a difference is found by the sign-flip test, and by a paired t-test."""
    generator = np.random.default_rng(n_questions)
    found = by_t = 0
    for trial in range(n_trials):
        better = generator.normal(EFFECT, 1, n_questions)
        worse = np.zeros(n_questions)
        found += compare(better, worse, seed=trial).p_value <= SIGNIFICANT
        by_t += ttest_rel(better, worse).pvalue <= SIGNIFICANT
    return found / n_trials, by_t / n_trials


def main() -> None:
    """Print what was simulated."""
    parser = argparse.ArgumentParser(prog="python -m tests.gsum.simulations")
    parser.add_argument("--trials", type=int, default=1000)
    n_trials = parser.parse_args().trials
    print("| scores | n | any of 9 equal methods marked worse | intervals that hold the mean |")
    print("|---|---:|---:|---:|")
    for kind in ("normal", "skewed"):
        for n_questions in SIZES:
            false_marks, coverage = measure(kind, n_questions, n_trials)
            print(f"| {kind} | {n_questions} | {false_marks:.1%} | {coverage:.1%} |", flush=True)
    found, by_t = power(125, n_trials)
    print(f"power for 0.3 standard deviations, n = 125: {found:.1%}; paired t-test {by_t:.1%}")


if __name__ == "__main__":
    main()
