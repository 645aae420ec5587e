"""Trees as arrays: by hand, and equal to those of scikit-learn."""

import numpy as np
import pytest

from benchmarks.evidence.trees import train_trees
from gsum_assets.evidence.training import Example, Recipe
from gsum_assets.evidence.trees import Trees


def test_trees_by_hand() -> None:
    """The first tree asks whether x > 0, and then whether y > 1; the second is a single leaf."""
    weights = {
        "feature": np.array([[0, 0, 1, 0, 0], [0, 0, 0, 0, 0]], np.float32),
        "threshold": np.array([[0, 0, 1, 0, 0], [0, 0, 0, 0, 0]], np.float32),
        "left": np.array([[1, 1, 3, 3, 4], [0, 0, 0, 0, 0]], np.float32),
        "right": np.array([[2, 1, 4, 3, 4], [0, 0, 0, 0, 0]], np.float32),
        "value": np.array([[9, -1, 9, 0, 2], [0.5, 9, 9, 9, 9]], np.float32),
        "bias": np.array([-0.5], np.float32),
    }
    trees = Trees(["x", "y"], np.zeros(2), np.ones(2), weights)
    scaled = trees.scaled(np.array([[-1.0, 3.0], [1.0, 0.0], [1.0, 3.0]]))
    assert trees.probabilities(scaled, []) == pytest.approx(1 / (1 + np.exp([1.0, 0.0, -2.0])))
    assert not trees.has_messages


def test_trained_trees_equal_those_of_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    from sklearn import ensemble

    fitted = []
    original = ensemble.GradientBoostingClassifier.fit

    def fit(self, *data):
        fitted.append(self)
        return original(self, *data)

    monkeypatch.setattr(ensemble.GradientBoostingClassifier, "fit", fit)
    draw = np.random.default_rng(0)
    features = draw.normal(3, 2, (400, 3))
    marks = features[:, 0] + draw.normal(size=400) > 4
    trees = train_trees([Example("a", features, [], marks)], ["x", "y", "z"], Recipe(n_seeds=2))
    scaled = trees.scaled(features)
    expected = np.mean([model.decision_function(scaled) for model in fitted], axis=0)
    found = trees.probabilities(scaled, [])
    assert np.log(found / (1 - found)) == pytest.approx(expected, abs=1e-4)
    assert np.mean((found > 0.5) == marks) > 0.8
