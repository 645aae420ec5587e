"""The loss of a graph auto-encoder, what a constant would have, and how well edges are told apart.

Both losses are sums over all pairs of nodes and corrections at the edges, A being 0 or 1. The first
sum may use a random sample of columns, which gives an unbiased estimate.
"""

from typing import TYPE_CHECKING, Literal

import numpy as np

from gsum_assets.gae.graph_edges import Edges

if TYPE_CHECKING:
    import torch

_DRAWN = 100_000  # pairs without an edge that edges are compared with

Loss = Literal["balanced", "squared"]


def reconstruction_loss(
    z: "torch.Tensor",
    edges: "torch.Tensor",
    loss: Loss,
    columns: "torch.Tensor | None" = None,
) -> "torch.Tensor":
    """Return the loss of reconstructing A by sigmoid(Z Z^T), a mean over pairs of nodes.

    "squared" is || A - sigmoid(Z Z^T) ||_F^2 / n^2 (paper, equations 6 and 7). "balanced" is
    cross-entropy with edges weighted by the ratio of other pairs to edges, divided by twice the
    share of other pairs (Kipf and Welling, 2016), which is the mean of that of edges and of others.

    Parameters
    ----------
    z : Z, `(n_nodes, dim)`.
    edges : indices of the pairs for which A is 1, in both directions, `(2, n_edges)`.
    columns : sampled nodes, drawn without replacement, that represent all nodes as the second of a
        pair; None: all nodes, and the loss is exact.
    """
    from torch.nn.functional import softplus

    others = z if columns is None else z[columns]
    n_pairs, n_edges = len(z) ** 2, edges.shape[1]
    at_all = z @ others.T  # (n_nodes, n_columns)
    at_edges = (z[edges[0]] * z[edges[1]]).sum(1)  # (n_edges,)
    if loss == "squared":
        everywhere = at_all.sigmoid().square().mean()
        return everywhere + (1 - 2 * at_edges.sigmoid()).sum() / n_pairs
    of_edges = softplus(-at_edges).mean()
    of_others = softplus(at_all).mean() * n_pairs - softplus(at_edges).sum()
    return 0.5 * (of_edges + of_others / max(1, n_pairs - n_edges))


def constant_loss(n_nodes: int, n_edges: int, loss: Loss) -> float:
    """Return the least loss of one value for all pairs: the share of pairs that are edges.

    For the balanced loss, in which edges are half, it is the logarithm of 2.
    """
    density = n_edges / n_nodes**2
    return density * (1 - density) if loss == "squared" else float(np.log(2))


def undirected(n_nodes: int, edges: Edges) -> np.ndarray:
    """Return the pairs for which A is 1, in both directions, with each node and itself.

    Returns
    -------
    Indices of distinct pairs, int64 `(2, n_edges)`, in ascending order.
    """
    loops = np.arange(n_nodes)
    rows = np.concatenate([edges.sources, edges.targets, loops])
    columns = np.concatenate([edges.targets, edges.sources, loops])
    return np.stack(np.divmod(np.unique(rows * n_nodes + columns), n_nodes))


def edge_auc(z: np.ndarray, edges: np.ndarray, seed: int = 0) -> float:
    """Return the probability that an edge has a greater product than a pair without one.

    It is the area under the ROC curve of all edges and of a sample of other pairs, without pairs of
    a node with itself; 0.5 for a constant, and where there are no edges, or nothing else.

    Parameters
    ----------
    z, edges : as of `reconstruction_loss`.
    """
    from sklearn.metrics import roc_auc_score

    n = len(z)
    real = edges[:, edges[0] != edges[1]]
    drawn = np.random.default_rng(seed).integers(0, n, (2, _DRAWN))
    is_edge = np.isin(drawn[0] * n + drawn[1], real[0] * n + real[1])
    others = drawn[:, ~is_edge & (drawn[0] != drawn[1])]
    pairs = np.concatenate([real, others], axis=1)
    if not real.shape[1] or not others.shape[1]:
        return 0.5
    products = np.einsum("ij,ij->i", z[pairs[0]], z[pairs[1]])
    return float(roc_auc_score(np.arange(pairs.shape[1]) < real.shape[1], products))
