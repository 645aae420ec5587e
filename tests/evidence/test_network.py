"""The network in NumPy: by hand, and equal to torch."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmarks.evidence.encoders import EvidenceNetwork, Example, Recipe, cross_entropy
from benchmarks.evidence.training import (
    LEARNERS,
    Learner,
    cross_validated,
    save_networks,
    train,
    with_listwise,
)
from gsum_assets.evidence.features import OWN
from gsum_assets.evidence.network import (
    N_KINDS,
    Network,
    edges_of,
    load_network,
    messages,
    packaged,
)
from gsum_assets.evidence.rank import ALL
from tests.evidence.toys import index_of, random_network, random_units, sentences

QUICK = Recipe(hidden=4, epochs=30, dropout=0.0, peak_rate=0.05)


def sigmoid(x: float) -> float:
    return 1 / (1 + np.exp(-x))


def chain(n: int) -> list[np.ndarray]:
    """The edges of a document of n passages."""
    scope = index_of({"a": ["x"] * n}, random_units(n), sentences([], [])).scope()
    return edges_of(scope)


def test_messages_are_means_over_senders() -> None:
    state = np.array([[[1.0], [2.0], [6.0]]])
    senders = np.array([[1, 2], [0, -1], [-1, -1]])
    assert messages(state, [senders])[0][0, :, 0].tolist() == [4, 1, 0]


def test_network_by_hand() -> None:
    """One feature, width 1, one kind of edge: the state of the first reaches the second."""
    weights = {
        "input.weight": np.full((1, 1, 1), 2.0),
        "input.bias": np.zeros((1, 1)),
        "layers.0.weight": np.array([[[0.0, 3.0]]]),  # own state, message
        "layers.0.bias": np.zeros((1, 1)),
        "output.weight": np.ones((1, 1, 1)),
        "output.bias": np.full((1, 1), -1.0),
    }
    network = Network(["x"], np.array([1.0]), np.array([0.5]), weights)
    scaled = network.scaled(np.array([[1.5], [0.5]]))
    assert scaled.tolist() == [[1], [-1]]
    found = network.probabilities(scaled, [np.array([[-1], [0]])])
    assert found == pytest.approx([sigmoid(2 - 1), sigmoid(3 * 2 - 1)])
    assert network.scaled(np.array([[100.0]])).tolist() == [[5]]


@pytest.mark.parametrize("n_kinds", [0, N_KINDS])
@pytest.mark.parametrize("n", [1, 2, 17])
def test_numpy_equals_torch(n: int, n_kinds: int) -> None:
    import torch

    torch.manual_seed(0)
    module = EvidenceNetwork(6, n_kinds, Recipe(hidden=8)).eval()
    features = np.random.default_rng(0).normal(size=(n, 6)).astype(np.float32)
    edges = chain(n) if n_kinds else []
    with torch.inference_mode():
        logits = module(torch.from_numpy(features), [torch.from_numpy(e) for e in edges])
        expected = torch.sigmoid(logits).numpy()
    weights = {name: value.numpy()[None] for name, value in module.state_dict().items()}
    found = Network(list("abcdef"), np.zeros(6), np.ones(6), weights)
    assert found.probabilities(features, edges) == pytest.approx(expected, abs=1e-6)
    with_zero = {n: np.stack([w[0], np.zeros_like(w[0])]) for n, w in weights.items()}
    both = Network(list("abcdef"), np.zeros(6), np.ones(6), with_zero)  # a half for every passage
    assert both.probabilities(features, edges) == pytest.approx((expected + 0.5) / 2, abs=1e-6)


def questions(n: int) -> list[Example]:
    """Questions whose evidence is the passage behind the one with the largest feature."""
    draw = np.random.default_rng(1)
    found = []
    for i in range(n):
        features = draw.normal(size=(8, 1))
        best = int(features[:7, 0].argmax())
        features[best] = 4
        marks = np.arange(8) == best + 1
        found.append(Example(f"d{i}", features, chain(8), marks))
    return found


def test_training_learns_what_only_neighbours_show_and_is_reproducible() -> None:
    learner = Learner(["x"], edges=True)
    learnt = cross_validated(questions(40), lambda seen: learner.judge(seen, QUICK, 2), n_folds=2)
    hits = [
        p.argmax() == e.is_evidence.argmax() for p, e in zip(learnt, questions(40), strict=True)
    ]
    assert np.mean(hits) > 0.9
    first, second = (train(questions(4), ["x"], QUICK, 2) for _ in range(2))
    assert all(np.array_equal(first.weights[n], w) for n, w in second.weights.items())


def test_saved_networks_come_back(tmp_path: Path) -> None:
    file = tmp_path / "weights.safetensors"
    network = random_network(["é", "y"], 0)
    save_networks({"own": network}, file, "toys")
    again = load_network("own", file)
    assert list(again.names) == ["é", "y"]
    for name, weight in network.weights.items():
        assert np.array_equal(weight, again.weights[name])


@pytest.mark.parametrize("name", LEARNERS)
def test_packaged_weights_read_the_features_that_are_computed(name: str) -> None:
    network = load_network(name)
    assert tuple(network.names) == (ALL if name == "graph" else OWN) == LEARNERS[name].names
    assert network.reads_graph == (name == "graph") == LEARNERS[name].edges
    assert all(np.isfinite(w).all() for w in network.weights.values())
    n_kinds = N_KINDS if network.reads_graph else 0
    assert network.weights["layers.0.weight"].shape[2] == (1 + n_kinds) * 32
    assert packaged().stat().st_size < 10**6


# Losses of the networks, by hand.

MARKS = (0, 1, 1, 1)


def tensors(logits: Sequence[float], marks: Sequence[float] = MARKS):
    """Return logits and marks of two questions with two passages each."""
    import torch

    return torch.tensor(logits).float(), torch.tensor(marks).float(), torch.tensor([0, 0, 1, 1])


def test_listwise_loss_by_hand() -> None:
    """The softmax of the first question is 1/4 and 3/4; the second has 1/2 and 1/2, as marked."""
    batch = tensors([0, math.log(3), 5, 5])
    expected = (-math.log(3 / 4) - math.log(1 / 2)) / 2
    found = with_listwise(2)(*batch) - cross_entropy(*batch)
    assert found.item() == pytest.approx(2 * expected, rel=1e-5)
    p = 1 / (1 + np.exp([0, -math.log(3), -5, -5]))
    entropy = -np.log([1 - p[0], *p[1:]]).mean()
    assert cross_entropy(*batch).item() == pytest.approx(entropy)
    unmarked = tensors([0, 1, 5, 5], (0, 0, 0, 0))
    assert with_listwise(2)(*unmarked).item() == pytest.approx(cross_entropy(*unmarked).item())
