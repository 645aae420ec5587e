"""A graph auto-encoder: graph convolutions trained to reconstruct the edges (paper, 3.1.2)."""

from collections.abc import Callable

import numpy as np

from gsum_assets.gae.graph_edges import Edges
from gsum_assets.gae.reconstruction import reconstruction_loss, undirected
from gsum_assets.gae.settings import TrainingSettings
from gsum_resources.embedding.processor import torch_threads


def embed_graph(
    features: np.ndarray,
    edges: Edges,
    settings: TrainingSettings,
    on_epoch: Callable[[int, float], None] = lambda epoch, loss: None,
) -> np.ndarray:
    """Return the embeddings of a graph by an encoder trained on it, float32 `(n_nodes, dim)`.

    Up to `exact_nodes` nodes, the loss is over every pair; beyond, every epoch samples `n_sampled`
    nodes that represent all nodes as the second of a pair. Torch uses `threads` threads meanwhile.

    Parameters
    ----------
    features : features of at least two nodes, `(n_nodes, n_features)`.
    edges : edges of the graph; weights and parallel edges are ignored.
    on_epoch : called with the number of each epoch, from 1, and its loss, a mean over all pairs.
    """
    import dgl
    import torch

    from gsum_assets.gae.encoders import GraphEncoder

    n = len(features)
    pairs = torch.from_numpy(undirected(n, edges))
    graph = dgl.graph((pairs[0], pairs[1]), num_nodes=n)
    with torch_threads(settings.threads), torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        encoder = GraphEncoder(features.shape[1], settings)
        step = torch.optim.Adam(
            encoder.parameters(), settings.learning_rate, weight_decay=settings.weight_decay
        )
        x = torch.from_numpy(features.astype(np.float32))
        for epoch in range(1, settings.epochs + 1):
            drawn = None if n <= settings.exact_nodes else torch.randperm(n)[: settings.n_sampled]
            loss = reconstruction_loss(encoder(graph, x), pairs, settings.loss, drawn)
            step.zero_grad()
            # of the mean over pairs weight decay would be the larger part; the paper's is a sum
            (n * n * loss if settings.loss == "squared" else loss).backward()
            step.step()
            on_epoch(epoch, loss.item())
        with torch.no_grad():
            return encoder.eval()(graph, x).numpy()
