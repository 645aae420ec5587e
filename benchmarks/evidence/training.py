"""Weights of `evidence` from QMSum train, and a cross-validation by meeting."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import Measurement
from benchmarks.evidence.meetings import Meetings
from benchmarks.evidence.trees import train_trees
from benchmarks.results import COMPARED, compared, interval
from gsum.statistics import intervals
from gsum_assets.evidence.choose import best_prefix
from gsum_assets.evidence.features import OWN
from gsum_assets.evidence.learn import examples_of
from gsum_assets.evidence.network import Model
from gsum_assets.evidence.rank import DENSE, NAMES
from gsum_assets.evidence.settings import CandidateSettings, ContextSettings
from gsum_assets.evidence.training import Example, Recipe, folds_of, train
from gsum_assets.evidence.weights import save_models
from gsum_assets.retrieval.words import Words

ALL = NAMES[True]
K = 6
Train = Callable[[Sequence[Example], Sequence[str], Recipe], Model]
Judge = Callable[[Example], np.ndarray]
"""Probability of each passage of a question, `(n,)`."""
Learn = Callable[[Sequence[Example]], Judge]
"""Learns from questions to judge others."""


class Learner(NamedTuple):
    """A model of the packaged weights: how it is trained, and what it sees of a passage."""

    train: Train
    names: Sequence[str]
    edges: bool

    def seen(self, example: Example) -> Example:
        """Return the example with the features and edges of this model."""
        edges = example.edges if self.edges else []
        return replace(example, features=example.features[:, : len(self.names)], edges=edges)

    def model(self, examples: Sequence[Example], recipe: Recipe) -> Model:
        """Return the model, trained on examples with all features and edges."""
        return self.train([self.seen(example) for example in examples], self.names, recipe)

    def judge(self, examples: Sequence[Example], recipe: Recipe) -> Judge:
        """Return the probabilities of passages by the trained model, as a function."""
        model = self.model(examples, recipe)

        def probabilities(example: Example) -> np.ndarray:
            own = self.seen(example)
            return model.probabilities(model.scaled(own.features), own.edges)

        return probabilities


LEARNERS = {
    "own": Learner(train, OWN, edges=False),
    "graph": Learner(train, ALL, edges=True),
    "gnn": Learner(train, OWN, edges=True),
    "gbm": Learner(train_trees, ALL, edges=False),
}
"""Models of the packaged weights by name."""


def examples(meetings: Meetings) -> list[Example]:
    """Return the questions with marked evidence, with all features and edges."""
    n = CandidateSettings().n
    return examples_of(meetings.lessons, meetings.collection, meetings.sentences, Words(), n)


def cross_validated(
    examples: Sequence[Example], learn: Learn, n_folds: int = 5
) -> list[np.ndarray]:
    """Return probabilities of each example's passages by models that never saw its group."""
    fold_of = folds_of([example.group for example in examples], n_folds)
    probabilities: list[np.ndarray] = [np.empty(0)] * len(examples)
    for fold in range(n_folds):
        judge = learn([e for e in examples if fold_of[e.group] != fold])
        for i, example in enumerate(examples):
            if fold_of[example.group] == fold:
                probabilities[i] = judge(example)
    return probabilities


def measure(meetings: Meetings, recipe: Recipe) -> Iterator[Measurement]:
    """Yield evidence found by models that never saw a question's meeting, and by vectors."""
    all_features = examples(meetings)
    scores = {"dense": [example.features[:, DENSE] for example in all_features]}
    for name, learner in LEARNERS.items():
        scores[name] = cross_validated(all_features, lambda own, it=learner: it.judge(own, recipe))
    marks = [example.is_evidence for example in all_features]
    metrics = {
        name: [ranking_metrics(*pair) for pair in zip(own, marks, strict=True)]
        for name, own in scores.items()
    }
    n_read = np.array([_n_read(p) for p in scores["graph"]], float)
    mean = interval(float(n_read.mean()), *intervals(n_read)[0].tolist(), scale=1, decimals=1)
    precisions = {name: [row["ap"] for row in own] for name, own in metrics.items()}
    for control in ("dense", "graph"):
        yield Measurement(
            f"Evidence on QMSum train, five-fold cross-validation by meeting, beside {control}",
            f"{len(meetings.collection.document_ids)} meetings, {len(marks)} questions with marked "
            f"evidence; {recipe.n_seeds} seeds averaged; percent; mean, paired difference from "
            f"{control} and p (Holm) of average precision. Passages with the largest expected F1, "
            f"at most {ContextSettings().k_max}: {mean}.",
            ["ranking", *COMPARED, "MRR", f"P@{K}", f"R@{K}"],
            [
                [*row, *(f"{100 * np.mean([q[m] for q in metrics[row[0]]]):.1f}" for m in _BESIDE)]
                for row in compared(precisions, control, decimals=1)
            ],
        )


_BESIDE = ("mrr", "p", "r")


def ranking_metrics(scores: np.ndarray, is_evidence: np.ndarray) -> dict[str, float]:
    """Return MRR, P and R at 6, and average precision of a question whose passages are all ranked.

    Parameters
    ----------
    scores : of the passages; equal ones are ranked in order, `(n,)`.
    is_evidence : at least one is, `(n,)`.
    """
    hits = is_evidence[np.argsort(-scores, kind="stable")]
    ranks = np.flatnonzero(hits) + 1
    return {
        "mrr": float(1 / ranks[0]),
        "p": float(hits[:K].sum() / K),
        "r": float(hits[:K].sum() / hits.sum()),
        "ap": float(np.mean(np.arange(1, len(ranks) + 1) / ranks)),
    }


def _n_read(probabilities: np.ndarray) -> int:
    ordered = np.sort(probabilities)[::-1]
    return best_prefix(ordered, np.ones(len(ordered)), ContextSettings().k_max, len(ordered))


def write(meetings: Meetings, recipe: Recipe, file: Path) -> str:
    """Train on all meetings, write the weights, and return what they were trained on."""
    all_features = examples(meetings)
    models = {name: learner.model(all_features, recipe) for name, learner in LEARNERS.items()}
    n_meetings, n_questions = len(meetings.collection.document_ids), len(all_features)
    data = f"QMSum train, {n_meetings} meetings, {n_questions} questions"
    save_models(models, file, data)
    return data
