"""The loss against all pairs at once, what drawing some of them estimates, and its control."""

import numpy as np
import pytest
import torch

from gsum_assets.gae import encoders
from gsum_assets.gae.encoders import (
    GraphEncoder,
    constant_loss,
    embed_graph,
    reconstruction_loss,
    undirected,
)
from gsum_assets.gae.graph import Edges
from gsum_assets.gae.settings import TrainingSettings
from gsum_assets.graphs.convolutions import MessageGraph

N, DIM = 30, 4
_SOURCES, _TARGETS = np.random.default_rng(0).integers(0, N, (2, 60))
PAIRS = undirected(N, Edges(_SOURCES, _TARGETS, np.ones(60)))
EDGES = torch.from_numpy(PAIRS)
FEATURES = np.random.default_rng(0).standard_normal((N, 6))


def start() -> torch.Tensor:
    values = np.random.default_rng(1).standard_normal((N, DIM)).astype(np.float32)
    return torch.from_numpy(values).requires_grad_()


def dense_loss(z: torch.Tensor) -> torch.Tensor:
    """The published sum of squares per pair."""
    adjacency = torch.zeros(N, N)
    adjacency[tuple(EDGES)] = 1
    return (adjacency - torch.sigmoid(z @ z.T)).square().mean()


@pytest.mark.parametrize("columns", [[None], [[i] for i in range(N)]])
def test_loss_and_gradient_are_those_of_all_pairs(columns: list) -> None:
    """Exactly, and as the mean over each node alone: the expectation of equally likely draws."""
    whole = start()
    expected = dense_loss(whole)
    expected.backward()
    losses, gradients = [], []
    for drawn in columns:
        z = start()
        value = reconstruction_loss(z, EDGES, None if drawn is None else torch.tensor(drawn))
        value.backward()
        losses.append(value.item())
        gradients.append(z.grad)
    assert np.mean(losses) == pytest.approx(expected.item(), abs=1e-5)
    torch.testing.assert_close(torch.stack(gradients).mean(0), whole.grad, atol=1e-5, rtol=1e-4)


def test_edges_are_bidirectional_with_self_loops() -> None:
    edges = Edges(np.array([0, 1, 1, 2, 0]), np.array([1, 0, 2, 2, 1]), np.ones(5))
    adjacency = np.zeros((4, 4), int)
    adjacency[tuple(undirected(4, edges))] = 1
    assert adjacency.tolist() == [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1]]


def test_no_value_for_all_pairs_has_a_lower_loss_than_the_control() -> None:
    found = []
    for logit in np.linspace(0, 6, 1201):
        # products of these are the logit for every pair
        z = torch.tensor([[logit]], dtype=torch.float64).sqrt().expand(N, 1)
        found.append(reconstruction_loss(z, EDGES).item())
    assert min(found) >= constant_loss(N, PAIRS.shape[1]) - 1e-9


def test_encoder_equals_dense_matrices() -> None:
    encoder = GraphEncoder(6).eval().double()
    graph = MessageGraph(EDGES, N)
    adjacency = np.zeros((N, N))
    adjacency[tuple(PAIRS)] = 1
    root = adjacency.sum(1) ** -0.5
    spread = root[:, None] * adjacency * root
    *hidden, last = (conv.weight.detach().numpy() for conv in encoder.convs)
    nodes = FEATURES
    for weight in hidden:
        nodes = np.maximum(spread @ nodes @ weight / np.sqrt(1 + 1e-5), 0)  # untrained batch norm
    found = encoder(graph, torch.from_numpy(FEATURES)).detach()
    np.testing.assert_allclose(found, spread @ nodes @ last, atol=1e-9)


@pytest.mark.parametrize("exact_nodes", [100, 0])
def test_two_cliques_are_separated(exact_nodes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    small = {"_EXACT_NODES": exact_nodes, "_SAMPLED": 10, "_HIDDEN": 16, "_DIM": 8}
    for name, value in small.items():
        monkeypatch.setattr(encoders, name, value)
    groups = np.arange(20) < 10
    same = groups[:, None] == groups[None]
    sources, targets = np.nonzero(same)
    pairs = undirected(20, Edges(sources, targets, np.ones(len(sources))))
    features = np.random.default_rng(0).standard_normal((20, 12))
    losses: list[float] = []
    settings = TrainingSettings(epochs=60)
    embedded = embed_graph(features, pairs, settings, lambda _, value: losses.append(value))
    product = embedded @ embedded.T
    assert len(losses) == 60
    assert losses[-1] < losses[0]
    assert product[same].mean() > product[~same].mean()


def trained(features: np.ndarray) -> np.ndarray:
    return embed_graph(features, PAIRS, TrainingSettings(epochs=3), lambda *_: None)


def test_training_is_reproducible_and_restores_threads() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(before + 1)
    first, second = trained(FEATURES), trained(FEATURES)
    assert torch.get_num_threads() == before + 1
    torch.set_num_threads(before)
    assert np.array_equal(first, second)


def test_a_training_that_diverges_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"gae/embeddings: .* diverged; set a lower learning_rate"):
        trained(np.full((N, 6), np.nan))
