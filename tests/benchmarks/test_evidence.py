"""Alternatives to `evidence`, on toys with known answers."""

from itertools import product

import numpy as np
import pytest

from benchmarks.evidence.chain import chained
from benchmarks.evidence.found import hits_of, over_groups
from benchmarks.evidence.late import best_matches, late_signals
from benchmarks.evidence.learners import boosted_trees, with_soft_f1
from benchmarks.evidence.sides import EVIDENCE, EXPONENTS, Asked, by_exponents, evidence_of
from benchmarks.evidence.tried import ranked
from benchmarks.evidence.validation import Side
from gsum_assets.evidence.losses import cross_entropy
from gsum_assets.evidence.training import Example, Recipe, cross_validated
from gsum_assets.tables import TABLES
from gsum_resources.token_embeddings import TokenVectors


def question(name: str, *marks: bool) -> Asked:
    """Return a question about a document of its own."""
    example = Example(name, np.zeros((len(marks), 1)), [], np.array(marks))
    return Asked(f"q-{name}", [f"{name}-{i}" for i in range(len(marks))], example)


def test_a_side_for_each_pair_of_exponents() -> None:
    side = Side(TABLES["contexts"].empty(), True)
    found = by_exponents(side)
    assert len(found) == len(EXPONENTS)
    assert found["sentences by relevance^1.5 p^3"].selection.probability == 3
    assert all(one.weighted and one.contexts is side.contexts for one in found.values())


@pytest.mark.parametrize("odds", [1.0, 3.0])
@pytest.mark.parametrize("n", [1, 5])
def test_a_chain_equals_the_sum_over_all_assignments(n: int, odds: float) -> None:
    p = np.random.default_rng(n).uniform(0.1, 0.9, n)
    weights, marked = [], []
    for assignment in product([0, 1], repeat=n):
        y = np.array(assignment)
        weights.append(np.where(y, p, 1 - p).prod() * odds ** (y[1:] == y[:-1]).sum())
        marked.append(y)
    expected = np.average(marked, axis=0, weights=weights)
    assert chained(p, odds) == pytest.approx(expected)


def test_late_interaction_by_hand() -> None:
    """Two passages share the first token of the question; one has the second, too."""
    axes = np.eye(3, dtype=np.float32)
    asked = TokenVectors(axes[[2, 0, 1]], np.array([False, True, True]))  # the first is special
    passages = [
        TokenVectors(axes[[0, 1]], np.array([True, True])),
        TokenVectors(axes[[0, 1]], np.array([True, False])),
    ]
    matches = best_matches(asked, passages)
    assert matches.tolist() == [[1, 1], [1, 0]]
    assert late_signals(matches) == pytest.approx(np.array([[1, 1], [0.5, 0]]), abs=1e-6)


def test_soft_f1_of_certain_choices_is_f1() -> None:
    import torch

    logits = torch.tensor([50.0, 50.0, -50.0, 50.0, -50.0])
    marks = torch.tensor([1.0, 0.0, 1.0, 1.0, 0.0])
    owners = torch.tensor([0, 0, 0, 1, 1])
    found = with_soft_f1(2)(logits, marks, owners) - cross_entropy(logits, marks, owners)
    assert found.item() == pytest.approx(2 * (1 - (0.5 + 1) / 2), abs=1e-5)


def test_boosted_trees_learn_a_threshold() -> None:
    draw = np.random.default_rng(0)
    features = [draw.uniform(-1, 1, (60, 1)) for _ in range(10)]
    examples = [Example(f"d{i}", own, [], own[:, 0] > 0.2) for i, own in enumerate(features)]
    learn = boosted_trees(Recipe(n_seeds=2))
    for own, example in zip(cross_validated(examples, learn, 2), examples, strict=True):
        assert np.mean((own > 0.5) == example.is_evidence) > 0.9


def test_rankings_are_paired_with_evidence() -> None:
    questions = [question("a", True, False), question("b", False, True)]
    found = {
        EVIDENCE: [np.array([0.9, 0.1]), np.array([0.9, 0.1])],
        "better": [np.array([0.9, 0.1]), np.array([0.1, 0.9])],
    }
    first = np.array([True, False])
    rows = ranked(questions, found, {"": np.ones(2, bool), "first": first, "others": ~first})
    assert rows[0] == [EVIDENCE, "75.0", "", "", "", "100.0", ""]
    assert rows[1][:2] == ["better", "100.0"]
    assert [cell.split(" ")[0] for cell in rows[1][2:5]] == ["+25.0", "+0.0", "+50.0"]


def test_hits_are_best_first_and_ties_in_order() -> None:
    (hits,) = hits_of([np.array([0.1, 0.5, 0.5])], [np.array([True, False, True])])
    assert hits.tolist() == [False, True, True]


def test_documents_are_drawn_whole() -> None:
    equal = over_groups(np.array([0.01, 0.03, 0.02]), ["a", "a", "b"])
    assert equal == "+2.0 [+2.0, +2.0]"


def test_probabilities_are_ranked() -> None:
    none = TABLES["rankings"].empty()
    found = evidence_of([question("a", True, False)], [np.array([0.2, 0.7])], none)
    assert found.probabilities.to_pylist() == [
        {"query_id": "q-a", "chunk_id": "a-1", "rank": 1, "probability": 0.7},
        {"query_id": "q-a", "chunk_id": "a-0", "rank": 2, "probability": 0.2},
    ]
