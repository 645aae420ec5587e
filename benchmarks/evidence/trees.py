"""Gradient-boosted trees on the features of `evidence`: the model of `evidence-gbm`."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gsum_assets.evidence.training import Example, Recipe
from gsum_assets.evidence.trees import Trees


def train_trees(examples: Sequence[Example], names: Sequence[str], recipe: Recipe) -> Trees:
    """Return boosted trees, one model for each seed, whose logits are averaged.

    Parameters
    ----------
    names : names of the features, `(n_features,)`.
    """
    from sklearn.ensemble import GradientBoostingClassifier

    features = np.concatenate([example.features for example in examples])
    marks = np.concatenate([example.is_evidence for example in examples])
    untrained = Trees(names, features.mean(axis=0), features.std(axis=0) + 1e-6, {})
    scaled = untrained.scaled(features)
    fitted = [
        GradientBoostingClassifier(
            n_estimators=150,
            learning_rate=0.05,
            max_leaf_nodes=15,
            min_samples_leaf=50,
            max_features=0.3,
            subsample=0.5,
            random_state=seed,
        ).fit(scaled, marks)
        for seed in range(recipe.n_seeds)
    ]
    trees = [one.tree_ for model in fitted for one in model.estimators_.ravel()]
    widest = max(tree.node_count for tree in trees)
    share = fitted[0].learning_rate / len(fitted)
    prior = marks.mean()
    return replace(
        untrained,
        weights={
            "feature": _stacked([np.maximum(tree.feature, 0) for tree in trees], widest),
            "threshold": _stacked([tree.threshold for tree in trees], widest),
            "left": _stacked([_child(tree.children_left) for tree in trees], widest),
            "right": _stacked([_child(tree.children_right) for tree in trees], widest),
            "value": _stacked([share * tree.value[:, 0, 0] for tree in trees], widest),
            "bias": np.array([np.log(prior / (1 - prior))], np.float32),
        },
    )


def _child(children: np.ndarray) -> np.ndarray:
    """Return the children of each node; a leaf is its own."""
    return np.where(children < 0, np.arange(len(children)), children)


def _stacked(rows: Sequence[np.ndarray], width: int) -> np.ndarray:
    padded = [np.pad(row, (0, width - len(row))) for row in rows]
    return np.stack(padded).astype(np.float32)
