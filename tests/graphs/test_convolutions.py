"""The layers against those of DGL, where it installs: the same draws, outputs and gradients."""

import os

import pytest
import torch
from torch import nn

from gsum_assets.graphs import convolutions as ours

os.environ.setdefault("DGLBACKEND", "pytorch")  # unset, the import writes ~/.dgl/config.json
dgl = pytest.importorskip("dgl", reason="dgl has wheels up to Python 3.11")
theirs = pytest.importorskip("dgl.nn.pytorch")
N, HEADS, DROPOUT = 40, 4, 0.3
SHAPES = [(12, 8), (8, 12)]


def perceptron(n_inputs: int, n_outputs: int) -> nn.Module:
    return nn.Linear(n_inputs, n_outputs)


PAIRS = {
    "gat": (
        lambda i, o: ours.GATConv(i, o, HEADS, DROPOUT),
        lambda i, o: theirs.GATConv(i, o, HEADS, attn_drop=DROPOUT),
    ),
    "gcn": (ours.GraphConv, theirs.GraphConv),
    "gcn of gae": (
        lambda i, o: ours.GraphConv(i, o, bias=False),
        lambda i, o: theirs.GraphConv(i, o, bias=False),
    ),
    "sgc": (lambda i, o: ours.SGConv(i, o, 3), lambda i, o: theirs.SGConv(i, o, k=3)),
    "gin": (
        lambda i, o: ours.GINConv(perceptron(i, o), -1),
        lambda i, o: theirs.GINConv(perceptron(i, o), "sum", init_eps=-1, learn_eps=True),
    ),
    "sage": (ours.SAGEConv, lambda i, o: theirs.SAGEConv(i, o, "mean")),
}


def edges() -> torch.Tensor:
    """Some twice, in no order, and a self-loop at each node but the last, which only sends."""
    pairs = torch.randint(N - 1, (2, 150))
    loops = torch.arange(N - 1).expand(2, -1)
    return torch.cat([pairs, loops, torch.tensor([[N - 1], [0]]), pairs[:, :5]], 1)


@pytest.mark.parametrize(("n_inputs", "n_outputs"), SHAPES)
@pytest.mark.parametrize("name", PAIRS)
def test_a_layer_equals_that_of_dgl(name: str, n_inputs: int, n_outputs: int) -> None:
    torch.manual_seed(7)
    ends, nodes = edges(), torch.randn(N, n_inputs)
    graph = dgl.graph((ends[0], ends[1]), num_nodes=N)
    results = []
    for make, graph_of in zip(PAIRS[name], (ours.MessageGraph(ends, N), graph), strict=True):
        torch.manual_seed(1)
        layer = make(n_inputs, n_outputs)
        if hasattr(layer, "set_allow_zero_in_degree"):
            layer.set_allow_zero_in_degree(True)
        drawn = {key: value.clone() for key, value in layer.state_dict().items()}
        with torch.no_grad():
            for weight in layer.parameters():  # zeros, such as biases, would hide a mistake
                weight += 0.1 * torch.randn_like(weight)
        x = nodes.clone().requires_grad_()
        found = layer(graph_of, x).flatten(1)  # with dropout of attention
        (found * torch.linspace(-1, 1, found.shape[1])).square().sum().backward()
        slopes = {key: weight.grad for key, weight in layer.named_parameters()}
        results.append((drawn, found.detach(), x.grad, slopes))
    (drawn, *own), (expected, *other) = results
    assert list(drawn) == list(expected)  # the order, too: an optimizer's state goes by it
    torch.testing.assert_close(drawn, expected, rtol=0, atol=0)
    torch.testing.assert_close(own, other, rtol=1e-5, atol=1e-5)
