"""Further training of the packaged networks on a corpus, with documents held out from each.

There are as many folds of documents as networks, and each network is trained on all but its own
fold. So every question is judged once by a network that never saw its document, and the average
precision in the log is that on unseen documents.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gsum_assets.evidence.losses import cross_entropy
from gsum_assets.evidence.network import Network
from gsum_assets.evidence.settings import TrainingSettings
from gsum_assets.evidence.training import Example, Recipe, Weights, folds_of, trained


class Epoch(NamedTuple):
    """A row of `evidence.training_log`, means over all networks."""

    epoch: int
    loss: float | None
    held_out_ap: float


@dataclass(frozen=True)
class _Member:
    """One network, before or after training, with its losses and precisions epoch by epoch."""

    weights: Weights
    losses: list[float]
    precisions: list[list[float]]


def fine_tune(
    examples: Sequence[Example], start: Network, settings: TrainingSettings
) -> tuple[Network, list[Epoch]]:
    """Return the networks of `start`, trained further, and the log with epoch 0 before training.

    Parameters
    ----------
    examples : at least two; those of a single document are held out question by question.
    """
    groups = [example.group for example in examples]
    if len(set(groups)) == 1:
        groups = [str(i) for i in range(len(examples))]
    n = len(start.weights["output.bias"])
    folds = folds_of(groups, n, settings.seed)
    fold = np.array([folds[group] for group in groups])
    members = [
        _member(
            [examples[i] for i in np.flatnonzero(fold != number)],
            [examples[i] for i in np.flatnonzero(fold == number)],
            start,
            number,
            settings,
        )
        for number in range(n)
    ]
    losses = np.mean([member.losses for member in members], axis=0)
    precisions = [
        np.concatenate(of_epoch) for of_epoch in zip(*(m.precisions for m in members), strict=True)
    ]
    log = [
        Epoch(epoch, float(losses[epoch - 1]) if epoch else None, float(of_epoch.mean()))
        for epoch, of_epoch in enumerate(precisions)
    ]
    return start.with_weights([member.weights for member in members]), log


def _member(
    examples: Sequence[Example],
    held_out: Sequence[Example],
    start: Network,
    number: int,
    settings: TrainingSettings,
) -> _Member:
    """Return network `number` of `start`, trained on `examples` and measured on `held_out`."""
    before = {name: values[number] for name, values in start.weights.items()}
    losses: list[float] = []
    precisions = [_precisions(start.with_weights([before]), held_out)]

    def on_epoch(loss: float, weights: Weights) -> None:
        losses.append(loss)
        precisions.append(_precisions(start.with_weights([weights]), held_out))

    recipe = Recipe(epochs=settings.epochs, peak_rate=settings.learning_rate, loss=cross_entropy)
    scaled = [start.scaled(example.features) for example in examples]
    seed = settings.seed * len(start.weights["output.bias"]) + number
    return _Member(trained(examples, scaled, recipe, seed, before, on_epoch), losses, precisions)


def _precisions(network: Network, examples: Sequence[Example]) -> list[float]:
    """Return the average precision of each question whose evidence is in its scope."""
    return [
        average_precision(
            network.probabilities(network.scaled(example.features), example.edges),
            example.is_evidence,
        )
        for example in examples
        if example.is_evidence.any()
    ]


def average_precision(scores: np.ndarray, is_evidence: np.ndarray) -> float:
    """Return the mean precision at the ranks of the passages with evidence, at least one.

    Parameters
    ----------
    scores, is_evidence : of all passages of the scope, `(n,)`.
    """
    ranks = np.flatnonzero(is_evidence[np.argsort(-scores, kind="stable")]) + 1
    return float(np.mean(np.arange(1, len(ranks) + 1) / ranks))
