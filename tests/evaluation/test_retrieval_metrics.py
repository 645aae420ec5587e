import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.evaluation.retrieval_metrics import harmonic_mean, ndcg, retrieval_metrics

ITEMS = [f"i{n}" for n in range(12)]


@given(
    st.permutations(ITEMS), st.sets(st.sampled_from(ITEMS), min_size=1), st.integers(1, len(ITEMS))
)
def test_full_ranking_equals_scikit_learn(ranked, relevant, k):
    from sklearn.metrics import f1_score, ndcg_score, precision_score, recall_score

    found = retrieval_metrics(ranked, relevant, ks=(k,))
    truth = np.array([[item in relevant for item in ranked]], dtype=int)
    chosen = np.arange(len(ranked)) < k
    falling = np.arange(len(ranked), 0, -1.0)[None]
    assert found is not None
    assert found[f"ndcg@{k}"] == pytest.approx(ndcg_score(truth, falling, k=k))
    assert found[f"p@{k}"] == pytest.approx(precision_score(truth[0], chosen))
    assert found[f"r@{k}"] == pytest.approx(recall_score(truth[0], chosen))
    assert found[f"f1@{k}"] == pytest.approx(f1_score(truth[0], chosen))
    assert found["mrr"] == 1 / min(ranked.index(item) + 1 for item in relevant)


@given(
    st.lists(st.sampled_from(ITEMS), unique=True, min_size=1),
    st.sets(st.sampled_from([*ITEMS, "never", "found"]), min_size=1),
    st.lists(st.integers(1, 15), min_size=1, max_size=4, unique=True),
)
def test_any_ranking_equals_trec_eval(ranked, relevant, ks):
    import pytrec_eval

    cuts = ",".join(map(str, ks))
    measures = {f"{name}.{cuts}" for name in ("P", "recall", "ndcg_cut")} | {"recip_rank"}
    judge = pytrec_eval.RelevanceEvaluator({"q": dict.fromkeys(relevant, 1)}, measures)
    run = {item: float(-rank) for rank, item in enumerate(ranked)}
    truth = judge.evaluate({"q": run})["q"]
    found = retrieval_metrics(ranked, relevant, ks)
    assert found is not None
    assert found["mrr"] == pytest.approx(truth["recip_rank"])
    for k in ks:
        assert found[f"p@{k}"] == pytest.approx(truth[f"P_{k}"])
        assert found[f"r@{k}"] == pytest.approx(truth[f"recall_{k}"])
        assert found[f"ndcg@{k}"] == pytest.approx(truth[f"ndcg_cut_{k}"])


def test_no_relevant_items_give_no_score():
    assert retrieval_metrics(["a", "b"], []) is None


def test_nothing_retrieved_scores_zero():
    found = retrieval_metrics([], ["a"], ks=(3,))
    assert found == {"mrr": 0, "p@3": 0, "r@3": 0, "f1@3": 0, "ndcg@3": 0}


def test_missing_ranks_below_the_cutoff_are_misses():
    found = retrieval_metrics(["a"], ["a", "b"], ks=(4,))
    assert found == {
        "mrr": 1,
        "p@4": 0.25,
        "r@4": 0.5,
        "f1@4": pytest.approx(1 / 3),
        "ndcg@4": pytest.approx(1 / (1 + 1 / np.log2(3))),
    }


def test_fewer_relevant_than_the_cutoff_can_be_perfect():
    found = retrieval_metrics(["a", "b", "c"], ["a"], ks=(3,))
    assert found is not None
    assert found["ndcg@3"] == found["r@3"] == found["mrr"] == 1
    assert found["p@3"] == pytest.approx(1 / 3)


def test_duplicate_relevant_ids_count_once():
    assert retrieval_metrics(["a"], ["a", "a"]) == retrieval_metrics(["a"], ["a"])


def test_ndcg_by_hand():
    hits = np.array([False, True, True])
    assert ndcg(hits, 2, 3) == pytest.approx((1 / np.log2(3) + 0.5) / (1 + 1 / np.log2(3)))


def test_published_f1_is_the_harmonic_mean_of_the_averages():
    # graph-augmented ODMDS, table 2: BM25 on Story at 3
    assert 100 * harmonic_mean(0.7117, 0.2816) == pytest.approx(40.35, abs=0.01)


def test_invalid_arguments_raise():
    with pytest.raises(ValueError, match="'b' is ranked twice"):
        retrieval_metrics(["a", "b", "b"], ["a"])
    with pytest.raises(ValueError, match="cut-off 0"):
        retrieval_metrics(["a"], ["a"], ks=(3, 0))
