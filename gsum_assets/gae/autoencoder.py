"""A graph auto-encoder: graph convolutions trained to reconstruct the edges (paper, 3.1.2)."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, cast

import numpy as np

from gsum_assets.gae.graph_edges import Edges
from gsum_assets.gae.reconstruction import reconstruction_loss, sparse
from gsum_assets.gae.settings import TrainingSettings
from gsum_resources.embedding.processor import torch_threads

if TYPE_CHECKING:
    import torch
    from dgl import DGLGraph
    from scipy.sparse import csr_matrix

_STEPS = 3  # of a random walk
_ROWS = 2**14  # nodes multiplied at once


def embed_graph(
    features: np.ndarray,
    edges: Edges,
    settings: TrainingSettings,
    on_epoch: Callable[[int, float], None] = lambda epoch, loss: None,
) -> np.ndarray:
    """Return the embeddings of a graph by an encoder trained on it (see `train`, `encode`)."""
    return encode(train(features, edges, settings, on_epoch), features, edges)


def train(
    features: np.ndarray,
    edges: Edges,
    settings: TrainingSettings,
    on_epoch: Callable[[int, float], None] = lambda epoch, loss: None,
) -> dict[str, np.ndarray]:
    """Return the weights of an encoder for `encode`, trained on a graph of at least two nodes.

    Up to `exact_nodes` nodes, the loss is over every pair; beyond, every epoch samples `n_sampled`
    nodes that represent all nodes as the second of a pair. Beyond `batch_nodes`, every epoch sees
    the subgraph of some nodes only (`walked`). Torch uses `threads` threads meanwhile.

    Parameters
    ----------
    features : features of the nodes, `(n_nodes, n_features)`.
    edges : edges of the graph; weights and parallel edges are ignored.
    on_epoch : called with the number of each epoch, from 1, and its loss, a mean over all pairs.
    """
    import torch

    from gsum_assets.gae.encoders import GraphEncoder

    n = len(features)
    graph = passage_graph(n, edges)
    whole = n <= settings.batch_nodes
    adjacency = adjacency_of(graph)
    with torch_threads(settings.threads), torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        encoder = GraphEncoder(features.shape[1], settings)
        step = torch.optim.Adam(
            encoder.parameters(), settings.learning_rate, weight_decay=settings.weight_decay
        )
        x = torch.from_numpy(features.astype(np.float32))
        part, seen, pairs, m = graph, x, adjacency, n
        for epoch in range(1, settings.epochs + 1):
            if not whole:
                nodes = walked(adjacency, settings.batch_nodes)
                part, seen, m = among(graph, nodes), x[nodes], len(nodes)
                pairs = adjacency_of(part)
            drawn = None if m <= settings.exact_nodes else torch.randperm(m)[: settings.n_sampled]
            loss = reconstruction_loss(encoder(part, seen), pairs, drawn)
            step.zero_grad()
            loss.backward()
            step.step()
            on_epoch(epoch, loss.item() / m)
    weights = encoder.arrays()
    if settings.centred:  # on the mean at training: that of other graphs would change all nodes
        weights["centre"] = encode(weights, features, edges).mean(0, dtype=np.float64)
    return weights


def among(graph: "DGLGraph", nodes: "torch.Tensor") -> "DGLGraph":
    """Return the subgraph of some nodes."""
    import dgl

    return dgl.node_subgraph(graph, nodes)


def walked(adjacency: "torch.Tensor", most: int) -> "torch.Tensor":
    """Return nodes that random walks from random nodes visit, ascending, `most` at most.

    As in GraphSAINT (Zeng et al., 2020, section 4.2) their subgraph keeps neighbourhoods together,
    unlike that of nodes drawn one by one. Torch's generator decides.

    Parameters
    ----------
    adjacency : sparse CSR `(n_nodes, n_nodes)` with self-loops.
    """
    import torch

    starts, columns = adjacency.crow_indices(), adjacency.col_indices()
    node = torch.randperm(len(starts) - 1)[: max(1, most // (1 + _STEPS))]
    visited = [node]
    for _ in range(_STEPS):
        degree = starts[node + 1] - starts[node]
        node = columns[starts[node] + (torch.rand(len(node)) * degree).long()]
        visited.append(node)
    return torch.unique(torch.cat(visited))


def encode(weights: Mapping[str, np.ndarray], features: np.ndarray, edges: Edges) -> np.ndarray:
    """Return the embeddings of the nodes of any graph, float32 `(n_nodes, dim)`.

    A node's embedding depends on the nodes within as many edges as there are layers, and to the
    last bit on nothing else: products of sparse matrices sum each row in one order.
    """
    from scipy.sparse import csr_matrix

    n_layers = sum(name.startswith("weight.") for name in weights)
    spread = _normalized(len(features), edges)
    nodes = features
    for layer in range(n_layers):
        weight = weights[f"weight.{layer}"].astype(np.float64)
        blocks = (nodes[first : first + _ROWS] for first in range(0, len(nodes), _ROWS))
        nodes = spread @ np.vstack(
            [csr_matrix(rows.astype(np.float64)) @ weight for rows in blocks]
        )
        if layer < n_layers - 1:  # batch norm with the statistics of the training, and ReLU
            scale, shift = weights[f"scale.{layer}"], weights[f"shift.{layer}"]
            nodes = np.maximum(nodes * scale + shift, 0)
    return (nodes - weights.get("centre", 0)).astype(np.float32)


def _normalized(n_nodes: int, edges: Edges) -> "csr_matrix":
    """Return D^(-1/2) A D^(-1/2) of the undirected graph with self-loops (equation 5)."""
    from scipy.sparse import csr_matrix

    loops = np.arange(n_nodes)
    rows, columns = (
        np.concatenate([*ends, loops])
        for ends in ((edges.sources, edges.targets), (edges.targets, edges.sources))
    )
    adjacency = csr_matrix((np.ones(len(rows)), (rows, columns)), (n_nodes, n_nodes))
    adjacency.sum_duplicates()
    roots = np.diff(adjacency.indptr) ** -0.5
    adjacency.data = np.repeat(roots, np.diff(adjacency.indptr)) * roots[adjacency.indices]
    return adjacency


def passage_graph(n_nodes: int, edges: Edges) -> "DGLGraph":
    """Return the undirected graph without parallel edges, with a self-loop at each node."""
    import dgl
    import torch

    loops = np.arange(n_nodes)
    sources, targets = (
        torch.from_numpy(np.concatenate([ends, loops])) for ends in (edges.sources, edges.targets)
    )
    graph = dgl.to_bidirected(dgl.graph((sources, targets), num_nodes=n_nodes))
    return cast("dgl.DGLGraph", graph)


def adjacency_of(graph: "DGLGraph") -> "torch.Tensor":
    """Return the adjacency matrix of a graph, sparse CSR `(n_nodes, n_nodes)`."""
    import torch

    starts, columns, _ = graph.adj_tensors("csr")
    return sparse(starts, columns, torch.ones(len(columns)))
