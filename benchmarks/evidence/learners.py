"""Alternatives to the networks of `evidence`: other features, messages, losses and models."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gsum_assets.evidence.features import OWN
from gsum_assets.evidence.losses import Loss, cross_entropy, summed
from gsum_assets.evidence.rank import NAMES
from gsum_assets.evidence.training import Example, Judge, Learn, Recipe, learn_network

if TYPE_CHECKING:
    from torch import Tensor

ALL = NAMES[True]


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
    def seen(example: Example) -> Example:
        kept = example.edges if edges else []
        return replace(example, features=example.features[:, : len(names)], edges=kept)

    def learn(examples: Sequence[Example]) -> Judge:
        judge = learn_network(names, recipe)([seen(example) for example in examples])
        return lambda example: judge(seen(example))

    return learn


def boosted_trees(recipe: Recipe) -> Learn:
    """Return the training of gradient-boosted trees on all features of each passage, graph too."""

    def learn(examples: Sequence[Example]) -> Judge:
        from sklearn.ensemble import HistGradientBoostingClassifier

        features = np.concatenate([example.features for example in examples])
        marks = np.concatenate([example.is_evidence for example in examples])
        models = [
            HistGradientBoostingClassifier(
                max_iter=150,
                learning_rate=0.05,
                max_leaf_nodes=15,
                min_samples_leaf=50,
                l2_regularization=1.0,
                max_features=0.3,
                early_stopping=False,  # pyright: ignore[reportArgumentType]
                random_state=seed,
            ).fit(features, marks)
            for seed in range(recipe.n_seeds)
        ]
        return lambda example: np.mean(
            [model.predict_proba(example.features)[:, 1] for model in models], axis=0
        )

    return learn


def with_soft_f1(weight: float) -> Loss:
    """Return cross-entropy plus a weighted 1 - F1, with probabilities in place of choices."""

    def loss(logits: "Tensor", marks: "Tensor", owners: "Tensor") -> "Tensor":
        chosen = logits.sigmoid()
        f1 = 2 * summed(chosen * marks, owners) / (summed(chosen, owners) + summed(marks, owners))
        return cross_entropy(logits, marks, owners) + weight * (1 - f1.mean())

    return loss
