"""The networks: against dense matrices, on any order of nodes, on graphs never seen."""

from dataclasses import replace

import numpy as np
import pytest

from gsum_assets.gor.gnn import new_encoder, node_embeddings
from gsum_assets.gor.graphs import side_by_side
from gsum_assets.gor.infer import infer
from gsum_assets.gor.layers import LAYERS, Messages, layer_shapes, spread
from gsum_assets.gor.settings import EncoderSettings
from gsum_resources.checkpoints import CheckpointError
from tests.gor.toy_graphs import permuted, toy_graph

NAMES = ("gat", "gcn", "sgc", "gin", "sage")
DIMENSION, HEADS = 16, 4


def encoder_of(name, **changes):
    return new_encoder(EncoderSettings(name=name, **changes), DIMENSION, seed=7)


def dense(graph):
    """1 where the node of the row hears the node of the column, itself included."""
    hears = np.eye(graph.n_nodes)
    hears[graph.edges[0], graph.edges[1]] = hears[graph.edges[1], graph.edges[0]] = 1
    return hears


def dense_heads(x, hears, own):
    outputs = []
    for head in range(HEADS):
        values = x @ own["weight"][head]
        logits = values @ own["target"][head] + (values @ own["source"][head]).T
        powers = np.exp(np.where(logits > 0, logits, 0.2 * logits)) * hears
        outputs.append(powers / powers.sum(1, keepdims=True) @ values)
    return outputs


def dense_gat(x, hears, own):
    return np.mean(dense_heads(x, hears, own), 0) + own["bias"]


def dense_concatenated(x, hears, own):
    return np.concatenate(dense_heads(x, hears, own), 1) + own["bias"]


def dense_gcn(x, hears, own):
    share = hears.sum(1) ** -0.5
    return (share[:, None] * hears * share) @ x @ own["weight"] + own["bias"]


def dense_gin(x, hears, own):
    hidden = (hears @ x + own["epsilon"] * x) @ own["weight_in"] + own["bias_in"]
    return np.maximum(hidden, 0) @ own["weight"] + own["bias"]


def dense_sage(x, hears, own):
    mean = hears @ x / hears.sum(1, keepdims=True)
    return x @ own["weight_self"] + mean @ own["weight"] + own["bias"]


DENSE = {
    "gat": dense_gat,
    "gat_concatenated": dense_concatenated,
    "gcn": dense_gcn,
    "gin": dense_gin,
    "sage": dense_sage,
}


@pytest.mark.parametrize("name", DENSE)
def test_a_layer_is_what_dense_matrices_say(name):
    import torch

    random, graph = np.random.default_rng(0), toy_graph("d", dimension=DIMENSION)
    own = {n: random.standard_normal(s) for n, s in layer_shapes(name, DIMENSION, HEADS).items()}
    x = graph.features.astype(float)
    tensors = {n: torch.as_tensor(array) for n, array in own.items()}
    messages = Messages.of(side_by_side([graph], "both"))
    ours = LAYERS[name](torch.from_numpy(x), messages, tensors, lambda values: values)
    np.testing.assert_allclose(ours, DENSE[name](x, dense(graph), own), rtol=1e-9, atol=1e-9)


def test_sgc_is_hops_and_one_matrix():
    graph, encoder = toy_graph("d"), encoder_of("sgc", residual=False, unit_length=False)
    share = dense(graph).sum(1) ** -0.5
    hop = share[:, None] * dense(graph) * share
    ours = node_embeddings(encoder, side_by_side([graph], "both"))
    expected = hop @ hop @ graph.features @ encoder.weights["0.weight"].numpy()
    np.testing.assert_allclose(ours, expected, atol=1e-5)


