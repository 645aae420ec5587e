"""The layers against those of DGL, where it installs: the same draws, outputs and gradients."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import gsum
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


class ByDGL(nn.Module):
    """A GAT layer of DGL that takes the graphs of gsum."""

    def __init__(self, n_inputs: int, n_outputs: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.layer = theirs.GATConv(n_inputs, n_outputs, heads, attn_drop=dropout)

    def forward(self, graph: ours.MessageGraph, nodes: torch.Tensor) -> torch.Tensor:
        of_dgl = dgl.graph(tuple(graph.edges), num_nodes=graph.n_nodes)
        return self.layer(of_dgl, nodes).flatten(1)


@pytest.mark.slow
def test_gor_ranks_alike_by_layers_of_dgl(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = Path(__file__).parents[2] / "data" / "corpora" / "sample-meetings"
    texts = {file.stem: file.read_text() for file in sorted(sample.glob("*.txt"))}
    lines = (sample / "queries.jsonl").read_text().splitlines()
    questions = [json.loads(line) for line in lines]
    settings = {"gor": {"training": {"epochs": 3}, "simulation": {"n_queries": 4}}}
    rankings = []
    for layer in (ours.GATConv, ByDGL):
        monkeypatch.setattr(ours, "GATConv", layer)
        result = gsum.run("gor", texts, questions, settings, progress=False)
        rankings.append(result.tables["rankings"])
    order = ["query_id", "level", "rank"]
    own, of_dgl = (table.sort_values(order, ignore_index=True) for table in rankings)
    assert own["query_id"].nunique() > 30
    np.testing.assert_allclose(own["score"], of_dgl["score"], atol=5e-4)
    # neighbours whose scores differ by the rounding of sums may change places
    assert (own["item_id"] == of_dgl["item_id"]).mean() > 0.99
