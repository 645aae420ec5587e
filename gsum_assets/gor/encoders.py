"""The graph networks (paper, 2.1, A.4, A.7) as torch modules over `dgl` graphs.

Every graph has a self-loop at each node, so that isolated nodes keep their features (A.4). Modules
run on the device of their weights and graph. Importing torch and dgl takes seconds, so import this
module inside functions only.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from dgl import DGLGraph
from dgl.nn.pytorch import GATConv, GINConv, GraphConv, JumpingKnowledge, SAGEConv, SGConv
from torch import Tensor, nn
from torch.nn.functional import batch_norm, linear, normalize

from gsum_assets.gor.graphs import FOLLOWS, RECORD
from gsum_assets.gor.settings import EncoderSettings
from gsum_resources.embedding.processor import mkl_has_avx512
from gsum_resources.store.checkpoints import CheckpointError


class Encoder(nn.Module):
    """A graph network as configured by its settings.

    The residual form is the node's features plus a learned gate times the network's output.

    Parameters
    ----------
    dimension : length of input and output node embeddings.
    """

    def __init__(self, settings: EncoderSettings, dimension: int) -> None:
        super().__init__()
        self.settings = settings
        self.dimension = dimension
        self.network: nn.Module | None = None
        if settings.name == "sgc":
            self.network = Hops(settings, dimension)
        elif settings.name != "none":
            self.network = Layers(settings, dimension)
        is_residual = settings.residual and self.network is not None
        self.gate = nn.Parameter(torch.tensor(settings.gate)) if is_residual else None

    def forward(self, graph: DGLGraph, nodes: Tensor) -> Tensor:
        """Return node embeddings, `(n_nodes, dim)`, for features `nodes` of the same shape."""
        if self.network is None:
            return nodes
        state = self.network(graph, nodes)
        if self.gate is not None:
            state = nodes + self.gate * state
        return normalize(state) if self.settings.unit_length else state

    def arrays(self) -> dict[str, np.ndarray]:
        """Return weights and running statistics by name, to be stored in a checkpoint."""
        return {
            name: array.detach().cpu().numpy().copy() for name, array in self.state_dict().items()
        }

    def load_arrays(self, arrays: Mapping[str, np.ndarray]) -> "Encoder":
        """Load the weights and statistics of a checkpoint, and return self.

        Raises
        ------
        CheckpointError
            If an array is missing or of another shape.
        """
        state = self.state_dict()
        for name, array in state.items():
            if name not in arrays or arrays[name].shape != tuple(array.shape):
                actual = f"of shape {arrays[name].shape}" if name in arrays else "missing"
                raise CheckpointError(
                    f"checkpoint: '{name}' of encoder '{self.settings.name}' is {actual}, "
                    f"expected {tuple(array.shape)}; materialize gor/model again"
                )
        self.load_state_dict({name: torch.from_numpy(arrays[name].copy()) for name in state})
        return self


class Layers(nn.Module):
    """Layers with dropout, batch norm and PReLU; their outputs are combined by the maximum.

    The heads of GAT are concatenated between layers, and averaged in each layer's output.
    """

    def __init__(self, settings: EncoderSettings, dimension: int) -> None:
        super().__init__()
        self.dimension = dimension
        width = dimension * (settings.heads if settings.name == "gat" else 1)
        inputs = [dimension, *[width] * (settings.layers - 1)]
        self.convs = nn.ModuleList(
            by_edge_type(settings, partial(convolution, settings, n, dimension)) for n in inputs
        )
        self.norms = nn.ModuleList(NodeNorm(width) for _ in inputs)
        self.activations = nn.ModuleList(nn.PReLU(width) for _ in inputs)
        self.dropout = nn.Dropout(settings.dropout)
        self.jump = JumpingKnowledge("max")

    def forward(self, graph: DGLGraph, nodes: Tensor) -> Tensor:
        """Return `(n_nodes, dim)` of `(n_nodes, dim)`."""
        outputs = []
        for conv, norm, activation in zip(self.convs, self.norms, self.activations, strict=True):
            nodes = conv(graph, self.dropout(nodes)).flatten(1)  # (n_nodes, heads * dim)
            nodes = activation(norm(nodes))
            outputs.append(nodes.unflatten(1, (-1, self.dimension)).mean(1))  # over heads
        return self.jump(outputs)


class Hops(nn.Module):
    """SGC (Wu et al., 2019): propagation steps without nonlinearity, then one linear layer."""

    def __init__(self, settings: EncoderSettings, dimension: int) -> None:
        super().__init__()
        self.dropout = nn.Dropout(settings.dropout)
        self.conv = by_edge_type(settings, partial(SGConv, dimension, dimension, k=settings.layers))

    def forward(self, graph: DGLGraph, nodes: Tensor) -> Tensor:
        """Return `(n_nodes, dim)` of `(n_nodes, dim)`."""
        return self.conv(graph, self.dropout(nodes))


class NodeNorm(nn.BatchNorm1d):
    """Batch norm over nodes; a single node, which has no variance, uses the running statistics."""

    def forward(self, input: Tensor) -> Tensor:
        """Return `(n_nodes, dim)` of `(n_nodes, dim)`."""
        if len(input) > 1:
            return super().forward(input)
        return batch_norm(input, self.running_mean, self.running_var, self.weight, self.bias)


class Projection(nn.Linear):
    """A linear layer without bias that uses oneDNN where MKL does not use the CPU's AVX-512.

    This is the case on AMD processors. For 337 nodes with 1,536 inputs and outputs, forward and
    backward on one thread take 47 ms with MKL and 28 ms with oneDNN; the difference is a fifth of a
    training step of GAT.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return `(n_nodes, n_outputs)` of `(n_nodes, n_inputs)`."""
        is_plain = input.device.type == "cpu" and input.dtype == torch.float32
        if is_plain and onednn_is_wider():
            return _Projected.apply(input, self.weight)
        return super().forward(input)


class _Projected(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(input, weight)
        return _by_onednn(input, weight)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor]:
        (gradient,), (input, weight) = gradients, ctx.saved_tensors
        of_input = _by_onednn(gradient, weight.T) if ctx.needs_input_grad[0] else None
        return of_input, _by_onednn(gradient.T, input.T)


def _by_onednn(input: Tensor, weight: Tensor) -> Tensor:
    return linear(input.contiguous().to_mkldnn(), weight.contiguous().to_mkldnn()).to_dense()


def onednn_is_wider() -> bool:
    """Return whether torch's oneDNN uses AVX-512 on this machine and MKL does not."""
    has_avx512 = torch.backends.cpu.get_cpu_capability() == "AVX512"
    return has_avx512 and torch.backends.mkldnn.is_available() and not mkl_has_avx512()


