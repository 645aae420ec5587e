"""Alternatives to `evidence` on QMSum train: the evidence that they find, and their answers.

Each meeting is judged by models that never saw it. Choices were made on the first `N_CHOICE`
meetings of the file; the others are the check.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from benchmarks import Measurement
from benchmarks.evidence.chain import chained
from benchmarks.evidence.found import K, hits_of, metrics_of, over_groups
from benchmarks.evidence.late import with_late_interaction
from benchmarks.evidence.learners import (
    boosted_trees,
    messages_alone,
    own_features,
    with_graph,
    with_soft_f1,
)
from benchmarks.evidence.meetings import Meetings, only
from benchmarks.evidence.sides import (
    EVIDENCE,
    HEADER,
    Asked,
    asked,
    by_exponents,
    evidence_of,
    rows_of_answers,
)
from benchmarks.evidence.validation import BUDGET, DENSE, LONGER, WEIGHTED, Side, by_similarity
from gsum_assets.evidence.contexts import adaptive_contexts
from gsum_assets.evidence.losses import cross_entropy, with_listwise
from gsum_assets.evidence.rank import DENSE as COSINE
from gsum_assets.evidence.rank import NAMES
from gsum_assets.evidence.training import Learn, Recipe, cross_validated, learn_network
from gsum_assets.retrieval.contexts import top_contexts
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.ranking import rank_questions
from gsum_resources.lazy import Lazy

N_CHOICE = 60
OWN, GBM = "own features, no messages", "gbm: all features, no messages"
BLEND = "mean of evidence and gbm"
ODDS_OF_EQUAL = 2  # of neighbours in a chain
LATE = "evidence with late interaction"
Scores = Mapping[str, Sequence[np.ndarray]]


def learners(recipe: Recipe) -> dict[str, Learn]:
    """Return the present training and the alternatives to it, each with one change."""
    return {
        EVIDENCE: with_graph(recipe),
        OWN: own_features(recipe),
        "gnn: own features, messages": messages_alone(recipe),
        GBM: boosted_trees(recipe),
        "cross-entropy alone": with_graph(replace(recipe, loss=cross_entropy)),
        "listwise loss with weight 1": with_graph(replace(recipe, loss=with_listwise(1))),
        "soft F1 for listwise loss": with_graph(replace(recipe, loss=with_soft_f1(0.1))),
    }


def probabilities(questions: Sequence[Asked], recipe: Recipe) -> dict[str, list[np.ndarray]]:
    """Return the probabilities of each alternative, for each question."""
    examples = [one.example for one in questions]
    found = {}
    for name, learn in learners(recipe).items():
        found[name] = cross_validated(examples, learn)
        print(f"cross-validated: {name}", file=sys.stderr)
    found[BLEND] = [(a + b) / 2 for a, b in zip(found[EVIDENCE], found[GBM], strict=True)]
    for name in (EVIDENCE, OWN):
        found[f"chain over {name}"] = [chained(own, ODDS_OF_EQUAL) for own in found[name]]
    return found


def run(meetings: Meetings, recipe: Recipe) -> Iterator[Measurement]:
    """Yield the tables of evidence, of late interaction, and of answers."""
    questions = asked(meetings, list(meetings.marked))
    found = probabilities(questions, recipe)
    n = len(questions)
    groups = [one.example.group for one in questions]
    first = sorted(meetings.collection.document_ids)[:N_CHOICE]
    is_choice = np.isin(groups, first)
    yield Measurement(
        "Evidence found by alternatives, QMSum train",
        f"{n} questions, cross-validated by meeting; percent; differences from `{EVIDENCE}` are "
        f"paired, 95% bootstrap intervals over meetings; choices were made on the first {N_CHOICE} "
        "meetings.",
        ("probabilities of", "AP", "less", f"first {N_CHOICE}", "others", f"R@{K}", "less"),
        ranked(questions, found, {"": np.ones(n, bool), "choice": is_choice, "check": ~is_choice}),
    )
    yield late_interaction(meetings, [one for one in questions if one.example.group in first])
    yield Measurement(
        "Answers by alternatives, QMSum train",
        f"{n} questions; ROUGE F1 in percent of extractive answers; differences are paired, 95% "
        "bootstrap intervals over meetings.",
        HEADER,
        answers(meetings, questions, found),
    )


def ranked(
    questions: Sequence[Asked], found: Scores, parts: Mapping[str, np.ndarray]
) -> list[list[str]]:
    """Return AP with its difference on each part of the questions, and recall, of each ranking."""
    marks = [one.example.is_evidence for one in questions]
    groups = np.array([one.example.group for one in questions])
    metrics = {name: metrics_of(hits_of(own, marks)) for name, own in found.items()}

    def less(name: str, metric: str, rows: np.ndarray) -> str:
        differences = np.asarray(metrics[name][metric]) - np.asarray(metrics[EVIDENCE][metric])
        return "" if name == EVIDENCE else over_groups(differences[rows], groups[rows].tolist())

    everything = np.ones(len(questions), bool)
    return [
        [
            name,
            f"{100 * np.mean(own['ap']):.1f}",
            *(less(name, "ap", rows) for rows in parts.values()),
            f"{100 * np.mean(own['r']):.1f}",
            less(name, "r", everything),
        ]
        for name, own in metrics.items()
    ]


def late_interaction(meetings: Meetings, questions: Sequence[Asked]) -> Measurement:
    """Return the evidence that networks find which read token-level similarities, too."""
    recipe = Recipe()
    richer, names = with_late_interaction(meetings, questions)
    columns: dict[str, Callable[[], list[np.ndarray]]] = {
        EVIDENCE: lambda: cross_validated(
            [one.example for one in questions], learn_network(NAMES[True], recipe)
        ),
        LATE: lambda: cross_validated(richer, learn_network([*NAMES[True], *names], recipe)),
        "late interaction alone": lambda: [one.features[:, -len(names)] for one in richer],
        DENSE: lambda: [one.features[:, COSINE] for one in richer],
    }
    found = {name: column() for name, column in columns.items()}
    return Measurement(
        f"Evidence found with late interaction, first {N_CHOICE} meetings of QMSum train",
        f"{len(questions)} questions, cross-validated by meeting among these; percent; differences "
        f"from `{EVIDENCE}` are paired, 95% bootstrap intervals over meetings.",
        ("ranking", "AP", "less", f"R@{K}", "less"),
        ranked(questions, found, {"": np.ones(len(questions), bool)}),
    )


def answers(meetings: Meetings, questions: Sequence[Asked], found: Scores) -> list[list[str]]:
    """Return ROUGE of the answers by each alternative, and by controls without training."""
    query_ids = [one.query_id for one in questions]
    chosen = only(meetings, query_ids)
    dense = rank_questions(Dense, chosen.questions, chosen.collection, depth=10**6)
    longer = top_contexts(dense, meetings.chunks, LONGER)
    sides = {
        DENSE: Side(top_contexts(dense, meetings.chunks, K)),
        f"dense, {LONGER} passages": Side(longer),
        WEIGHTED: Side(by_similarity(longer, dense), True),
    }
    for name, own in found.items():
        evidence = evidence_of(questions, own, dense)
        contexts = adaptive_contexts(chosen.queries, evidence, Lazy.of(meetings.chunks), BUDGET)
        sides[name] = Side(contexts, True)
    sides |= by_exponents(sides[EVIDENCE])
    return rows_of_answers(meetings, query_ids, sides)
