import numpy as np
from scipy import stats

from gsum_assets.retrieval.random_order import RandomOrder
from tests.retrieval.toys import of_texts, toy_question


def scores(n_items=200, n_questions=50, seed=0):
    many = of_texts(*["x"] * n_items)
    return RandomOrder(many, seed).scores(toy_question(*["?"] * n_questions)).nodes


def test_scores_are_uniform_within_and_across_questions():
    found = scores()
    assert stats.kstest(found.ravel(), "uniform").pvalue > 0.001
    assert stats.kstest(found[:, 0], "uniform").pvalue > 0.001
    assert stats.kstest(found[0], "uniform").pvalue > 0.001


def test_orders_differ_between_questions():
    correlation = np.corrcoef(scores(n_items=2000, n_questions=4))
    assert np.abs(correlation - np.eye(4)).max() < 0.1


def test_seed_decides():
    np.testing.assert_array_equal(scores(seed=1), scores(seed=1))
    assert not (scores(seed=1) == scores(seed=2)).any()


def test_growing_corpus_keeps_its_order():
    np.testing.assert_array_equal(scores(n_items=200)[:, :50], scores(n_items=50))


def test_long_documents_are_not_favoured():
    one = of_texts(*["x"] * 100)
    long_first = type(one)(
        ["d0", "d1"], ["", ""], one.chunk_ids, one.chunk_texts, np.array([0, 99, 100])
    )
    found = RandomOrder(long_first).scores(toy_question(*["?"] * 400)).documents
    assert 0.4 < (found[:, 0] > found[:, 1]).mean() < 0.6
