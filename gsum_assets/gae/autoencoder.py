"""A graph auto-encoder: graph convolutions trained to reconstruct the edges (paper, 3.1.2)."""

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import numpy as np

from gsum_assets.gae.graph_edges import Edges
from gsum_assets.gae.reconstruction import reconstruction_loss, sparse
from gsum_assets.gae.settings import TrainingSettings
from gsum_resources.embedding.processor import torch_threads

if TYPE_CHECKING:
    import torch
    from dgl import DGLGraph


def embed_graph(
    features: np.ndarray,
    edges: Edges,
    settings: TrainingSettings,
    on_epoch: Callable[[int, float], None] = lambda epoch, loss: None,
) -> np.ndarray:
    """Return the embeddings of the nodes of a graph, float32 `(n_nodes, dim)`.

    Up to `exact_nodes` nodes, the loss is over every pair; beyond, every epoch samples `n_sampled`
    nodes that represent all nodes as the second of a pair. Torch uses `threads` threads meanwhile.

    Parameters
    ----------
    features : features of the nodes, `(n_nodes, n_features)`.
    edges : edges of the graph; weights and parallel edges are ignored.
    on_epoch : called with the number of each epoch, from 1, and its loss, a mean over all pairs.
    """
    import torch

    from gsum_assets.gae.encoders import GraphEncoder

    n = len(features)
    if n < 2:  # batch norm needs a variance
        return np.zeros((n, settings.dim), np.float32)
    graph = passage_graph(n, edges)
    adjacency = adjacency_of(graph)
    with torch_threads(settings.threads), torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        encoder = GraphEncoder(features.shape[1], settings)
        step = torch.optim.Adam(
            encoder.parameters(), settings.learning_rate, weight_decay=settings.weight_decay
        )
        x = torch.from_numpy(features.astype(np.float32))
        for epoch in range(1, settings.epochs + 1):
            drawn = None if n <= settings.exact_nodes else torch.randperm(n)[: settings.n_sampled]
            loss = reconstruction_loss(encoder(graph, x), adjacency, drawn)
            step.zero_grad()
            loss.backward()
            step.step()
            on_epoch(epoch, loss.item() / n)
        encoder.eval()
        with torch.inference_mode():
            return encoder(graph, x).numpy()


def passage_graph(n_nodes: int, edges: Edges) -> "DGLGraph":
    """Return the undirected graph without parallel edges, with a self-loop at each node."""
    import dgl
    import torch

    own = np.arange(n_nodes)
    sources, targets = (
        torch.from_numpy(np.concatenate([ends, own])) for ends in (edges.sources, edges.targets)
    )
    graph = dgl.to_bidirected(dgl.graph((sources, targets), num_nodes=n_nodes))
    return cast("dgl.DGLGraph", graph)


def adjacency_of(graph: "DGLGraph") -> "torch.Tensor":
    """Return the adjacency matrix of a graph, sparse CSR `(n_nodes, n_nodes)`."""
    import torch

    starts, columns, _ = graph.adj_tensors("csr")
    return sparse(starts, columns, torch.ones(len(columns)))
