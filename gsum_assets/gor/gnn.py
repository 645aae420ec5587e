"""The graph neural network as a whole: layers, normalization, their maximum, the residual form.

A network is its settings and a dictionary of tensors, and its output a function of both. Dropout
draws from a generator that is handed in, so that nothing depends on torch's global state.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import TYPE_CHECKING

import numpy as np

from gsum_assets.gor.graphs import Batch
from gsum_assets.gor.layers import LAYERS, Messages, layer_shapes, spread
from gsum_assets.gor.settings import EncoderSettings
from gsum_resources.checkpoints import CheckpointError

if TYPE_CHECKING:
    from torch import Generator, Tensor

_MOMENTUM = 0.1  # of batch normalization's running statistics
_FIRST_VALUES = {"bias": 0.0, "bias_in": 0.0, "epsilon": 0.0, "scale": 1.0, "shift": 0.0}
_FIRST_VALUES |= {"slope": 0.25}  # of PReLU, as its authors have it


@dataclass(frozen=True)
class Encoder:
    """A network's settings and present weights.

    Attributes
    ----------
    dimension : of node embeddings, in and out.
    weights : what training changes.
    statistics : running means and variances of batch normalization, which training follows.
    """

    settings: EncoderSettings
    dimension: int
    weights: dict[str, "Tensor"] = field(repr=False)
    statistics: dict[str, "Tensor"] = field(repr=False)

    def arrays(self) -> dict[str, np.ndarray]:
        """Weights and statistics by name, for a checkpoint."""
        tensors = {**self.weights, **self.statistics}
        return {name: tensor.detach().numpy().copy() for name, tensor in tensors.items()}

    def with_arrays(self, arrays: Mapping[str, np.ndarray]) -> "Encoder":
        """The same network with the weights of a checkpoint.

        Raises
        ------
        CheckpointError
            If an array is missing or of another shape.
        """
        from torch import from_numpy

        for name, tensor in {**self.weights, **self.statistics}.items():
            if name not in arrays or arrays[name].shape != tuple(tensor.shape):
                found = f"of shape {arrays[name].shape}" if name in arrays else "missing"
                raise CheckpointError(
                    f"checkpoint: '{name}' of encoder '{self.settings.name}' is {found}, "
                    f"expected {tuple(tensor.shape)}; materialize gor/model again"
                )
        weights = {name: from_numpy(arrays[name].copy()) for name in self.weights}
        statistics = {name: from_numpy(arrays[name].copy()) for name in self.statistics}
        return replace(self, weights=weights, statistics=statistics)


def new_encoder(settings: EncoderSettings, dimension: int, seed: int = 0) -> Encoder:
    """A network with first weights drawn by `seed`, uniformly as Glorot and Bengio (2010)."""
    import torch

    noise = torch.Generator().manual_seed(seed)
    weights, statistics = {}, {}
    for name, shape in _shapes(settings, dimension).items():
        kind = name.split(".")[-1]
        if kind in _FIRST_VALUES:
            weights[name] = torch.full(shape, _FIRST_VALUES[kind])
        else:
            bound = (6 / (shape[-2] + shape[-1])) ** 0.5
            weights[name] = torch.empty(shape).uniform_(-bound, bound, generator=noise)
        if kind == "scale":
            layer = name.removesuffix("scale")
            statistics[f"{layer}mean"] = torch.zeros(shape)
            statistics[f"{layer}variance"] = torch.ones(shape)
    if settings.residual and settings.name != "none":
        weights["gate"] = torch.tensor(settings.gate)
    return Encoder(settings, dimension, weights, statistics)


def node_embeddings(encoder: Encoder, batch: Batch, noise: "Generator | None" = None) -> "Tensor":
    """The network's output for every node of a batch, `(n_nodes, dim)`.

    Parameters
    ----------
    noise : drives dropout, and makes batch normalization use and follow the batch's own
        statistics; None is inference.
    """
    import torch
    from torch.nn.functional import normalize

    settings = encoder.settings
    nodes = torch.from_numpy(batch.features)
    if settings.name == "none":
        return nodes
    network = _hops if settings.name == "sgc" else _stack
    found = network(encoder, nodes, Messages.of(batch), noise)
    if settings.residual:
        found = nodes + encoder.weights["gate"] * found
    return normalize(found) if settings.unit_length else found


def _stack(
    encoder: Encoder, nodes: "Tensor", messages: Messages, noise: "Generator | None"
) -> "Tensor":
    """Layers with batch normalization and PReLU, joined by their maximum (jumping knowledge)."""
    import torch
    from torch.nn.functional import prelu

    settings = encoder.settings
    dropout = partial(_dropout, settings.dropout, noise)
    of_attention = settings.attention_dropout
    if of_attention is None:
        of_attention = settings.dropout
    layer, outputs = LAYERS[_layer_name(settings)], []
    for at in range(settings.layers):
        own = {
            name.removeprefix(f"{at}."): tensor
            for name, tensor in {**encoder.weights, **encoder.statistics}.items()
            if name.startswith(f"{at}.")
        }
        nodes = layer(dropout(nodes), messages, own, partial(_dropout, of_attention, noise))
        nodes = prelu(_batch_norm(nodes, own, noise is not None), own["slope"])
        outputs.append(nodes.view(len(nodes), -1, encoder.dimension).mean(1))  # over heads, if kept
    return reduce(torch.maximum, outputs)


def _layer_name(settings: EncoderSettings) -> str:
    is_concatenated = settings.name == "gat" and settings.joined == "concatenated"
    return "gat_concatenated" if is_concatenated else settings.name


def _hops(
    encoder: Encoder, nodes: "Tensor", messages: Messages, noise: "Generator | None"
) -> "Tensor":
    """SGC (Wu et al., 2019): hops with nothing between them, and one matrix at the end."""
    for _ in range(encoder.settings.layers):
        nodes = spread(nodes, messages)
    nodes = _dropout(encoder.settings.dropout, noise, nodes)
    return nodes @ encoder.weights["0.weight"] + encoder.weights["0.bias"]


def _shapes(settings: EncoderSettings, dimension: int) -> dict[str, tuple[int, ...]]:
    """Shapes of all weights by name; layers are numbered from 0."""
    if settings.name == "none":
        return {}
    name, heads = _layer_name(settings), settings.heads
    own = layer_shapes(name, dimension, heads)
    if name == "sgc":
        return {f"0.{name}": shape for name, shape in own.items()}
    (width,) = own["bias"]
    own |= {"scale": (width,), "shift": (width,)}
    own["slope"] = (width,) if name == "gat_concatenated" else (1,)  # as the authors have them
    later = own | layer_shapes(name, dimension, heads, width)
    return {
        f"{at}.{weight}": shape
        for at in range(settings.layers)
        for weight, shape in (later if at else own).items()
    }


def _batch_norm(nodes: "Tensor", own: Mapping[str, "Tensor"], training: bool) -> "Tensor":
    from torch.nn.functional import batch_norm

    training = training and len(nodes) > 1  # one node has no variance: it is taken as it is
    mean, variance = own["mean"], own["variance"]
    return batch_norm(nodes, mean, variance, own["scale"], own["shift"], training, _MOMENTUM)


def _dropout(share: float, noise: "Generator | None", values: "Tensor") -> "Tensor":
    if noise is None or not share:
        return values
    kept = values.new_empty(values.shape).bernoulli_(1 - share, generator=noise)
    return values * kept.div_(1 - share)
