"""A graph auto-encoder: graph convolutions that learn to give edges back (paper, 3.1.2)."""

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gsum_assets.gae.reconstruction import reconstruction_loss

if TYPE_CHECKING:
    import torch


class Training(NamedTuple):
    """How an auto-encoder is built and trained; defaults are those of methods and paper.

    Attributes
    ----------
    layers : graph convolutions; ours, the paper has three, of which the third over-smooths.
    hidden, dim : width of the hidden layers, and of the embeddings.
    dropout : share of activations, after all layers but the last.
    epochs, learning_rate, weight_decay : of Adam.
    seed : of first weights and dropout.
    """

    layers: int = 2
    hidden: int = 128
    dim: int = 64
    dropout: float = 0.5
    epochs: int = 300
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    seed: int = 0


def embed_graph(
    features: np.ndarray,
    sources: np.ndarray,
    targets: np.ndarray,
    training: Training,
    on_epoch: Callable[[int, float], None] = lambda epoch, loss: None,
) -> np.ndarray:
    """Embeddings of the nodes of a graph, float32 `(n_nodes, dim)`.

    Parameters
    ----------
    features : of the nodes, `(n_nodes, n_features)`.
    sources, targets : ends of the edges, either way alike; parallel edges count once.
    on_epoch : hears each epoch, from 1, and its loss.
    """
    import torch

    adjacency = _adjacency(len(features), sources, targets)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(training.seed)
        network = _network(features.shape[1], training)
        step = torch.optim.Adam(
            network.parameters(), training.learning_rate, weight_decay=training.weight_decay
        )
        x, spread = torch.from_numpy(features.astype(np.float32)), _normalized(adjacency)
        for epoch in range(1, training.epochs + 1):
            loss = reconstruction_loss(_encode(network, x, spread), adjacency)
            step.zero_grad()
            loss.backward()
            step.step()
            on_epoch(epoch, loss.item())
        network.eval()
        with torch.inference_mode():
            return _encode(network, x, spread).numpy()


def _network(n_features: int, training: Training) -> "torch.nn.ModuleList":
    """Per layer the weights and, but for the last, what follows them."""
    from torch import nn

    widths = [n_features, *[training.hidden] * (training.layers - 1), training.dim]
    last = len(widths) - 2
    return nn.ModuleList(
        nn.ModuleList(
            [nn.Linear(into, out, bias=False)]
            + ([] if i == last else [nn.BatchNorm1d(out), nn.ReLU(), nn.Dropout(training.dropout)])
        )
        for i, (into, out) in enumerate(itertools.pairwise(widths))
    )


def _encode(network: "torch.nn.ModuleList", x: "torch.Tensor", spread: "torch.Tensor"):
    """Z (equations 4 and 5): each layer A H W, then batch norm, ReLU and dropout."""
    for weights, *after in network:  # type: ignore[misc]
        x = spread @ weights(x)  # (n_nodes, width)
        for module in after:
            x = module(x)
    return x


def _adjacency(n_nodes: int, sources: np.ndarray, targets: np.ndarray) -> "torch.Tensor":
    """Symmetric, ones at edges and on the diagonal, sparse CSR."""
    import torch
    from scipy.sparse import csr_matrix

    own = np.arange(n_nodes)
    rows, columns = (
        np.concatenate([a, b, own]) for a, b in ((sources, targets), (targets, sources))
    )
    matrix = csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), (n_nodes, n_nodes))
    matrix.sum_duplicates()
    parts = (matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64))
    ones = torch.ones(matrix.nnz)
    return torch.sparse_csr_tensor(*map(torch.from_numpy, parts), ones, (n_nodes, n_nodes))


def _normalized(adjacency: "torch.Tensor") -> "torch.Tensor":
    """D^-1/2 A D^-1/2 (Kipf and Welling, 2017)."""
    import torch

    starts, columns = adjacency.crow_indices(), adjacency.col_indices()
    degree = (starts[1:] - starts[:-1]).to(torch.float32)
    root = degree.rsqrt()
    values = torch.repeat_interleave(root, starts[1:] - starts[:-1]) * root[columns]
    return torch.sparse_csr_tensor(starts, columns, values, adjacency.shape)
