"""Training of the networks on questions whose evidence is marked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gsum_assets.evidence.losses import WITH_LISTWISE, Loss
from gsum_assets.evidence.network import Network
from gsum_resources.embedding.processor import torch_threads

if TYPE_CHECKING:
    from torch import Tensor

    from gsum_assets.evidence.encoders import EvidenceNetwork


Weights = Mapping[str, np.ndarray]
"""Weights of one network, by name."""
OnEpoch = Callable[[float, Weights], None]
"""Called after an epoch with the mean loss of its batches and the weights."""


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
    n_seeds: int = 5
    loss: Loss = WITH_LISTWISE


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


def train(examples: Sequence[Example], names: Sequence[str], recipe: Recipe) -> Network:
    """Return networks trained from `n_seeds` seeds."""
    rows = np.concatenate([example.features for example in examples])
    mean, deviation = rows.mean(axis=0), rows.std(axis=0) + 1e-6
    untrained = Network(names, mean, deviation, {})
    scaled = [untrained.scaled(example.features) for example in examples]
    seeds = range(recipe.n_seeds)
    return untrained.with_weights([trained(examples, scaled, recipe, seed) for seed in seeds])


def trained(
    examples: Sequence[Example],
    scaled: Sequence[np.ndarray],
    recipe: Recipe,
    seed: int,
    start: Weights | None = None,
    on_epoch: OnEpoch = lambda *_: None,
) -> Weights:
    """Return the weights of one network: AdamW, one cycle of learning rates.

    Parameters
    ----------
    start : weights to begin with; None: random ones.
    """
    import torch

    from gsum_assets.evidence.encoders import EvidenceNetwork

    generator = np.random.default_rng(seed)
    size = recipe.batch_questions
    n_steps = recipe.epochs * -(-len(examples) // size)
    with torch_threads(1), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = EvidenceNetwork(
            scaled[0].shape[1], len(examples[0].edges), recipe.hidden, recipe.layers, recipe.dropout
        )
        if start is not None:
            network.load_state_dict({n: torch.from_numpy(w.copy()) for n, w in start.items()})
        step = torch.optim.AdamW(network.parameters(), weight_decay=recipe.weight_decay)
        cycle = torch.optim.lr_scheduler.OneCycleLR(step, recipe.peak_rate, total_steps=n_steps)
        for _ in range(recipe.epochs):
            order, losses = generator.permutation(len(examples)), []
            for first in range(0, len(order), size):
                drawn = order[first : first + size]
                features, edges, marks, owners = side_by_side(
                    [examples[i] for i in drawn], [scaled[i] for i in drawn]
                )
                loss = recipe.loss(network(features, edges), marks, owners)
                step.zero_grad()
                loss.backward()
                step.step()
                cycle.step()
                losses.append(loss.item())
            on_epoch(float(np.mean(losses)), _arrays(network))
        return _arrays(network)


def _arrays(network: "EvidenceNetwork") -> Weights:
    return {name: value.detach().numpy().copy() for name, value in network.state_dict().items()}


def side_by_side(
    examples: Sequence[Example], scaled: Sequence[np.ndarray]
) -> tuple["Tensor", list["Tensor"], "Tensor", "Tensor"]:
    """Return questions as one graph: features `(n, n_features)`, edges by kind, marks `(n,)`.

    Last is the question of each passage, from 0, `(n,)`.
    """
    import torch

    starts = np.cumsum([0, *(len(features) for features in scaled)])
    edges = []
    for kind in zip(*(example.edges for example in examples), strict=True):
        moved = [np.where(e >= 0, e + start, -1) for e, start in zip(kind, starts, strict=False)]
        edges.append(torch.from_numpy(np.concatenate(moved)))
    marks = np.concatenate([example.is_evidence for example in examples])
    return (
        torch.from_numpy(np.concatenate(scaled)),
        edges,
        torch.from_numpy(marks.astype(np.float32)),
        torch.from_numpy(np.repeat(np.arange(len(scaled)), np.diff(starts))),
    )


def folds_of(groups: Sequence[str], n_folds: int, seed: int = 0) -> Mapping[str, int]:
    """Return the fold of each group; they are dealt in random order, the same for a seed."""
    names = sorted(set(groups))
    order = np.random.default_rng(seed).permutation(len(names))
    return {names[i]: position % n_folds for position, i in enumerate(order.tolist())}
