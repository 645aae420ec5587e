"""The networks that judge passages, in NumPy, since torch takes seconds to load.

Every layer adds to the state of a passage (He et al., 2016) what its own state and messages give,
by five kinds of edges: from the previous and next passage, those before and behind them, and the
most similar ones. Networks of several seeds are averaged in probability.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

import numpy as np

from gsum_assets.evidence.features import OWN
from gsum_assets.evidence.scope import Scope

_FILE = "weights.safetensors"
_LIMIT = 5.0  # a standardized feature is clipped to -_LIMIT .. _LIMIT


@dataclass(frozen=True, eq=False)
class Network:
    """An ensemble of networks with the features that they read.

    Attributes
    ----------
    names : names of the features, in the order of their columns.
    mean, deviation : of each feature over the training questions, `(n_features,)`.
    weights : their first axis is over the networks: `input.weight` `(s, h, n_features)`,
        `input.bias` `(s, h)`; for each layer i `layers.i.weight` `(s, h, (1 + n_kinds) * h)` and
        `layers.i.bias` `(s, h)`; `output.weight` `(s, 1, h)` and `output.bias` `(s, 1)`.
    """

    names: Sequence[str]
    mean: np.ndarray
    deviation: np.ndarray
    weights: Mapping[str, np.ndarray]

    @property
    def reads_graph(self) -> bool:
        """Whether it reads features of the graph and messages along its edges."""
        return len(self.names) > len(OWN)

    def scaled(self, features: np.ndarray) -> np.ndarray:
        """Return standardized features, clipped, `(n, n_features)`."""
        scaled = (features - self.mean) / self.deviation
        return np.clip(scaled, -_LIMIT, _LIMIT).astype(np.float32)

    def probabilities(self, scaled: np.ndarray, edges: Sequence[np.ndarray]) -> np.ndarray:
        """Return the mean probability of each passage over the networks, `(n,)`.

        `edges` are those of `edges_of`; none for networks without messages.
        """
        w = self.weights
        state = _relu(scaled @ _turned(w["input.weight"]) + w["input.bias"][:, None])  # (s, n, h)
        n_layers = sum(name.startswith("layers.") and name.endswith("weight") for name in w)
        for layer in range(n_layers):
            received = [state, *messages(state, edges)]
            weight, bias = w[f"layers.{layer}.weight"], w[f"layers.{layer}.bias"]
            update = np.concatenate(received, axis=2) @ _turned(weight) + bias[:, None]
            state = state + _relu(update)
        logits = state @ _turned(w["output.weight"]) + w["output.bias"][:, None]  # (s, n, 1)
        return (1 / (1 + np.exp(-logits.astype(np.float64))))[..., 0].mean(axis=0)


def edges_of(scope: Scope) -> list[np.ndarray]:
    """Return the passages that send messages to each, by kind: `(n, width)`, -1 for none."""
    one_away = [scope.before[:, :1], scope.behind[:, :1]]
    two_away = [scope.before[:, 1:2], scope.behind[:, 1:2]]
    return [*one_away, *two_away, scope.nearest]


N_KINDS = 5  # of `edges_of`


def messages(state: np.ndarray, edges: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the mean state of each passage's senders, 0 without any, for each kind of edges.

    `state` and each mean are `(s, n, h)`, edges `(n, width)` as in `edges_of`.
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


def _relu(values: np.ndarray) -> np.ndarray:
    return np.maximum(values, 0)


def _turned(weight: np.ndarray) -> np.ndarray:
    return weight.transpose(0, 2, 1)


def packaged() -> Path:
    """Return the path of the packaged weights, which `python -m benchmarks.evidence` writes."""
    return Path(str(resources.files("gsum_assets.evidence") / _FILE))


@cache
def load_network(name: str, file: Path | None = None) -> Network:
    """Return a network of a file, or of the packaged one: "graph", or "own" without messages."""
    from safetensors import safe_open

    with safe_open(file or packaged(), "numpy") as opened:
        names = json.loads(opened.metadata()[f"{name}.features"])
        keys = [key for key in opened.keys() if key.startswith(f"{name}/")]  # noqa: SIM118
        arrays = {key.removeprefix(f"{name}/"): opened.get_tensor(key) for key in keys}
    return Network(names, arrays.pop("mean"), arrays.pop("deviation"), arrays)
