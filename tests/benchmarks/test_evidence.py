"""Training of the packaged weights of `evidence`, on toys with known answers."""

import numpy as np
import pytest

from benchmarks.evidence.meetings import Meetings
from benchmarks.evidence.training import examples, folds_of, ranking_metrics
from gsum_assets.evidence.rank import ALL
from gsum_assets.retrieval.collection import Collection, Questions
from tests.evidence.toys import random_units, sentences, tables


def test_ranking_metrics_by_hand() -> None:
    """Evidence is at ranks 2 and 3; equal scores are ranked in order."""
    scores = np.array([0.1, 0.9, 0.5, 0.5])
    hits = np.array([False, False, True, True])
    assert ranking_metrics(scores, hits) == pytest.approx(
        {"mrr": 1 / 2, "p": 2 / 6, "r": 1, "ap": (1 / 2 + 2 / 3) / 2}
    )
    last = np.arange(8.0) == 0
    assert ranking_metrics(np.arange(8.0), last) == {"mrr": 1 / 8, "p": 0, "r": 0, "ap": 1 / 8}


def test_examples_are_judged_in_the_meeting_of_their_question() -> None:
    texts = {"ferry": ["a boat", "the harbour", "a ferry"], "mill": ["a wheel", "the pump"]}
    collection = Collection.from_tables(*tables(texts, random_units(5)))
    asked = ["a boat?"] * 2
    questions = Questions(["q0", "q1"], asked, ["ferry", "mill"], random_units(2))
    marks = dict.fromkeys(questions.ids, frozenset({"ferry-00001", "mill-00000"}))
    found = examples(Meetings(collection, sentences([], []), questions, asked, marks))
    by_group = {example.group: example for example in found}
    assert {group: one.is_evidence.tolist() for group, one in by_group.items()} == {
        "ferry": [False, True, False],
        "mill": [True, False],
    }
    assert by_group["ferry"].features.shape == (3, len(ALL))
    assert len(by_group["ferry"].edges) == 5


def test_every_group_is_in_one_fold() -> None:
    folds = folds_of([f"d{i % 7}" for i in range(30)], 5)
    assert sorted(folds.values()) == [0, 0, 1, 1, 2, 3, 4]
    assert folds == folds_of([f"d{i}" for i in range(7)], 5)
