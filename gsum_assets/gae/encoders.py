"""The encoder of the graph auto-encoder as a torch module over a `dgl` graph (paper, 3.1.2).

Importing torch and dgl takes seconds, so import this module inside functions only.
"""

from itertools import pairwise

from dgl import DGLGraph
from dgl.nn.pytorch import GraphConv
from torch import Tensor, nn

from gsum_assets.gae.settings import TrainingSettings


class GraphEncoder(nn.Module):
    """Encoder to Z (equations 4 and 5); batch norm, ReLU and dropout after all but the last layer.

    Parameters
    ----------
    n_features : features of a node.
    """

    def __init__(self, n_features: int, settings: TrainingSettings) -> None:
        super().__init__()
        hidden = [settings.hidden] * (settings.layers - 1)
        widths = pairwise([n_features, *hidden, settings.dim])
        self.convs = nn.ModuleList(GraphConv(into, out, bias=False) for into, out in widths)
        self.activations = nn.ModuleList(
            nn.Sequential(nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(settings.dropout))
            for width in hidden
        )

    def forward(self, graph: DGLGraph, nodes: Tensor) -> Tensor:
        """Return embeddings `(n_nodes, dim)` for features `(n_nodes, n_features)`."""
        for conv, activation in zip(self.convs, [*self.activations, nn.Identity()], strict=True):
            nodes = activation(conv(graph, nodes))  # (n_nodes, width)
        return nodes
