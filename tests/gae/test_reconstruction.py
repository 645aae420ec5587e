"""The blocked loss against all pairs at once, and what drawing some of them estimates."""

import numpy as np
import pytest

from gsum_assets.gae import reconstruction
from gsum_assets.gae.autoencoder import (
    adjacency_of,
    embed_graph,
    encode,
    passage_graph,
    train,
    walked,
)
from gsum_assets.gae.encoders import GraphEncoder
from gsum_assets.gae.graph_edges import Edges
from gsum_assets.gae.reconstruction import reconstruction_loss
from gsum_assets.gae.settings import TrainingSettings

N, DIM = 30, 4


def drawn_edges() -> Edges:
    sources, targets = np.random.default_rng(0).integers(0, N, (2, 60))
    return Edges(sources, targets, np.ones(60))


def start():
    import torch

    values = np.random.default_rng(1).standard_normal((N, DIM)).astype(np.float32)
    return torch.from_numpy(values).requires_grad_()


def dense_loss(z, adjacency):
    import torch

    return (adjacency.to_dense() - torch.sigmoid(z @ z.T)).square().sum() / len(z)


@pytest.mark.parametrize("cells", [1, 50, 10**6])
def test_loss_and_gradient_equal_those_of_all_pairs(
    cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setattr(reconstruction, "_CELLS_AT_ONCE", cells)
    adjacency = adjacency_of(passage_graph(N, drawn_edges()))
    blocked, whole = start(), start()
    loss, expected = reconstruction_loss(blocked, adjacency), dense_loss(whole, adjacency)
    loss.backward()
    expected.backward()
    assert loss.item() == pytest.approx(expected.item(), abs=1e-5)
    torch.testing.assert_close(blocked.grad, whole.grad, atol=1e-6, rtol=1e-5)


def test_sampled_columns_estimate_without_bias() -> None:
    import torch

    adjacency = adjacency_of(passage_graph(N, drawn_edges()))
    whole = start()
    expected = dense_loss(whole, adjacency)
    expected.backward()
    # Each node alone, in turn: the mean over all equally likely draws is the expectation.
    losses, gradients = [], []
    for column in range(N):
        z = start()
        loss = reconstruction_loss(z, adjacency, torch.tensor([column]))
        loss.backward()
        losses.append(loss.item())
        gradients.append(z.grad)
    assert np.mean(losses) == pytest.approx(expected.item(), abs=1e-5)
    torch.testing.assert_close(torch.stack(gradients).mean(0), whole.grad, atol=1e-5, rtol=1e-4)


def test_edges_are_bidirectional_with_self_loops() -> None:
    edges = Edges(np.array([0, 1, 1, 2, 0]), np.array([1, 0, 2, 2, 1]), np.ones(5))
    adjacency = adjacency_of(passage_graph(4, edges)).to_dense()
    assert adjacency.tolist() == [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1]]


def test_encoder_equals_dense_matrices() -> None:
    import torch

    settings = TrainingSettings(hidden=5, dim=3)
    encoder = GraphEncoder(6, settings).eval().double()
    graph = passage_graph(N, drawn_edges())
    x = np.random.default_rng(0).standard_normal((N, 6))
    adjacency = adjacency_of(graph).to_dense().double().numpy()
    root = adjacency.sum(1) ** -0.5
    spread = root[:, None] * adjacency * root
    first, second = (conv.weight.detach().numpy() for conv in encoder.convs)
    hidden = np.maximum(spread @ x @ first / np.sqrt(1 + 1e-5), 0)  # batch norm, untrained
    expected = spread @ hidden @ second
    found = encoder(graph, torch.from_numpy(x)).detach()
    np.testing.assert_allclose(found, expected - expected.mean(0), atol=1e-9)
    uncentred = encode(encoder.arrays(), x, drawn_edges())
    np.testing.assert_allclose(uncentred, expected, atol=1e-6)


def test_weights_embed_as_the_trained_encoder_does() -> None:
    import torch

    settings = TrainingSettings(hidden=5, dim=3)
    encoder = GraphEncoder(6, settings)
    graph = passage_graph(N, drawn_edges())
    x = torch.from_numpy(np.random.default_rng(0).standard_normal((N, 6)).astype(np.float32))
    for _ in range(3):  # moves the statistics of batch norm
        encoder(graph, x)
    encoder.eval()
    encoder.centred = False
    expected = encoder(graph, x).detach().numpy()
    found = encode(encoder.arrays(), x.numpy(), drawn_edges())
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_nodes_out_of_reach_of_a_change_are_embedded_bitwise_equally() -> None:
    random = np.random.default_rng(0)
    n = 40
    path = Edges(np.arange(n - 1), np.arange(1, n), np.ones(n - 1))
    features = random.standard_normal((n, 6)).astype(np.float32)
    weights = train(features, path, TrainingSettings(hidden=5, dim=3, epochs=3))
    before = encode(weights, features, path)
    changed = features.copy()
    changed[0] += 1
    after = encode(weights, np.vstack([changed, features[:5]]), path)  # and five nodes more
    assert np.array_equal(after[3:n], before[3:])  # two layers reach two nodes
    assert not np.allclose(after[:3], before[:3])


def test_small_graph_is_learnt_from_the_first_epochs() -> None:
    n = 60
    sources = np.arange(n)
    edges = Edges(sources, (sources + 1) % n, np.ones(n))
    features = 0.1 * np.random.default_rng(0).standard_normal((n, 20))
    losses: list[float] = []
    embed_graph(features, edges, TrainingSettings(), lambda _, loss: losses.append(loss))
    assert max(losses) < 0.5  # no saturation: every sigmoid at 1 would be 0.95
    assert losses[-1] < 0.2  # and every sigmoid at one half 0.25


def test_walked_nodes_are_few_and_have_their_neighbours() -> None:
    import torch

    n = 400
    ring = Edges(np.arange(n), (np.arange(n) + 1) % n, np.ones(n))
    adjacency = adjacency_of(passage_graph(n, ring))
    torch.manual_seed(0)
    nodes = walked(adjacency, 80).numpy()
    assert 20 <= len(nodes) <= 80
    assert (np.diff(nodes) > 0).all()
    has_neighbour = np.isin((nodes + 1) % n, nodes) | np.isin((nodes - 1) % n, nodes)
    assert has_neighbour.mean() > 0.7  # of 80 nodes drawn one by one a third would have one
    torch.manual_seed(0)
    assert np.array_equal(walked(adjacency, 80).numpy(), nodes)


@pytest.mark.parametrize(("exact_nodes", "batch_nodes"), [(100, 100), (0, 100), (0, 16), (100, 16)])
def test_two_cliques_are_separated(exact_nodes: int, batch_nodes: int) -> None:
    n = 20
    groups = np.arange(n) < n // 2
    sources, targets = np.nonzero(groups[:, None] == groups[None])
    losses: list[float] = []
    settings = TrainingSettings(
        hidden=16,
        dim=8,
        epochs=60,
        exact_nodes=exact_nodes,
        n_sampled=10,
        batch_nodes=batch_nodes,
        threads=1,
    )
    embedded = embed_graph(
        np.random.default_rng(0).standard_normal((n, 12)),
        Edges(sources, targets, np.ones(len(sources))),
        settings,
        lambda epoch, loss: losses.append(loss),
    )
    cosine = embedded @ embedded.T
    same = groups[:, None] == groups[None]
    assert len(losses) == 60
    assert losses[-1] < losses[0]
    assert cosine[same].min() > cosine[~same].max()


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
