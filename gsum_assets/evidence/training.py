"""Further training of the packaged networks on questions whose evidence is marked.

There are as many folds of documents as networks, and each network is trained on all but its own
fold. So every question is judged once by a network that never saw its document, and the average
precision in the log is that on unseen documents.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gsum_assets.evidence.network import Network
from gsum_assets.evidence.settings import TrainingSettings

Weights = Mapping[str, np.ndarray]
"""Weights of one network, by name."""


@dataclass(frozen=True)
class Recipe:
    """How a network is trained.

    Chosen by cross-validation over 60 of the 162 meetings of QMSum train; `docs/evidence.md` has
    the figures over all of them.
    """

    hidden: int = 32
    layers: int = 2
    dropout: float = 0.3
    epochs: int = 20
    batch_questions: int = 16
    peak_rate: float = 5e-3
    weight_decay: float = 0.01


@dataclass(frozen=True, eq=False)
class Example:
    """A question with marked evidence, over the passages of its scope.

    Attributes
    ----------
    group : what is never split between training and validation, as the document.
    features : `(n, n_features)`.
    edges : senders by kind, `(n, width)` each; -1 for none. Empty: no messages.
    is_evidence : `(n,)`.
    """

    group: str
    features: np.ndarray
    edges: Sequence[np.ndarray]
    is_evidence: np.ndarray


class Epoch(NamedTuple):
    """A row of `evidence.training_log`, means over all networks."""

    epoch: int
    loss: float | None
    held_out_ap: float


def fine_tune(
    examples: Sequence[Example], start: Network, settings: TrainingSettings
) -> tuple[Network, list[Epoch]]:
    """Return the networks of `start`, trained further, and the log with epoch 0 before training.

    Parameters
    ----------
    examples : at least two; those of a single document are held out question by question.
    """
    from gsum_assets.evidence.encoders import trained

    groups = [example.group for example in examples]
    if len(set(groups)) == 1:
        groups = [str(i) for i in range(len(examples))]
    n = len(start.weights["output.bias"])
    folds = folds_of(groups, n)
    fold = np.array([folds[group] for group in groups])
    recipe = Recipe(epochs=settings.epochs, peak_rate=settings.learning_rate)
    members, losses = [], np.zeros((n, recipe.epochs))
    precisions: list[list[float]] = [[] for _ in range(recipe.epochs + 1)]  # by epoch
    for number in range(n):
        held_out = [examples[i] for i in np.flatnonzero(fold == number)]
        seen = [examples[i] for i in np.flatnonzero(fold != number)]
        before = {name: values[number] for name, values in start.weights.items()}
        scaled = [start.scaled(example.features) for example in seen]
        losses[number], after = zip(*trained(seen, scaled, recipe, number, before), strict=True)
        for of_epoch, weights in zip(precisions, (before, *after), strict=True):
            of_epoch += _precisions(start.with_weights([weights]), held_out)
        members.append(after[-1])
    log = [Epoch(0, None, float(np.mean(precisions[0])))]
    log += [
        Epoch(epoch, float(loss), float(np.mean(precisions[epoch])))
        for epoch, loss in enumerate(losses.mean(axis=0), 1)
    ]
    return start.with_weights(members), log


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
    """Return the mean precision at the ranks of the passages with evidence, at least one."""
    ranks = np.flatnonzero(is_evidence[np.argsort(-scores, kind="stable")]) + 1
    return float(np.mean(np.arange(1, len(ranks) + 1) / ranks))


def folds_of(groups: Sequence[str], n_folds: int) -> Mapping[str, int]:
    """Return the fold of each group, dealt in a fixed random order."""
    names = sorted(set(groups))
    order = np.random.default_rng(0).permutation(len(names))
    return {names[i]: position % n_folds for position, i in enumerate(order.tolist())}
