"""The networks: against dense matrices, on any order of nodes, on graphs never seen."""

import numpy as np
import pytest
import torch

from gsum_assets.gor.encoders import (
    batch_of,
    convolution,
    embed_nodes,
    new_encoder,
)
from gsum_assets.gor.methods import EncoderForm
from tests.gor.toy_graphs import toy_graph

NAMES = ("gat", "gcn", "sgc", "gin", "sage")
DIMENSION, HEADS = 16, 4
RAW = {"residual": False, "unit_length": False}


def encoder_of(name, **changes):
    return new_encoder(EncoderForm(name=name, **changes), DIMENSION, seed=7)


def outputs_of(encoder, graphs):
    return encoder(batch_of(graphs, encoder.form))


def dense(graph, direction="both"):
    """1 where the node of the row receives a message of the node of the column, or is it."""
    receives = np.eye(graph.n_nodes)
    if direction != "to_response":
        receives[graph.edges[0], graph.edges[1]] = 1
    if direction != "to_retrieved":
        receives[graph.edges[1], graph.edges[0]] = 1
    return receives


def dense_gat(x, receives, own):
    """Heads side by side (Velickovic et al., 2018)."""
    outputs = []
    for head, weight in enumerate(own["fc.weight"].reshape(HEADS, -1, x.shape[1])):
        values = x @ weight.T
        logits = (values @ own["attn_r"][0, head])[:, None] + values @ own["attn_l"][0, head]
        powers = np.exp(np.where(logits > 0, logits, 0.2 * logits)) * receives
        outputs.append(powers / powers.sum(1, keepdims=True) @ values)
    return np.concatenate(outputs, 1) + own["bias"]


def dense_gcn(x, receives, own):
    """Weights of one over the root of what a node receives times what the other sends."""
    shares = receives.sum(1)[:, None] ** -0.5 * receives * receives.sum(0) ** -0.5
    return shares @ x @ own["weight"] + own["bias"]


def dense_gin(x, receives, own):
    summed = receives @ x + own["eps"] * x + x
    hidden = summed @ own["apply_func.0.weight"].T + own["apply_func.0.bias"]
    return np.maximum(hidden, 0) @ own["apply_func.2.weight"].T + own["apply_func.2.bias"]


def dense_sage(x, receives, own):
    mean = receives @ x / receives.sum(1, keepdims=True)
    return x @ own["fc_self.weight"].T + own["fc_self.bias"] + mean @ own["fc_neigh.weight"].T


DENSE = {"gat": dense_gat, "gcn": dense_gcn, "gin": dense_gin, "sage": dense_sage}


def numbers(module):
    return {name: weights.double().numpy() for name, weights in module.state_dict().items()}


@pytest.mark.parametrize("direction", ["both", "to_response", "to_retrieved"])
@pytest.mark.parametrize("name", DENSE)
def test_layer_equals_dense_matrices(name, direction):
    graph = toy_graph("d", dimension=DIMENSION)
    form = EncoderForm(name=name, direction=direction)
    layer = convolution(form, DIMENSION, DIMENSION).eval().double()
    for weight in layer.parameters():
        torch.nn.init.normal_(weight, generator=torch.Generator().manual_seed(weight.numel()))
    features = torch.from_numpy(graph.features).double()
    with torch.inference_mode():
        found = layer(batch_of([graph], form).graph, features)
    expected = DENSE[name](graph.features.astype(float), dense(graph, direction), numbers(layer))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_gin_epsilon_starts_at_zero():
    assert encoder_of("gin").network.convs[0].eps.item() == -1  # and once by its self-loop


def test_sgc_is_hops_and_one_matrix():
    graph, encoder = toy_graph("d"), encoder_of("sgc", direction="both", **RAW)
    share = dense(graph).sum(1) ** -0.5
    hop = share[:, None] * dense(graph) * share
    expected = hop @ hop @ graph.features @ encoder.network.conv.fc.weight.detach().numpy().T
    np.testing.assert_allclose(outputs_of(encoder, [graph]).detach(), expected, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_batched_graph_equals_single_graph(name):
    encoder, graphs = encoder_of(name), [toy_graph("a"), toy_graph("b", n_chunks=3)]
    alone = [embed_nodes(encoder, [graph])[0] for graph in graphs]
    for one, other in zip(alone, reversed(embed_nodes(encoder, graphs[::-1])), strict=True):
        np.testing.assert_array_equal(one, other)
    together = outputs_of(encoder, graphs).detach()
    np.testing.assert_allclose(together, np.concatenate(alone), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("name", DENSE)
def test_layers_are_joined_by_maximum_and_final_heads_averaged(name):
    graph, encoder = toy_graph("d"), encoder_of(name, direction="to_retrieved", **RAW)
    (found,) = embed_nodes(encoder, [graph])
    heads, x, outputs = HEADS if name == "gat" else 1, graph.features, []
    for layer in encoder.network.convs:  # without training, batch norm and PReLU are known
        x = DENSE[name](x, dense(graph, "to_retrieved"), numbers(layer)) / np.sqrt(1 + 1e-5)
        x = np.where(x > 0, x, 0.25 * x)
        assert x.shape == (graph.n_nodes, heads * DIMENSION)  # heads go on to the next layer
        outputs.append(x.reshape(graph.n_nodes, heads, DIMENSION).mean(1))
    np.testing.assert_allclose(found, np.maximum(*outputs), atol=1e-5)
    cosine = encoder_of(name, direction="to_retrieved", cosine=True, **RAW)
    trained = outputs_of(cosine, [graph]).detach()
    assert torch.equal(trained, torch.from_numpy(found))  # by inner product
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    np.testing.assert_allclose(embed_nodes(cosine, [graph])[0], found / lengths, atol=1e-6)


def test_dropout_and_batch_statistics_apply_only_in_training():
    encoder, graphs, found = encoder_of("gat", dropout=0.5).train(), [toy_graph("d")], []
    for seed in (1, 1, 2):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            found.append(outputs_of(encoder, graphs))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])
    before = encoder.arrays()
    outputs_of(encoder.eval(), graphs)
    for name, array in encoder.arrays().items():
        np.testing.assert_array_equal(array, before[name])
    assert np.abs(before["network.norms.0.running_mean"]).max() > 0


def test_one_node_trains_without_variance():
    encoder, graph = encoder_of("gat").train(), toy_graph("d", n_chunks=1, n_queries=0, k=1)
    assert outputs_of(encoder, [graph]).isfinite().all()
    assert not encoder.arrays()["network.norms.0.running_mean"].any()
