"""How much of the marked evidence a ranking finds."""

from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.results import interval
from gsum.statistics import intervals

K = 6
N_RESAMPLES = 2000
HEADER = ("ranking", "n", "MRR", f"P@{K}", f"R@{K}", "AP", "AP less that of dense")


def metrics_of(hits: Sequence[np.ndarray]) -> dict[str, list[float]]:
    """Return MRR, P@6, R@6 and average precision of each question.

    Parameters
    ----------
    hits : for each question whether each ranked passage holds evidence, best first; all passages
        are ranked, and one holds evidence at least.
    """
    found: dict[str, list[float]] = {"mrr": [], "p": [], "r": [], "ap": []}
    for one in hits:
        ranks = np.flatnonzero(one) + 1
        found["mrr"].append(float(1 / ranks[0]))
        found["p"].append(float(one[:K].sum() / K))
        found["r"].append(float(one[:K].sum() / one.sum()))
        found["ap"].append(float(np.mean(np.arange(1, len(ranks) + 1) / ranks)))
    return found


def compared_ranks(
    found: Mapping[str, Mapping[str, Sequence[float]]], baseline: str
) -> list[list[str]]:
    """Return a row a ranking, with the paired difference of its AP from the baseline's."""
    rows = []
    for name, own in found.items():
        means = [f"{100 * np.mean(own[metric]):.1f}" for metric in ("mrr", "p", "r", "ap")]
        more = "" if name == baseline else paired(own["ap"], found[baseline]["ap"], 1)
        rows.append([name, str(len(own["ap"])), *means, more])
    return rows


def paired(values: Sequence[float], baseline: Sequence[float], decimals: int = 2) -> str:
    """Return a mean difference with its bootstrap interval over questions, in percent."""
    differences = np.asarray(values) - np.asarray(baseline)
    if not differences.any():
        return "equal"
    low, high = intervals(differences)[0]
    return interval(float(differences.mean()), low, high, 100, decimals, sign="+")


def over_groups(differences: np.ndarray, groups: Sequence[str], decimals: int = 1) -> str:
    """Return the mean of differences with its bootstrap interval over groups, in percent."""
    _, own = np.unique(np.asarray(groups), return_inverse=True)
    sums, sizes = np.bincount(own, differences), np.bincount(own)
    drawn = np.random.default_rng(0).integers(0, len(sums), (N_RESAMPLES, len(sums)))
    means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return interval(float(differences.mean()), float(low), float(high), 100, decimals, sign="+")


def hits_of(scores: Sequence[np.ndarray], marks: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return whether each passage holds evidence, best first, for each question."""
    return [
        own[np.argsort(-score, kind="stable")] for score, own in zip(scores, marks, strict=True)
    ]
