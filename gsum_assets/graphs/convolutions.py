"""Message passing layers of graph networks as torch modules.

Each has the weights, their names and initial values, and the results of the layer of its name in
`dgl.nn.pytorch`. Importing torch takes seconds, so import this module inside functions only.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding_bag, leaky_relu


@dataclass(frozen=True)
class MessageGraph:
    """Edges along which messages go, senders and receivers, int64 `(2, n_edges)`, in any order."""

    edges: Tensor
    n_nodes: int

    @cached_property
    def _by_receiver(self) -> tuple[Tensor, Tensor]:
        """The order of edges by receiver, and the position of each receiver's first in it."""
        order = self.edges[1].argsort(stable=True)
        ends = self._degrees(1).cumsum(0)
        return order, torch.cat([ends.new_zeros(1), ends[:-1]])

    def _degrees(self, end: int) -> Tensor:
        return self.edges[end].bincount(minlength=self.n_nodes)

    def gathered(self, nodes: Tensor, mode: str = "sum", weights: Tensor | None = None) -> Tensor:
        """Return the sum or mean of what each node receives, `(n_nodes, dim)` of `(n_nodes, dim)`.

        A sum may have weights of the edges, `(n_edges,)`.
        """
        order, firsts = self._by_receiver
        ordered = None if weights is None else weights[order]
        # no message is stored: memory grows by nodes, not by edges
        return embedding_bag(
            self.edges[0][order], nodes, firsts, mode=mode, per_sample_weights=ordered
        )

    def propagated(self, nodes: Tensor, ends: tuple[int, int] = (0, 1)) -> Tensor:
        """Return D^-1/2 A D^-1/2 X of X `(n_nodes, dim)`, by out-degrees (0) and in-degrees (1)."""
        sent, received = (self._degrees(end).clamp(min=1).to(nodes) ** -0.5 for end in ends)
        return received[:, None] * self.gathered(sent[:, None] * nodes)

    def softmax(self, logits: Tensor) -> Tensor:
        """Return weights that sum to one for each receiver, `(n_edges, n_heads)` of logits."""
        receivers = self.edges[1]
        index, nodes = receivers[:, None].expand_as(logits), (self.n_nodes, logits.shape[1])
        largest = logits.new_zeros(nodes).scatter_reduce(
            0, index, logits.detach(), "amax", include_self=False
        )
        powers = (logits - largest[receivers]).exp()
        return powers / logits.new_zeros(nodes).index_add(0, receivers, powers)[receivers]


class GATConv(nn.Module):
    """Graph attention (Velickovic et al., 2018)."""

    def __init__(self, n_inputs: int, n_outputs: int, heads: int, attention_dropout: float) -> None:
        super().__init__()
        self.fc = nn.Linear(n_inputs, heads * n_outputs, bias=False)
        self.attn_l = nn.Parameter(torch.empty(1, heads, n_outputs))
        self.attn_r = nn.Parameter(torch.empty(1, heads, n_outputs))
        self.bias = nn.Parameter(torch.zeros(heads * n_outputs))
        self.dropout = nn.Dropout(attention_dropout)
        for weight in (self.fc.weight, self.attn_l, self.attn_r):
            nn.init.xavier_normal_(weight, nn.init.calculate_gain("relu"))

    def forward(self, graph: MessageGraph, nodes: Tensor) -> Tensor:
        """Return `(n_nodes, heads * n_outputs)` of `(n_nodes, n_inputs)`."""
        senders, receivers = graph.edges
        values = self.fc(nodes).unflatten(1, self.attn_l.shape[1:])  # (n_nodes, heads, n_outputs)
        sent, received = ((values * by).sum(2) for by in (self.attn_l, self.attn_r))
        logits = leaky_relu(sent[senders] + received[receivers], 0.2)
        weights = self.dropout(graph.softmax(logits))  # (n_edges, heads)
        heads = zip(values.unbind(1), weights.unbind(1), strict=True)
        return torch.cat([graph.gathered(x, weights=w) for x, w in heads], 1) + self.bias


class GraphConv(nn.Module):
    """Graph convolution (Kipf and Welling, 2017)."""

    def __init__(self, n_inputs: int, n_outputs: int, bias: bool = True) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(n_inputs, n_outputs)))
        self.bias = nn.Parameter(torch.zeros(n_outputs)) if bias else None

    def forward(self, graph: MessageGraph, nodes: Tensor) -> Tensor:
        """Return `(n_nodes, n_outputs)` of `(n_nodes, n_inputs)`."""
        nodes = graph.propagated(nodes @ self.weight)
        return nodes if self.bias is None else nodes + self.bias


class SGConv(nn.Module):
    """Simple graph convolution (Wu et al., 2019); by in-degrees on both sides, as in DGL."""

    def __init__(self, n_inputs: int, n_outputs: int, hops: int) -> None:
        super().__init__()
        self.hops = hops
        self.fc = nn.Linear(n_inputs, n_outputs)
        nn.init.xavier_uniform_(self.fc.weight)
        nn.init.zeros_(self.fc.bias)

    def forward(self, graph: MessageGraph, nodes: Tensor) -> Tensor:
        """Return `(n_nodes, n_outputs)` of `(n_nodes, n_inputs)`."""
        for _ in range(self.hops):
            nodes = graph.propagated(nodes, (1, 1))
        return self.fc(nodes)


class GINConv(nn.Module):
    """Graph isomorphism (Xu et al., 2019): a perceptron of the sum, with epsilon learnt."""

    def __init__(self, perceptron: nn.Module, epsilon: float) -> None:
        super().__init__()
        self.apply_func = perceptron
        self.eps = nn.Parameter(torch.tensor([float(epsilon)]))

    def forward(self, graph: MessageGraph, nodes: Tensor) -> Tensor:
        """Return `(n_nodes, n_outputs)` of `(n_nodes, n_inputs)`."""
        return self.apply_func((1 + self.eps) * nodes + graph.gathered(nodes))


class SAGEConv(nn.Module):
    """GraphSAGE (Hamilton et al., 2017) with the mean of what a node receives."""

    def __init__(self, n_inputs: int, n_outputs: int) -> None:
        super().__init__()
        self.fc_neigh = nn.Linear(n_inputs, n_outputs, bias=False)
        self.fc_self = nn.Linear(n_inputs, n_outputs)
        for layer in (self.fc_self, self.fc_neigh):
            nn.init.xavier_uniform_(layer.weight, nn.init.calculate_gain("relu"))

    def forward(self, graph: MessageGraph, nodes: Tensor) -> Tensor:
        """Return `(n_nodes, n_outputs)` of `(n_nodes, n_inputs)`."""
        return self.fc_self(nodes) + self.fc_neigh(graph.gathered(nodes, "mean"))