class ByEdgeType(nn.ModuleDict):
    """A layer with weights of its own for each type of edges; their outputs are summed."""

    def forward(self, graph: DGLGraph, nodes: Tensor) -> Tensor:
        """Return `(n_nodes, ...)` of `(n_nodes, n_inputs)`."""
        return torch.stack([layer(graph[name], nodes) for name, layer in self.items()]).sum(0)


def by_edge_type(settings: EncoderSettings, layer: Callable[[], nn.Module]) -> nn.Module:
    """Return a layer, or one for each type of edges if neighbours have edges too."""
    if not settings.neighbours:
        return layer()
    return ByEdgeType({name: layer() for name in (RECORD, FOLLOWS)})


def convolution(settings: EncoderSettings, n_inputs: int, dimension: int) -> nn.Module:
    """Return a message passing layer from `n_inputs` to `dimension` features (GAT: per head)."""
    if settings.name == "gat":
        dropout = settings.attention_dropout
        dropout = settings.dropout if dropout is None else dropout
        attention = GATConv(n_inputs, dimension, settings.heads, attn_drop=dropout)
        projection = Projection(n_inputs, settings.heads * dimension, bias=False, device="meta")
        projection.weight = attention.fc.weight  # on "meta" no weight is allocated or drawn
        attention.fc = projection
        return attention
    if settings.name == "gcn":
        return GraphConv(n_inputs, dimension)
    if settings.name == "gin":
        perceptron = nn.Sequential(
            nn.Linear(n_inputs, dimension), nn.ReLU(), nn.Linear(dimension, dimension)
        )
        # epsilon starts at -1 because the self-loop already adds the node itself
        return GINConv(perceptron, "sum", init_eps=-1, learn_eps=True)
    return SAGEConv(n_inputs, dimension, "mean")


def new_encoder(settings: EncoderSettings, dimension: int, seed: int = 0) -> Encoder:
    """Return a network with initial weights drawn with `seed`, in evaluation mode."""
    with seeded(seed):
        return Encoder(settings, dimension).eval()


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's random generators within the context, and restore their state afterwards."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        yield
