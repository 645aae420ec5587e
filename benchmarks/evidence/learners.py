"""Alternatives to the networks of `evidence`: other features, messages, losses and models."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gsum_assets.evidence.features import OWN
from gsum_assets.evidence.losses import Loss, cross_entropy, summed
from gsum_assets.evidence.network import Model
from gsum_assets.evidence.rank import NAMES
from gsum_assets.evidence.training import Example, Judge, Learn, Recipe, learn_network, train
from gsum_assets.evidence.trees import Trees

if TYPE_CHECKING:
    from torch import Tensor

ALL = NAMES[True]


def packaged_models(examples: Sequence[Example], recipe: Recipe) -> dict[str, Model]:
    """Return the models of the packaged weights by name.

    Parameters
    ----------
    examples : with all features and edges.
    """
    own = [seen(example, OWN, edges=False) for example in examples]
    return {
        "own": train(own, OWN, recipe),
        "graph": train(examples, ALL, recipe),
        "gnn": train([seen(example, OWN, edges=True) for example in examples], OWN, recipe),
        "gbm": train_trees(examples, ALL, recipe),
    }


def seen(example: Example, names: Sequence[str], edges: bool) -> Example:
    """Return the example with its first features, and without edges if there are to be none."""
    kept = example.edges if edges else []
    return replace(example, features=example.features[:, : len(names)], edges=kept)


def with_graph(recipe: Recipe) -> Learn:
    """Return the training of networks with messages that read all features."""
    return learn_network(ALL, recipe)


def own_features(recipe: Recipe) -> Learn:
    """Return the training of networks that judge each passage by its own features."""
    return _restricted(OWN, recipe, edges=False)


def messages_alone(recipe: Recipe) -> Learn:
    """Return the training of networks with messages that read no hand-made graph feature."""
    return _restricted(OWN, recipe, edges=True)


def _restricted(names: Sequence[str], recipe: Recipe, edges: bool) -> Learn:
    def learn(examples: Sequence[Example]) -> Judge:
        judge = learn_network(names, recipe)([seen(one, names, edges) for one in examples])
        return lambda example: judge(seen(example, names, edges))

    return learn


def boosted_trees(recipe: Recipe) -> Learn:
    """Return the training of gradient-boosted trees on all features of each passage, graph too."""

    def learn(examples: Sequence[Example]) -> Judge:
        trees = train_trees(examples, ALL, recipe)
        return lambda example: trees.probabilities(trees.scaled(example.features), [])

    return learn


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


def with_soft_f1(weight: float) -> Loss:
    """Return cross-entropy plus a weighted 1 - F1, with probabilities in place of choices."""

    def loss(logits: "Tensor", marks: "Tensor", owners: "Tensor") -> "Tensor":
        chosen = logits.sigmoid()
        f1 = 2 * summed(chosen * marks, owners) / (summed(chosen, owners) + summed(marks, owners))
        return cross_entropy(logits, marks, owners) + weight * (1 - f1.mean())

    return loss
