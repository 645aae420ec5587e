"""The network of `evidence` as a torch module, and its training."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from gsum_resources.embedding.processor import torch_threads

Loss = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Loss of a batch from logits, marks and the question of each passage, from 0, `(n,)` each."""


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


class EvidenceNetwork(nn.Module):
    """Input layer, residual layers with messages, and a logit.

    Parameters
    ----------
    n_kinds : kinds of edges; 0: every passage is judged alone.
    """

    def __init__(self, n_features: int, n_kinds: int, recipe: Recipe) -> None:
        super().__init__()
        self.input = nn.Linear(n_features, recipe.hidden)
        width = (1 + n_kinds) * recipe.hidden
        self.layers = nn.ModuleList(nn.Linear(width, recipe.hidden) for _ in range(recipe.layers))
        self.output = nn.Linear(recipe.hidden, 1)
        self.dropout = nn.Dropout(recipe.dropout)

    def forward(self, features: Tensor, edges: Sequence[Tensor]) -> Tensor:
        """Return logits `(n,)` for features `(n, n_features)` and edges as in `edges_of`."""
        state = self.dropout(self.input(self.dropout(features)).relu())
        for layer in self.layers:
            received = [state, *(_messages(state, kind) for kind in edges)]
            state = state + self.dropout(layer(torch.cat(received, 1)).relu())
        return self.output(state)[:, 0]


def _messages(state: Tensor, senders: Tensor) -> Tensor:
    is_sender = (senders >= 0).to(state.dtype)
    sums = (state[senders.clamp(min=0)] * is_sender[..., None]).sum(1)  # (n, hidden)
    return sums / is_sender.sum(1, keepdim=True).clamp(min=1)


def cross_entropy(logits: Tensor, marks: Tensor, owners: Tensor) -> Tensor:
    """Return the mean binary cross-entropy over all passages, whatever their question."""
    return binary_cross_entropy_with_logits(logits, marks)


def trained(
    examples: Sequence[Example],
    scaled: Sequence[np.ndarray],
    recipe: Recipe,
    seed: int,
    loss: Loss,
) -> Mapping[str, np.ndarray]:
    """Return the weights of a network after training by AdamW with one cycle of learning rates.

    Parameters
    ----------
    scaled : features of each example, standardized.
    """
    generator = np.random.default_rng(seed)
    size = recipe.batch_questions
    n_steps = recipe.epochs * -(-len(examples) // size)
    with torch_threads(1), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = EvidenceNetwork(scaled[0].shape[1], len(examples[0].edges), recipe)
        step = torch.optim.AdamW(network.parameters(), weight_decay=recipe.weight_decay)
        cycle = torch.optim.lr_scheduler.OneCycleLR(step, recipe.peak_rate, total_steps=n_steps)
        for _ in range(recipe.epochs):
            order = generator.permutation(len(examples))
            for first in range(0, len(order), size):
                drawn = order[first : first + size]
                features, edges, marks, owners = side_by_side(
                    [examples[i] for i in drawn], [scaled[i] for i in drawn]
                )
                value = loss(network(features, edges), marks, owners)
                step.zero_grad()
                value.backward()
                step.step()
                cycle.step()
        return {name: value.numpy() for name, value in network.state_dict().items()}


def side_by_side(
    examples: Sequence[Example], scaled: Sequence[np.ndarray]
) -> tuple[Tensor, list[Tensor], Tensor, Tensor]:
    """Return questions as one graph: features `(n, n_features)`, edges by kind, marks `(n,)`.

    Last is the question of each passage, from 0, `(n,)`.
    """
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
