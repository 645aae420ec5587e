"""The graph auto-encoder: graph convolutions trained to reconstruct the edges (paper, 3.1.2).

Importing torch takes seconds, so import this module inside functions only.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from gsum_assets.gae.graph import Edges
from gsum_assets.gae.settings import TrainingSettings
from gsum_assets.graphs.convolutions import GraphConv, MessageGraph
from gsum_resources.embedding.processor import torch_threads

_LAYERS = 3  # C.2
_HIDDEN, _DIM = 128, 64  # width of the hidden layers and of an embedding (ours)
_DROPOUT, _WEIGHT_DECAY = 0.5, 5e-4  # C.2
# The loss uses all pairs of at most so many nodes; of more, it samples the second of a pair (ours).
_EXACT_NODES, _SAMPLED = 2000, 512
_SEED = 0  # of initial weights, dropout and sampled pairs


class GraphEncoder(nn.Module):
    """Encoder to Z (equations 4, 5); batch norm, ReLU and dropout after all but the last layer."""

    def __init__(self, n_features: int) -> None:
        super().__init__()
        hidden = [_HIDDEN] * (_LAYERS - 1)
        widths = pairwise([n_features, *hidden, _DIM])
        self.convs = nn.ModuleList(GraphConv(into, out, bias=False) for into, out in widths)
        self.activations = nn.ModuleList(
            nn.Sequential(nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(_DROPOUT))
            for width in hidden
        )

    def forward(self, graph: MessageGraph, nodes: Tensor) -> Tensor:
        """Return embeddings `(n_nodes, dim)` for features `(n_nodes, n_features)`."""
        for conv, activation in zip(self.convs, [*self.activations, nn.Identity()], strict=True):
            nodes = activation(conv(graph, nodes))  # (n_nodes, width)
        return nodes


def embed_graph(
    features: np.ndarray,
    pairs: np.ndarray,
    settings: TrainingSettings,
    on_epoch: Callable[[int, float], None],
) -> np.ndarray:
    """Return the embeddings of a graph by an encoder trained on it, float32 `(n_nodes, dim)`.

    Raises ValueError if the training diverges.

    Parameters
    ----------
    features : features of at least two nodes, `(n_nodes, n_features)`.
    pairs : the result of `undirected`.
    on_epoch : called with the number of each epoch, from 1, and its loss, a mean over all pairs.
    """
    n = len(features)
    ends = torch.from_numpy(pairs)
    graph = MessageGraph(ends, n)
    with torch_threads(1), torch.random.fork_rng(devices=[]):
        torch.manual_seed(_SEED)
        encoder = GraphEncoder(features.shape[1])
        step = torch.optim.Adam(
            encoder.parameters(), settings.learning_rate, weight_decay=_WEIGHT_DECAY
        )
        x = torch.from_numpy(features.astype(np.float32))
        for epoch in range(1, settings.epochs + 1):
            drawn = None if n <= _EXACT_NODES else torch.randperm(n)[:_SAMPLED]
            value = reconstruction_loss(encoder(graph, x), ends, drawn)
            step.zero_grad()
            # of the mean over pairs weight decay would be the larger part; the paper's is a sum
            (n * n * value).backward()
            step.step()
            on_epoch(epoch, value.item())
        with torch.no_grad():
            vectors = encoder.eval()(graph, x).numpy()
    if not np.isfinite(vectors).all():
        raise ValueError(
            "gae/embeddings: the training of the auto-encoder diverged; set a lower learning_rate "
            "in corpus.toml, [gae.training]"
        )
    return vectors


def reconstruction_loss(z: Tensor, edges: Tensor, columns: Tensor | None = None) -> Tensor:
    """Return || A - sigmoid(Z Z^T) ||_F^2 / n^2 (paper, equations 6 and 7).

    It is a sum over all pairs of nodes and corrections at the edges. `z` is `(n_nodes, dim)`,
    `columns` are nodes drawn to represent all as the second of a pair.
    """
    at_all = z @ (z if columns is None else z[columns]).T  # (n_nodes, n_columns)
    at_edges = (z[edges[0]] * z[edges[1]]).sum(1)  # (n_edges,)
    everywhere = at_all.sigmoid().square().mean()
    return everywhere + (1 - 2 * at_edges.sigmoid()).sum() / len(z) ** 2


def constant_loss(n_nodes: int, n_edges: int) -> float:
    """Return the least loss of one value for all pairs, the share of edges."""
    density = n_edges / n_nodes**2
    return density * (1 - density)


def undirected(n_nodes: int, edges: Edges) -> np.ndarray:
    """Return the pairs for which A is 1, ascending, with self-loops, int64 `(2, n_edges)`."""
    loops = np.arange(n_nodes)
    rows = np.concatenate([edges.sources, edges.targets, loops])
    columns = np.concatenate([edges.targets, edges.sources, loops])
    return np.stack(np.divmod(np.unique(rows * n_nodes + columns), n_nodes))