def test_a_regular_graph_keeps_equal_nodes():
    import torch

    graph = replace(toy_graph("d"), edges=np.empty((2, 0), np.int64))
    messages = Messages.of(side_by_side([graph], "both"))
    nodes = torch.ones(graph.n_nodes, DIMENSION)
    assert torch.equal(spread(nodes, messages), nodes)
    assert torch.equal(messages.softmax(torch.rand(graph.n_nodes, 2)), torch.ones(graph.n_nodes, 2))


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_nodes_only_moves_rows(name):
    graph = toy_graph("d")
    order = np.random.default_rng(3).permutation(graph.n_nodes)
    one, other = infer(encoder_of(name), [graph, permuted(graph, order)])
    np.testing.assert_allclose(other[order], one, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_a_graph_is_alone_among_others(name):
    encoder, graphs = encoder_of(name), [toy_graph("a"), toy_graph("b", n_chunks=3)]
    alone = [infer(encoder, [graph])[0] for graph in graphs]
    for one, other in zip(alone, reversed(infer(encoder, graphs[::-1])), strict=True):
        np.testing.assert_array_equal(one, other)
    batch = side_by_side(graphs, encoder.settings.direction)
    together = node_embeddings(encoder, batch).detach()
    np.testing.assert_allclose(together, np.concatenate(alone), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_a_node_without_edges_hears_itself_alone(name):
    encoder, graph = encoder_of(name), toy_graph("d")
    lonely = replace(graph, edges=np.empty((2, 0), np.int64))
    changed = replace(lonely, features=np.roll(lonely.features, 1, axis=0))
    one, other = infer(encoder, [lonely, changed])
    np.testing.assert_allclose(np.roll(one, 1, axis=0), other, atol=1e-6)


def test_messages_go_the_way_that_is_set():
    graph = toy_graph("d")
    quiet = replace(graph, edges=np.empty((2, 0), np.int64))
    chunks = graph.kinds == "chunk"
    for direction, unmoved in [("to_response", chunks), ("to_retrieved", ~chunks)]:
        with_edges, without = infer(encoder_of("gat", direction=direction), [graph, quiet])
        moved = np.abs(with_edges - without).max(1)
        assert moved[unmoved].max() < 1e-6
        assert moved[~unmoved].max() > 1e-4


def test_concatenated_heads_go_on_to_the_next_layer_and_are_averaged_at_the_end():
    import torch

    graph, raw = toy_graph("d"), {"residual": False, "unit_length": False}
    encoder = encoder_of("gat", joined="concatenated", **raw)
    shapes = {name: tuple(weight.shape) for name, weight in encoder.weights.items()}
    assert shapes["0.weight"] == (HEADS, DIMENSION, DIMENSION)
    assert shapes["1.weight"] == (HEADS, HEADS * DIMENSION, DIMENSION)
    assert shapes["1.slope"] == shapes["1.scale"] == (HEADS * DIMENSION,)
    (found,) = infer(encoder, [graph])
    x, outputs = graph.features, []
    for at in "01":  # without training, batch normalization and PReLU are known
        own = {n[2:]: w.numpy() for n, w in encoder.weights.items() if n.startswith(at)}
        hears = np.eye(graph.n_nodes)
        hears[graph.edges[0], graph.edges[1]] = 1  # the default: from a response to what it used
        x = dense_concatenated(x, hears, own) / np.sqrt(1 + 1e-5)
        x = np.where(x > 0, x, 0.25 * x)
        outputs.append(x.reshape(graph.n_nodes, HEADS, DIMENSION).mean(1))
    np.testing.assert_allclose(found, np.maximum(*outputs), atol=1e-5)
    cosine = encoder_of("gat", joined="concatenated", cosine=True, **raw)
    trained = node_embeddings(cosine, side_by_side([graph], "to_retrieved")).detach()
    assert torch.equal(trained, torch.from_numpy(found))  # by inner product
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    np.testing.assert_allclose(infer(cosine, [graph])[0], found / lengths, atol=1e-6)


def test_no_gate_and_no_network_leave_nodes_as_they_are():
    graph = toy_graph("d")
    (closed,) = infer(encoder_of("gat", gate=0.0), [graph])
    np.testing.assert_allclose(closed, graph.features, atol=1e-6)
    (untrained,) = infer(encoder_of("none"), [graph])
    np.testing.assert_array_equal(untrained, graph.features)


def test_dropout_and_batch_statistics_are_for_training():
    import torch

    encoder, batch = encoder_of("gat", dropout=0.5), side_by_side([toy_graph("d")], "both")
    noise = [torch.Generator().manual_seed(seed) for seed in (1, 1, 2)]
    first, again, other = (node_embeddings(encoder, batch, n) for n in noise)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    before = {name: array.copy() for name, array in encoder.arrays().items()}
    node_embeddings(encoder, batch)
    for name, array in encoder.arrays().items():
        np.testing.assert_array_equal(array, before[name])
    assert encoder.statistics["0.mean"].abs().max() > 0


def test_one_node_trains_without_a_variance():
    import torch

    graph = toy_graph("d", n_chunks=1, n_queries=0, k=1)
    noise = torch.Generator().manual_seed(0)
    assert node_embeddings(encoder_of("gat"), side_by_side([graph], "both"), noise).isfinite().all()


@pytest.mark.parametrize("name", NAMES)
def test_weights_come_back(name):
    encoder = encoder_of(name)
    other = new_encoder(encoder.settings, DIMENSION, seed=8).with_arrays(encoder.arrays())
    graph = toy_graph("d")
    np.testing.assert_array_equal(infer(encoder, [graph])[0], infer(other, [graph])[0])
    with pytest.raises(CheckpointError, match=r"'0\.\w+' of encoder .* is missing, expected"):
        encoder.with_arrays({})
    with pytest.raises(CheckpointError, match=r"is of shape \(.*16.*, expected \(.*8"):
        new_encoder(encoder.settings, 8).with_arrays(encoder.arrays())
