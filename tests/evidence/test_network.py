"""The network in NumPy: by hand, and equal to torch."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmarks.evidence.training import Learner, cross_validated
from benchmarks.evidence.trees import train_trees
from gsum_assets.evidence.encoders import EvidenceNetwork
from gsum_assets.evidence.features import OWN
from gsum_assets.evidence.graph_features import GRAPH
from gsum_assets.evidence.losses import cross_entropy, summed, with_listwise
from gsum_assets.evidence.network import N_KINDS, Network, edges_of, messages
from gsum_assets.evidence.rank import NAMES
from gsum_assets.evidence.training import Example, Recipe, train
from gsum_assets.evidence.trees import Trees
from gsum_assets.evidence.weights import load_model, load_network, packaged, save_models
from tests.evidence.toys import index_of, random_network, random_units, sentences

QUICK = Recipe(hidden=4, epochs=30, n_seeds=2, dropout=0.0, peak_rate=0.05)


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


def test_probabilities_are_averaged_over_networks() -> None:
    both = random_network(["x", "y"], 0)
    scaled = np.ones((3, 2), np.float32)
    each = [
        Network(both.names, both.mean, both.deviation, {n: w[[i]] for n, w in both.weights.items()})
        for i in range(2)
    ]
    mean = np.mean([one.probabilities(scaled, []) for one in each], axis=0)
    assert both.probabilities(scaled, []) == pytest.approx(mean)


@pytest.mark.parametrize("n_kinds", [0, N_KINDS])
@pytest.mark.parametrize("n", [1, 2, 17])
def test_numpy_equals_torch(n: int, n_kinds: int) -> None:
    import torch

    torch.manual_seed(0)
    module = EvidenceNetwork(6, n_kinds, 8, 2, 0.3).eval()
    features = np.random.default_rng(0).normal(size=(n, 6)).astype(np.float32)
    edges = chain(n) if n_kinds else []
    with torch.inference_mode():
        logits = module(torch.from_numpy(features), [torch.from_numpy(e) for e in edges])
        expected = torch.sigmoid(logits).numpy()
    weights = {name: value.numpy()[None] for name, value in module.state_dict().items()}
    found = Network(list("abcdef"), np.zeros(6), np.ones(6), weights)
    assert found.probabilities(features, edges) == pytest.approx(expected, abs=1e-6)


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


def test_training_learns_what_only_neighbours_show() -> None:
    learnt = cross_validated(
        questions(40), lambda seen: Learner(train, ["x"], edges=True).judge(seen, QUICK), n_folds=2
    )
    hits = [
        p.argmax() == e.is_evidence.argmax() for p, e in zip(learnt, questions(40), strict=True)
    ]
    assert np.mean(hits) > 0.9


def test_training_twice_gives_the_same_weights() -> None:
    first, second = (train(questions(4), ["x"], QUICK) for _ in range(2))
    for name, weight in first.weights.items():
        assert np.array_equal(weight, second.weights[name])


def test_saved_networks_come_back(tmp_path: Path) -> None:
    file = tmp_path / "weights.safetensors"
    network = random_network(["é", "y"], 0)
    save_models({"own": network}, file, "toys")
    again = load_network("own", file)
    assert list(again.names) == ["é", "y"]
    for name, weight in network.weights.items():
        assert np.array_equal(weight, again.weights[name])
    with pytest.raises(ValueError, match="no model 'graph'; use own"):
        load_network("graph", file)


def test_another_format_is_named(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    file = tmp_path / "weights.safetensors"
    save_file({"x": np.zeros(1)}, file, {"format": "0"})
    with pytest.raises(ValueError, match=r"format 0, not 1; make them again"):
        load_network("own", file)


def test_packaged_weights_read_the_features_that_are_computed() -> None:
    models = {name: load_model(name) for name in ("graph", "own", "gnn", "gbm")}
    for name, model in models.items():
        assert tuple(model.names) == NAMES[name in ("graph", "gbm")]
        assert model.has_messages == (name in ("graph", "gnn"))
        assert all(np.isfinite(w).all() for w in model.weights.values())
    assert {True: (*OWN, *GRAPH), False: OWN} == NAMES
    assert models["graph"].weights["layers.0.weight"].shape[2] == (1 + N_KINDS) * 32
    assert packaged().stat().st_size < 10**6


# Losses of the networks, by hand.

MARKS = (0, 1, 1, 1)


def tensors(logits: Sequence[float], marks: Sequence[float] = MARKS):
    """Return logits and marks of two questions with two passages each."""
    import torch

    return torch.tensor(logits).float(), torch.tensor(marks).float(), torch.tensor([0, 0, 1, 1])


def test_values_are_summed_by_question() -> None:
    logits, _, owners = tensors([0.5, 1, 5, 5])
    assert summed(logits, owners).tolist() == [1.5, 10]


def test_listwise_loss_by_hand() -> None:
    """The softmax of the first question is 1/4 and 3/4; the second has 1/2 and 1/2, as marked."""
    batch = tensors([0, math.log(3), 5, 5])
    expected = (-math.log(3 / 4) - math.log(1 / 2)) / 2
    found = with_listwise(2)(*batch) - cross_entropy(*batch)
    assert found.item() == pytest.approx(2 * expected, rel=1e-5)


def test_cross_entropy_is_the_mean_over_passages() -> None:
    p = 1 / (1 + np.exp([0, -math.log(3), -5, -5]))
    expected = -np.log([1 - p[0], *p[1:]]).mean()
    assert cross_entropy(*tensors([0, math.log(3), 5, 5])).item() == pytest.approx(expected)


def test_a_question_without_marks_adds_nothing() -> None:
    batch = tensors([0, 1, 5, 5], (0, 0, 0, 0))
    assert with_listwise(2)(*batch).item() == pytest.approx(cross_entropy(*batch).item())


def test_listwise_loss_of_large_logits_is_finite() -> None:
    logits, marks, owners = tensors([300.0, 0, -300, -310])
    logits.requires_grad_()
    loss = with_listwise(1)(logits, marks, owners)
    loss.backward()
    assert loss.isfinite()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()


# Trees as arrays: by hand, and equal to those of scikit-learn.


def test_trees_by_hand() -> None:
    """The first tree asks whether x > 0, and then whether y > 1; the second is a single leaf."""
    weights = {
        "feature": np.array([[0, 0, 1, 0, 0], [0, 0, 0, 0, 0]], np.float32),
        "threshold": np.array([[0, 0, 1, 0, 0], [0, 0, 0, 0, 0]], np.float32),
        "left": np.array([[1, 1, 3, 3, 4], [0, 0, 0, 0, 0]], np.float32),
        "right": np.array([[2, 1, 4, 3, 4], [0, 0, 0, 0, 0]], np.float32),
        "value": np.array([[9, -1, 9, 0, 2], [0.5, 9, 9, 9, 9]], np.float32),
        "bias": np.array([-0.5], np.float32),
    }
    trees = Trees(["x", "y"], np.zeros(2), np.ones(2), weights)
    scaled = trees.scaled(np.array([[-1.0, 3.0], [1.0, 0.0], [1.0, 3.0]]))
    assert trees.probabilities(scaled, []) == pytest.approx(1 / (1 + np.exp([1.0, 0.0, -2.0])))
    assert not trees.has_messages


def test_trained_trees_equal_those_of_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    from sklearn import ensemble

    fitted = []
    original = ensemble.GradientBoostingClassifier.fit

    def fit(self, *data):
        fitted.append(self)
        return original(self, *data)

    monkeypatch.setattr(ensemble.GradientBoostingClassifier, "fit", fit)
    draw = np.random.default_rng(0)
    features = draw.normal(3, 2, (400, 3))
    marks = features[:, 0] + draw.normal(size=400) > 4
    trees = train_trees([Example("a", features, [], marks)], ["x", "y", "z"], Recipe(n_seeds=2))
    scaled = trees.scaled(features)
    expected = np.mean([model.decision_function(scaled) for model in fitted], axis=0)
    found = trees.probabilities(scaled, [])
    assert np.log(found / (1 - found)) == pytest.approx(expected, abs=1e-4)
    assert np.mean((found > 0.5) == marks) > 0.8
