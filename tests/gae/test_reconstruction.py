"""The loss against all pairs at once, what drawing some of them estimates, and its control."""

import numpy as np
import pytest

from gsum_assets.gae.autoencoder import embed_graph
from gsum_assets.gae.encoders import GraphEncoder
from gsum_assets.gae.graph_edges import Edges
from gsum_assets.gae.reconstruction import (
    Loss,
    constant_loss,
    edge_auc,
    reconstruction_loss,
    undirected,
)
from gsum_assets.gae.settings import TrainingSettings

N, DIM = 30, 4
LOSSES: list[Loss] = ["balanced", "squared"]


def drawn_edges() -> Edges:
    sources, targets = np.random.default_rng(0).integers(0, N, (2, 60))
    return Edges(sources, targets, np.ones(60))


def start():
    import torch

    values = np.random.default_rng(1).standard_normal((N, DIM)).astype(np.float32)
    return torch.from_numpy(values).requires_grad_()


def pairs():
    import torch

    return torch.from_numpy(undirected(N, drawn_edges()))


def dense_loss(z, loss: Loss):
    """The published sum of squares per pair, or that of Kipf and Welling's program."""
    import torch
    from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

    adjacency = torch.zeros(N, N)
    adjacency[tuple(pairs())] = 1
    if loss == "squared":
        return (adjacency - torch.sigmoid(z @ z.T)).square().mean()
    n_edges = adjacency.sum()
    others = N * N - n_edges
    norm = N * N / (2 * others)
    return norm * cross_entropy(z @ z.T, adjacency, pos_weight=others / n_edges)


@pytest.mark.parametrize("loss", LOSSES)
def test_loss_and_gradient_equal_those_of_all_pairs(loss: Loss) -> None:
    import torch

    ours, whole = start(), start()
    found, expected = reconstruction_loss(ours, pairs(), loss), dense_loss(whole, loss)
    found.backward()
    expected.backward()
    assert found.item() == pytest.approx(expected.item(), abs=1e-5)
    torch.testing.assert_close(ours.grad, whole.grad, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_sampled_columns_estimate_without_bias(loss: Loss) -> None:
    import torch

    whole = start()
    expected = dense_loss(whole, loss)
    expected.backward()
    # Each node alone, in turn: the mean over all equally likely draws is the expectation.
    losses, gradients = [], []
    for column in range(N):
        z = start()
        of_column = reconstruction_loss(z, pairs(), loss, torch.tensor([column]))
        of_column.backward()
        losses.append(of_column.item())
        gradients.append(z.grad)
    assert np.mean(losses) == pytest.approx(expected.item(), abs=1e-5)
    torch.testing.assert_close(torch.stack(gradients).mean(0), whole.grad, atol=1e-5, rtol=1e-4)


def test_edges_are_bidirectional_with_self_loops() -> None:
    edges = Edges(np.array([0, 1, 1, 2, 0]), np.array([1, 0, 2, 2, 1]), np.ones(5))
    adjacency = np.zeros((4, 4), int)
    adjacency[tuple(undirected(4, edges))] = 1
    assert adjacency.tolist() == [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1]]


@pytest.mark.parametrize("loss", LOSSES)
def test_no_value_for_all_pairs_has_a_lower_loss_than_the_control(loss: Loss) -> None:
    import torch

    found = []
    for logit in np.linspace(0, 6, 1201):
        # products of these are the logit for every pair
        z = torch.tensor([[logit]], dtype=torch.float64).sqrt().expand(N, 1)
        found.append(reconstruction_loss(z, pairs(), loss).item())
    control = constant_loss(N, pairs().shape[1], loss)
    assert min(found) >= control - 1e-9
    if loss == "balanced":
        assert found[0] == pytest.approx(control)  # one half for every pair


def test_area_under_the_curve_known_values() -> None:
    groups = np.repeat([0, 1], 15)
    sources, targets = np.nonzero(groups[:, None] == groups[None])
    edges = undirected(N, Edges(sources, targets, np.ones(len(sources))))
    assert edge_auc(np.eye(2)[groups], edges) == 1
    assert edge_auc(np.ones((N, 2)), edges) == 0.5
    assert edge_auc(np.eye(N), undirected(N, Edges(*np.zeros((2, 0), int), np.zeros(0)))) == 0.5


def test_encoder_equals_dense_matrices() -> None:
    import dgl
    import torch

    settings = TrainingSettings(hidden=5, dim=3)
    encoder = GraphEncoder(6, settings).eval().double()
    edges = undirected(N, drawn_edges())
    graph = dgl.graph((torch.from_numpy(edges[0]), torch.from_numpy(edges[1])), num_nodes=N)
    x = np.random.default_rng(0).standard_normal((N, 6))
    adjacency = np.zeros((N, N))
    adjacency[tuple(edges)] = 1
    root = adjacency.sum(1) ** -0.5
    spread = root[:, None] * adjacency * root
    first, second = (conv.weight.detach().numpy() for conv in encoder.convs)
    hidden = np.maximum(spread @ x @ first / np.sqrt(1 + 1e-5), 0)  # batch norm, untrained
    found = encoder(graph, torch.from_numpy(x)).detach()
    np.testing.assert_allclose(found, spread @ hidden @ second, atol=1e-9)


def ring(n: int) -> Edges:
    return Edges(np.arange(n), (np.arange(n) + 1) % n, np.ones(n))


def test_edges_of_a_small_graph_are_learnt() -> None:
    n = 60
    features = 0.1 * np.random.default_rng(0).standard_normal((n, 20))
    losses: list[float] = []
    found = embed_graph(features, ring(n), TrainingSettings(), lambda _, loss: losses.append(loss))
    edges = undirected(n, ring(n))
    assert losses[-1] < constant_loss(n, edges.shape[1], "balanced")
    assert edge_auc(found, edges) > 0.9


@pytest.mark.parametrize("exact_nodes", [100, 0])
@pytest.mark.parametrize("loss", LOSSES)
def test_two_cliques_are_separated(exact_nodes: int, loss: Loss) -> None:
    n = 20
    groups = np.arange(n) < n // 2
    sources, targets = np.nonzero(groups[:, None] == groups[None])
    losses: list[float] = []
    settings = TrainingSettings(
        hidden=16, dim=8, epochs=60, exact_nodes=exact_nodes, n_sampled=10, loss=loss
    )
    embedded = embed_graph(
        np.random.default_rng(0).standard_normal((n, 12)),
        Edges(sources, targets, np.ones(len(sources))),
        settings,
        lambda epoch, loss: losses.append(loss),
    )
    product = embedded @ embedded.T
    same = groups[:, None] == groups[None]
    assert len(losses) == 60
    assert losses[-1] < losses[0]
    assert product[same].mean() > product[~same].mean()


def test_threads_are_restored_and_the_seed_decides() -> None:
    import torch

    before = torch.get_num_threads()
    features = np.random.default_rng(0).standard_normal((N, 6))
    settings = TrainingSettings(epochs=3, threads=before + 1)
    found = [embed_graph(features, drawn_edges(), settings) for _ in range(2)]
    other = embed_graph(features, drawn_edges(), settings.model_copy(update={"seed": 1}))
    assert torch.get_num_threads() == before
    assert np.array_equal(*found)
    assert not np.allclose(found[0], other)
