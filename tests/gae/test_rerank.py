"""The paper's formula by hand, and what it must leave alone."""

import numpy as np
import pytest

from gsum_assets.gae.rerank import rerank


def test_three_candidates_known_values() -> None:
    found = rerank(np.array([0.8, 0.6, 0.4]), np.array([7, 3, 7]))
    # the first gains 0.4 / log2(4) * 0.4 / 0.4, the third 0.8 / log2(2) * 0.8 / 0.8
    assert found == pytest.approx([0.8 + 0.2, 0.6, 0.4 + 0.8])


def test_singletons_and_zero_scores_change_nothing() -> None:
    scores = np.array([0.5, 0.2, 0.0])
    assert rerank(scores, np.arange(3)) == pytest.approx(scores)
    assert rerank(np.zeros(3), np.zeros(3)) == pytest.approx(np.zeros(3))
