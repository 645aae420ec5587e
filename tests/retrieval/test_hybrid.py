import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.retrieval.hybrid import ReciprocalRankFusion, WeightedSum, hybrid, min_max, ranks
from gsum_assets.retrieval.ranking import Scores
from tests.retrieval.toys import collection, toy_question, toy_questions

rows = st.lists(st.lists(st.integers(-5, 5), min_size=4, max_size=4), min_size=1, max_size=3).map(
    lambda r: np.array(r, dtype=np.float64)
)


class Fixed:
    """A retriever that knows its answer."""

    def __init__(self, *scores):
        self.found = np.array([scores], dtype=np.float64)

    def scores(self, questions):
        return Scores(self.found, -self.found)


@given(rows, st.integers(1, 9), st.integers(-9, 9))
def test_min_max_ignores_scale_and_offset(scores, scale, offset):
    found = min_max(scores)
    np.testing.assert_allclose(min_max(scale * scores + offset), found, atol=1e-12)
    for row, scaled in zip(scores, found, strict=True):
        spread = row.max() > row.min()
        assert scaled.min() == 0
        assert scaled.max() == (1 if spread else 0)


@given(rows)
def test_rank_counts_better_items(scores):
    expected = [[1 + sum(other > value for other in row) for value in row] for row in scores]
    assert ranks(scores).tolist() == expected


def test_weighted_sum_known_values():
    fused = WeightedSum([(Fixed(0, 5, 10), 0.6), (Fixed(-1, 1, -1), 0.4)]).scores(toy_question("?"))
    np.testing.assert_allclose(fused.nodes, [[0, 0.6 * 0.5 + 0.4, 0.6]])
    np.testing.assert_allclose(fused.documents, [[0.6 + 0.4, 0.3, 0.4]])


def test_reciprocal_ranks_known_values():
    fused = ReciprocalRankFusion([Fixed(9, 5, 1), Fixed(0, 7, 7)]).scores(toy_question("?"))
    expected = [1 / 61 + 1 / 63, 1 / 62 + 1 / 61, 1 / 63 + 1 / 61]
    np.testing.assert_allclose(fused.nodes, [expected])


def test_constant_component_leaves_the_order_to_the_other():
    constant = Fixed(3, 3, 3)
    for fused in (
        WeightedSum([(constant, 0.6), (Fixed(1, 3, 2), 0.4)]),
        ReciprocalRankFusion([constant, Fixed(1, 3, 2)]),
    ):
        assert np.argsort(-fused.scores(toy_question("?")).nodes[0]).tolist() == [1, 2, 0]


def test_hybrid_weights_are_six_tenths_words_and_four_tenths_vectors():
    # Words: only "apples" has both; vectors: the question points at clouds.
    found = hybrid(collection()).scores(toy_questions(("red apples", None, 2)))
    np.testing.assert_allclose(found.documents, [[0.6, 0, 0.4]])
    assert found.nodes[0, 0] == pytest.approx(0.6)
    assert found.nodes[0, 4] == pytest.approx(0.4)
