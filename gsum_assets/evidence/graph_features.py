"""What the neighbours and nearest passages of a passage have in common with a question."""

from collections.abc import Mapping

import numpy as np

from gsum_assets.evidence.scope import FURTHEST, Scope, standardized

_SIGNALS = ("dense", "BM25", "best 3 sentences", "words of the question", "all signals")
_COMBINED = (
    "dense",
    "BM25",
    "best sentence",
    "best 3 sentences",
    "best window",
    "words of the question",
)
_OFFSETS = (*range(-FURTHEST, 0), *range(1, FURTHEST + 1))
_SHAPES = (*(f"{offset:+d}" for offset in _OFFSETS), "mean of nearest", "best of nearest", "smooth")
_WALKED = ("dense", "all signals")
_MISSING = -1.0  # standardized score of a passage that does not exist
_KERNEL = (0.4, 0.2, 0.1)  # of a passage, its neighbours, and theirs

GRAPH = (
    *(f"neighbours by {name}: {shape}" for name in _SIGNALS for shape in _SHAPES),
    *(f"walk from {name}{form}" for name in _WALKED for form in ("", ": standardized")),
)
"""Names of the features in the order of their columns."""


def graph_features(scope: Scope, signal_of: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the features `GRAPH` of all passages, `(n, len(GRAPH))`.

    Parameters
    ----------
    signal_of : scores by the name of the signal, `(n,)` each (`features.signals`).
    """
    scaled = {name: standardized(values) for name, values in signal_of.items()}
    scaled["all signals"] = np.mean([scaled[name] for name in _COMBINED], axis=0)
    shapes = around(scope, np.stack([scaled[name] for name in _SIGNALS]))
    columns = [shape[number] for number in range(len(_SIGNALS)) for shape in shapes]
    for name in _WALKED:
        walked = np.log(walk_from(scope, scaled[name]) + 1e-6)
        columns += [walked, standardized(walked)]
    return np.stack(columns, axis=1)


def around(scope: Scope, scores: np.ndarray) -> list[np.ndarray]:
    """Return the scores of the neighbours, mean and best of the nearest, and a smoothed score.

    Parameters
    ----------
    scores : of one signal or several, `(…, n)`, as are those returned.
    """
    neighbours = [at(scores, column, _MISSING) for column in scope.before.T[::-1]]
    neighbours += [at(scores, column, _MISSING) for column in scope.behind.T]
    is_near = scope.nearest >= 0  # (n, N_NEAREST)
    mean = best = np.full(scores.shape, _MISSING)
    if is_near.any():  # a single passage has no other
        values = scores[..., scope.nearest]  # (…, n, N_NEAREST)
        mean = (values * is_near).sum(axis=-1) / is_near.sum(axis=-1)
        best = np.where(is_near, values, -np.inf).max(axis=-1)
    return [*neighbours, mean, best, smooth(scope, scores)]


def walk_from(scope: Scope, scores: np.ndarray) -> np.ndarray:
    """Return personalized PageRank that restarts by the softmax of 3 times the scores, `(n,)`."""
    from scipy.linalg import lu_solve

    restart = np.exp(3 * (scores - scores.max()))
    return lu_solve(scope.walk, 0.15 * restart / restart.sum())


def smooth(scope: Scope, scores: np.ndarray) -> np.ndarray:
    """Return scores averaged over two passages on either side; the nearest stands for missing."""
    total = _KERNEL[0] * scores
    for side in (scope.before, scope.behind):
        last = scores
        for weight, column in zip(_KERNEL[1:], side.T, strict=False):
            last = at(scores, column, last)
            total = total + weight * last
    return total


def at(scores: np.ndarray, rows: np.ndarray, missing: float | np.ndarray) -> np.ndarray:
    """Return the scores at `rows`, `(…, n)`, and `missing` where a row is -1."""
    return np.where(rows >= 0, scores[..., rows], missing)
