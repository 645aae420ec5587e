"""Training of the packaged weights of `evidence`, on toys with known answers."""

import numpy as np
import pytest

from benchmarks.evidence.training import ranking_metrics


def test_ranking_metrics_by_hand() -> None:
    """Evidence is at ranks 2 and 3; equal scores are ranked in order."""
    scores = np.array([0.1, 0.9, 0.5, 0.5])
    hits = np.array([False, False, True, True])
    assert ranking_metrics(scores, hits) == pytest.approx(
        {"mrr": 1 / 2, "p": 2 / 6, "r": 1, "ap": (1 / 2 + 2 / 3) / 2}
    )
    last = np.arange(8.0) == 0
    assert ranking_metrics(np.arange(8.0), last) == {"mrr": 1 / 8, "p": 0, "r": 0, "ap": 1 / 8}
