"""The weight of re-ranking: clusters that join what belongs together have one, others none."""

import numpy as np
import pytest

from gsum_assets.gae.rerank import discounted, reranked
from gsum_assets.gae.settings import RerankSettings
from gsum_assets.gae.weigh import agreements, weight_of
from gsum_assets.retrieval.collection import Collection
from tests.lightpal.toys import topic_tables

N, GROUPS = 60, np.repeat(np.arange(12), 5)


def test_true_groups_agree_best() -> None:
    here = Collection.from_tables(*topic_tables(10, 6, 3))  # 60 documents of 10 topics
    topic = np.array([int(document_id[1:3]) for document_id in here.document_ids])
    of_chunk = np.repeat(topic, np.diff(here.starts))
    ways = {
        "true": of_chunk,
        "chance": np.random.default_rng(0).permutation(of_chunk),
        "alone": np.arange(len(of_chunk)),
    }
    found = {name: agreements(here, labels, "en", 300) for name, labels in ways.items()}
    assert found["true"]["corpus"] > 2
    assert found["true"]["corpus"] > found["chance"]["corpus"]
    assert found["alone"]["corpus"] == 0  # nothing moves
    assert found["true"]["document"] == 0  # documents of 3 chunks give no evidence


@pytest.mark.parametrize(
    ("t", "weight"), [(-3.0, 0.0), (0.0, 0.0), (2.0, 0.0), (4.0, 0.75), (np.inf, 1.0)]
)
def test_weight(t: float, weight: float) -> None:
    assert weight_of(t) == weight


def test_candidates_precede_others_and_zero_weight_keeps_the_order() -> None:
    scores = np.random.default_rng(0).random((3, N))
    found = reranked(scores, GROUPS, 2, RerankSettings())
    assert ((found >= 0).sum(axis=1) == 20).all()
    kept = reranked(scores, GROUPS, 2, RerankSettings(), weight=0.0)
    assert (np.argsort(-kept, axis=1) == np.argsort(-scores, axis=1)).all()


def test_further_passages_of_a_document_count_less() -> None:
    scores = np.array([[0.2, 0.8, 0.4, 0.6, 0.6], [0.1, 0.1, 0.1, 0.0, 1.0]])
    found = discounted(scores, np.array([0, 3, 5]), 0.5)
    assert found[0] == pytest.approx([0.2 / 4, 0.8, 0.4 / 2, 0.6, 0.6 / 2])
    assert found[1] == pytest.approx([0.1, 0.1 / 2, 0.1 / 4, 0.0, 1.0])
    assert np.array_equal(discounted(scores, np.array([0, 3, 5]), 1.0), scores)
