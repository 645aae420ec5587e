"""Training of the packaged weights of `evidence`, on toys with known answers."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.evidence.training import LEARNERS, cross_validated, ranking_metrics
from gsum_assets.evidence.features import OWN
from gsum_assets.evidence.training import Example, Recipe


def test_ranking_metrics_by_hand() -> None:
    """Evidence is at ranks 2 and 3; equal scores are ranked in order."""
    scores = np.array([0.1, 0.9, 0.5, 0.5])
    hits = np.array([False, False, True, True])
    assert ranking_metrics(scores, hits) == pytest.approx(
        {"mrr": 1 / 2, "p": 2 / 6, "r": 1, "ap": (1 / 2 + 2 / 3) / 2}
    )
    last = np.arange(8.0) == 0
    assert ranking_metrics(np.arange(8.0), last) == {"mrr": 1 / 8, "p": 0, "r": 0, "ap": 1 / 8}


@pytest.mark.parametrize("name", LEARNERS)
def test_each_model_sees_its_features_and_edges(name: str) -> None:
    learner = LEARNERS[name]
    example = Example("d", np.zeros((2, 200)), [np.zeros((2, 1), int)], np.ones(2, bool))
    seen = learner.seen(example)
    assert seen.features.shape[1] == len(learner.names)
    assert (len(seen.edges) == 1) == (name in ("graph", "gnn"))
    assert (len(learner.names) > len(OWN)) == (name in ("graph", "gbm"))


def test_boosted_trees_learn_a_threshold() -> None:
    draw = np.random.default_rng(0)
    features = [draw.uniform(-1, 1, (60, 1)) for _ in range(10)]
    examples = [Example(f"d{i}", own, [], own[:, 0] > 0.2) for i, own in enumerate(features)]
    learner = LEARNERS["gbm"]._replace(names=["x"])
    recipe = replace(Recipe(), n_seeds=2)
    found = cross_validated(examples, lambda own: learner.judge(own, recipe), 2)
    for own, example in zip(found, examples, strict=True):
        assert np.mean((own > 0.5) == example.is_evidence) > 0.9
