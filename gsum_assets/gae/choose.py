"""Which clustering to re-rank by, and how far to follow it, judged without labels (ours)."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from gsum_assets.gae.rerank import rerank
from gsum_assets.retrieval.held_out import evidence, t_value
from gsum_assets.retrieval.hybrid import min_max

_JUDGED_AT = 5  # K of the probes: 50 candidates are re-ranked


class Choice(NamedTuple):
    """A clustering with what held-out passages say of it.

    Attributes
    ----------
    name : of the clustering.
    t : paired t of what re-ranking finds over what it was given.
    weight : of what a candidate gains, 0 to 1: max(0, 1 - 1 / t^2) where t is positive, so that
        what chance explains weighs nothing.
    """

    name: str
    t: float
    weight: float


def choose(
    clusterings: Mapping[str, np.ndarray],
    first: np.ndarray,
    second: np.ndarray,
    held_out: np.ndarray,
) -> tuple[Choice, ...]:
    """All clusterings, best first; of equally good ones the first named.

    Parameters
    ----------
    clusterings : cluster of each passage, `(n_passages,)`, by name.
    first, second : scores of held-out passages by two retrievers, `(n_probes, n_passages)`.
    held_out : each probe's own passage.
    """
    found = []
    for name, clusters in clusterings.items():
        judged = evidence(
            first, second, held_out, lambda scores, of=clusters: reranked(scores, of, _JUDGED_AT)
        )
        t = t_value(judged)
        found.append(Choice(name, t, max(0.0, 1 - 1 / t**2) if t > 0 else 0.0))
    return tuple(sorted(found, key=lambda choice: -choice.t))


def reranked(scores: np.ndarray, clusters: np.ndarray, k: int, weight: float = 1.0) -> np.ndarray:
    """The best 10 k of each row by the paper's formula, the others behind them in their order.

    Parameters
    ----------
    scores : of a retriever, `(n_questions, n_passages)`.
    weight : of what re-ranking adds.

    Returns
    -------
    `(n_questions, n_passages)`; candidates not negative, others negative.
    """
    scaled = min_max(scores)
    found = scaled - 2  # behind every candidate
    for row, values in enumerate(scaled):
        best = np.argsort(-values, kind="stable")[: 10 * k]
        gained = rerank(values[best], clusters[best]) - values[best]
        found[row, best] = values[best] + weight * gained
    return found
