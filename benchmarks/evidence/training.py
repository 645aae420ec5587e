"""Weights of `evidence` from QMSum train, and a cross-validation by meeting."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from torch import Tensor

from benchmarks import Measurement
from benchmarks.evidence.encoders import Example, Loss, Recipe, cross_entropy, trained
from benchmarks.evidence.meetings import Meetings
from benchmarks.results import COMPARED, compared, interval
from gsum.statistics import intervals
from gsum_assets.evidence.contexts import Budget, best_prefix
from gsum_assets.evidence.features import OWN
from gsum_assets.evidence.network import Network, edges_of
from gsum_assets.evidence.rank import ALL, DENSE, judge
from gsum_assets.evidence.sentence_index import SentenceIndex
from gsum_assets.evidence.settings import CandidateSettings, ContextSettings
from gsum_assets.retrieval.words import Words

K = 6
N_SEEDS = 5
Judge = Callable[[Example], np.ndarray]
"""Probability of each passage of a question, `(n,)`."""
Learn = Callable[[Sequence[Example]], Judge]
"""Learns from questions to judge others."""


class Learner(NamedTuple):
    """What a network of the packaged weights sees of a passage."""

    names: Sequence[str]
    edges: bool

    def seen(self, example: Example) -> Example:
        """Return the example with the features and edges of this network."""
        edges = example.edges if self.edges else []
        return replace(example, features=example.features[:, : len(self.names)], edges=edges)

    def network(
        self, examples: Sequence[Example], recipe: Recipe, n_seeds: int = N_SEEDS
    ) -> Network:
        """Return the networks, trained on examples with all features and edges."""
        return train([self.seen(example) for example in examples], self.names, recipe, n_seeds)

    def judge(self, examples: Sequence[Example], recipe: Recipe, n_seeds: int = N_SEEDS) -> Judge:
        """Return the probabilities of passages by the trained networks, as a function."""
        network = self.network(examples, recipe, n_seeds)

        def probabilities(example: Example) -> np.ndarray:
            own = self.seen(example)
            return network.probabilities(network.scaled(own.features), own.edges)

        return probabilities


LEARNERS = {"own": Learner(OWN, edges=False), "graph": Learner(ALL, edges=True)}
"""Networks of the packaged weights by name."""


def train(
    examples: Sequence[Example], names: Sequence[str], recipe: Recipe, n_seeds: int = N_SEEDS
) -> Network:
    """Return networks trained from `n_seeds` seeds."""
    rows = np.concatenate([example.features for example in examples])
    untrained = Network(names, rows.mean(axis=0), rows.std(axis=0) + 1e-6, {})
    scaled = [untrained.scaled(example.features) for example in examples]
    loss = with_listwise(_LISTWISE)
    members = [trained(examples, scaled, recipe, seed, loss) for seed in range(n_seeds)]
    weights = {name: np.stack([member[name] for member in members]) for name in members[0]}
    return replace(untrained, weights=weights)


def with_listwise(weight: float) -> Loss:
    """Return binary cross-entropy plus a weighted cross-entropy of each question's softmax.

    The first gives probabilities, which the number of passages depends on. The second compares the
    passages of a question with each other (ListNet; Cao et al., 2007), its marked ones with equal
    shares.
    """

    def loss(logits: Tensor, marks: Tensor, owners: Tensor) -> Tensor:
        shares = marks / summed(marks, owners).clamp(min=1)[owners]
        shifted = logits - logits.max().detach()
        log_sums = summed(shifted.exp(), owners).clamp(min=1e-12).log()
        listwise = (shares * (log_sums[owners] - shifted)).sum() / len(log_sums)
        return cross_entropy(logits, marks, owners) + weight * listwise

    return loss


def summed(values: Tensor, owners: Tensor) -> Tensor:
    """Return the sum of each question's values, `(n_questions,)`."""
    return values.new_zeros(int(owners[-1]) + 1).index_add(0, owners, values)


_LISTWISE = 0.3  # weight in the loss of the packaged weights


def examples(meetings: Meetings) -> list[Example]:
    """Return the questions with all features and edges over the passages of their meetings."""
    questions, n = meetings.questions, CandidateSettings().n
    index = SentenceIndex.of_rows(meetings.sentences)
    found = []
    for judged in judge(meetings.collection, index, questions, meetings.texts, Words(), n):
        query_id = questions.ids[judged.number]
        evidence = meetings.evidence[query_id]
        is_evidence = np.array([chunk_id in evidence for chunk_id in judged.scope.ids])
        meeting = questions.document_ids[judged.number] or query_id
        found.append(Example(meeting, judged.features, edges_of(judged.scope), is_evidence))
    return found


def folds_of(groups: Sequence[str], n_folds: int) -> Mapping[str, int]:
    """Return the fold of each group, dealt in a fixed random order."""
    names = sorted(set(groups))
    order = np.random.default_rng(0).permutation(len(names))
    return {names[i]: position % n_folds for position, i in enumerate(order.tolist())}


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


def measure(meetings: Meetings, recipe: Recipe, n_seeds: int) -> Iterator[Measurement]:
    """Yield evidence found by models that never saw a question's meeting, and by vectors."""
    all_features = examples(meetings)
    scores = {"dense": [example.features[:, DENSE] for example in all_features]}
    for name, learner in LEARNERS.items():
        scores[name] = cross_validated(
            all_features, lambda own, it=learner: it.judge(own, recipe, n_seeds)
        )
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
            f"evidence; {n_seeds} seeds averaged; percent; mean, paired difference from "
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
    budget = Budget(ContextSettings().k_max, len(ordered), 1, 0)
    return best_prefix(ordered, float(ordered.sum()), np.ones(len(ordered)), budget)


def write(meetings: Meetings, recipe: Recipe, n_seeds: int, file: Path) -> str:
    """Train on all meetings, write the weights, and return what they were trained on."""
    all_features = examples(meetings)
    networks = {
        name: learner.network(all_features, recipe, n_seeds) for name, learner in LEARNERS.items()
    }
    n_meetings, n_questions = len(meetings.collection.document_ids), len(all_features)
    data = f"QMSum train, {n_meetings} meetings, {n_questions} questions"
    save_networks(networks, file, data)
    return data


def save_networks(networks: Mapping[str, Network], file: Path, data: str) -> None:
    """Write networks by name to one file, which `load_network` reads."""
    from safetensors.numpy import save_file

    arrays: dict[str, np.ndarray] = {}
    metadata = {"data": data}
    for name, network in networks.items():
        metadata[f"{name}.features"] = json.dumps(list(network.names), ensure_ascii=False)
        of_network = {"mean": network.mean, "deviation": network.deviation, **network.weights}
        for key, values in of_network.items():
            arrays[f"{name}/{key}"] = np.ascontiguousarray(values, np.float32)
    save_file(arrays, file, metadata)
