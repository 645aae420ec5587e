"""A graph network from the features of passages to probabilities, in NumPy.

Messages come along edges of five kinds: from the previous and next passage, from those before and
behind them, and from the most similar ones. Every layer adds to what a passage knows (He et al.,
2016) what its own state and these messages say. Several networks, trained from other seeds, are
averaged in probability. Torch needs seconds to load, and a question waits for neither.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gsum_assets.evidence.scope import Scope

LIMIT = 5.0  # a standardized feature is clipped to -LIMIT .. LIMIT


@dataclass(frozen=True, eq=False)
class Model(ABC):
    """A trained model with the features that it reads.

    Attributes
    ----------
    mean, deviation : of each feature over the training questions, `(n_features,)`.
    """

    names: Sequence[str]
    mean: np.ndarray
    deviation: np.ndarray
    weights: Mapping[str, np.ndarray]

    def scaled(self, features: np.ndarray) -> np.ndarray:
        """Return standardized features, clipped, `(n, n_features)`."""
        scaled = (features - self.mean) / self.deviation
        return np.clip(scaled, -LIMIT, LIMIT).astype(np.float32)

    @property
    @abstractmethod
    def has_messages(self) -> bool:
        """Whether passages receive messages along edges."""

    @property
    def n_layers(self) -> int:
        """Number of layers with messages."""
        return 0

    @abstractmethod
    def probabilities(self, scaled: np.ndarray, edges: Sequence[np.ndarray]) -> np.ndarray:
        """Return the probability of each passage, `(n,)`.

        Parameters
        ----------
        edges : the result of `edges_of`; empty for a model without messages.
        """


class Network(Model):
    """An ensemble of networks.

    The first axis of its `weights` is over the networks: `input.weight` `(s, h, n_features)`,
    `input.bias` `(s, h)`; for each layer i `layers.i.weight` `(s, h, (1 + n_kinds) * h)` and
    `layers.i.bias` `(s, h)`; `output.weight` `(s, 1, h)` and `output.bias` `(s, 1)`.
    """

    @property
    def has_messages(self) -> bool:
        """Whether passages receive messages along edges."""
        _, hidden, width = self.weights["layers.0.weight"].shape
        return width > hidden

    def probabilities(self, scaled: np.ndarray, edges: Sequence[np.ndarray]) -> np.ndarray:
        """Return the mean probability over the networks, see `Model`."""
        w = self.weights
        state = relu(scaled @ _turned(w["input.weight"]) + w["input.bias"][:, None])  # (s, n, h)
        for layer in range(self.n_layers):
            received = [state, *messages(state, edges)]
            weight, bias = w[f"layers.{layer}.weight"], w[f"layers.{layer}.bias"]
            state = state + relu(np.concatenate(received, axis=2) @ _turned(weight) + bias[:, None])
        logits = state @ _turned(w["output.weight"]) + w["output.bias"][:, None]  # (s, n, 1)
        return (1 / (1 + np.exp(-logits.astype(np.float64))))[..., 0].mean(axis=0)

    def with_weights(self, weights: Sequence[Mapping[str, np.ndarray]]) -> "Network":
        """Return an ensemble of networks with these weights, which reads the same features."""
        stacked = {name: np.stack([member[name] for member in weights]) for name in weights[0]}
        return replace(self, weights=stacked)

    @property
    def n_layers(self) -> int:
        """Number of layers with messages."""
        return sum(name.startswith("layers.") and name.endswith("weight") for name in self.weights)


def edges_of(scope: Scope) -> list[np.ndarray]:
    """Return the passages that send messages to each, by kind: `(n, width)`, -1 for none."""
    one_away = [scope.before[:, :1], scope.behind[:, :1]]
    two_away = [scope.before[:, 1:2], scope.behind[:, 1:2]]
    return [*one_away, *two_away, scope.nearest]


N_KINDS = 5  # of `edges_of`


def within_reach(rows: np.ndarray, edges: Sequence[np.ndarray], n_steps: int) -> np.ndarray:
    """Return rows and those whose messages reach them in so many steps, ascending."""
    reached = np.unique(rows)
    for _ in range(n_steps):
        senders = [kind[reached].ravel() for kind in edges]
        reached = np.unique(np.concatenate([reached, *senders]))
        reached = reached[reached >= 0]
    return reached


def among(rows: np.ndarray, edges: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the edges between rows, ascending, as indices into them; -1 for other senders."""
    columns = []
    for kind in edges:
        places = np.searchsorted(rows, kind[rows]).clip(0, len(rows) - 1)
        columns.append(np.where(rows[places] == kind[rows], places, -1))
    return columns


def messages(state: np.ndarray, edges: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the mean state of each passage's senders, 0 without any, `(s, n, h)` for each kind.

    Parameters
    ----------
    state : `(s, n, h)`.
    edges : rows of the senders by kind, -1 for none, `(n, width)` each.
    """
    padded = np.concatenate([state, np.zeros_like(state[:, :1])], axis=1)  # row -1: of no sender
    received = []
    for senders in edges:
        total = padded[:, senders[:, 0]]
        for column in senders.T[1:]:
            total += padded[:, column]
        if senders.shape[1] > 1:
            n_senders = np.maximum((senders >= 0).sum(axis=1), 1)
            total /= n_senders[:, None].astype(np.float32)
        received.append(total)
    return received


def relu(values: np.ndarray) -> np.ndarray:
    """Return values with 0 in place of negative ones."""
    return np.maximum(values, 0)


def _turned(weight: np.ndarray) -> np.ndarray:
    return weight.transpose(0, 2, 1)
