"""Which passages are read: the prefix with the largest expected F1."""

import numpy as np


def expected_f1(probabilities: np.ndarray) -> np.ndarray:
    """Return the expected F1 of each prefix, `(n,)`: 2 · sum of its p / (k + sum of all p).

    The F1 of a set of k passages of which a are evidence, out of b, is 2a / (k + b); numerator and
    denominator are replaced by their expectations.

    Parameters
    ----------
    probabilities : of all passages of the scope, best first, `(n,)`.
    """
    lengths = np.arange(1, len(probabilities) + 1)
    return 2 * np.cumsum(probabilities) / (lengths + probabilities.sum())


def best_prefix(
    probabilities: np.ndarray, tokens: np.ndarray, k_max: int, max_tokens: int, k_min: int = 1
) -> int:
    """Return the number of passages to read: at least `k_min`, or as many as fit.

    Parameters
    ----------
    probabilities : of all passages of the scope, best first, `(n,)`.
    tokens : lengths of the passages in that order, `(n,)`.
    """
    allowed = prefix_within(tokens, k_max, max_tokens)
    first = min(k_min, allowed) - 1
    return first + int(np.argmax(expected_f1(probabilities)[first:allowed].round(9))) + 1


def prefix_within(tokens: np.ndarray, k_max: int, max_tokens: int) -> int:
    """Return how many passages fit, at least 1 and at most `k_max`."""
    fit = int(np.searchsorted(np.cumsum(tokens), max_tokens, side="right"))
    return min(max(fit, 1), k_max)
