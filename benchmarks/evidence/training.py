"""Weights of `evidence` from QMSum train, and a cross-validation by meeting."""

from pathlib import Path

import numpy as np

from benchmarks import Measurement
from benchmarks.evidence.found import HEADER, compared_ranks, hits_of, metrics_of, paired
from benchmarks.evidence.learners import (
    boosted_trees,
    messages_alone,
    own_features,
    packaged_models,
    with_graph,
)
from benchmarks.evidence.meetings import Meetings, only
from benchmarks.results import interval
from gsum.statistics import intervals
from gsum_assets.evidence.choose import best_prefix
from gsum_assets.evidence.learn import MARKED, Lessons, examples_of
from gsum_assets.evidence.rank import DENSE
from gsum_assets.evidence.settings import CandidateSettings, ContextSettings
from gsum_assets.evidence.training import Example, Recipe, cross_validated
from gsum_assets.evidence.weights import packaged, save_models
from gsum_assets.retrieval.words import Words

LEARNERS = {
    "own": own_features,
    "graph": with_graph,
    "gnn, own features": messages_alone,
    "gbm, graph features": boosted_trees,
}
"""Trainings that are compared by cross-validation."""


def examples(meetings: Meetings) -> tuple[list[Example], list[np.ndarray]]:
    """Return the questions with marked evidence, and the cosine of each of their passages."""
    chosen = only(meetings, list(meetings.marked))
    texts = chosen.queries["text"].to_pylist()
    lessons = Lessons(MARKED, chosen.questions, texts, chosen.marked)
    n = CandidateSettings().n
    found = examples_of(lessons, chosen.collection, chosen.sentences, Words(), n)
    return found, [example.features[:, DENSE] for example in found]


def measure(meetings: Meetings, recipe: Recipe) -> Measurement:
    """Return evidence found by models that never saw a question's meeting, and by vectors."""
    all_features, cosines = examples(meetings)
    marks = [example.is_evidence for example in all_features]
    scores = {"dense": cosines} | {
        name: cross_validated(all_features, learner(recipe)) for name, learner in LEARNERS.items()
    }
    metrics = {name: metrics_of(hits_of(own, marks)) for name, own in scores.items()}
    graph = metrics["graph"]["ap"]
    gains = [
        [f"graph less {name}", *[""] * 5, paired(graph, metrics[name]["ap"], 1)]
        for name in LEARNERS
        if name != "graph"
    ]
    n_read = np.array([_n_read(p) for p in scores["graph"]], float)
    mean = interval(float(n_read.mean()), *intervals(n_read)[0].tolist(), scale=1, decimals=1)
    n_meetings = len(meetings.collection.document_ids)
    return Measurement(
        "Evidence found on QMSum train, five-fold cross-validation by meeting",
        f"{n_meetings} meetings, {len(marks)} questions with marked evidence; {recipe.n_seeds} "
        "seeds averaged; percent; differences are paired, 95% bootstrap intervals over "
        f"questions. Passages with the largest expected F1, at most {ContextSettings().k_max}: "
        f"{mean}.",
        HEADER,
        [*compared_ranks(metrics, "dense"), *gains],
    )


def write(meetings: Meetings, recipe: Recipe, file: Path | None = None) -> str:
    """Train on all meetings, write the weights, and return what they were trained on."""
    models = packaged_models(examples(meetings)[0], recipe)
    n_meetings, n_questions = len(meetings.collection.document_ids), len(meetings.marked)
    data = f"QMSum train, {n_meetings} meetings, {n_questions} questions"
    save_models(models, file or packaged(), data)
    return data


def _n_read(probabilities: np.ndarray) -> int:
    ordered = np.sort(probabilities)[::-1]
    return best_prefix(ordered, np.ones(len(ordered)), ContextSettings().k_max, len(ordered))
