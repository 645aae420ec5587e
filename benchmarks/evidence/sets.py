"""Sets of passages for questions about everything, chosen together instead of one by one.

Each choice reads as many passages as its control. Relevance to "Summarize the meeting" says little,
so the choices reward what the set as a whole covers: maximal marginal relevance (Carbonell and
Goldstein 1998), facility location, and coverage plus diversity (Lin and Bilmes 2011, section 4).
The last two are submodular, so that a greedy choice is near the best.
"""

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from benchmarks import Measurement
from benchmarks.evidence.found import K, over_groups
from benchmarks.evidence.meetings import Meetings, only
from benchmarks.evidence.validation import DENSE, LONGER, ROUGE, Side, scores_of
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.contexts import full_contexts, top_contexts
from gsum_assets.tables import TABLES
from gsum_resources.arrow import pc
from gsum_resources.llm.extractive import ExtractiveModel

HEADER = ["read", "passages", *(cell for metric in ROUGE for cell in (metric, "less dense"))]
SATURATED = 0.25  # share of a passage's similarity to all that counts
DIVERSITY = 6.0  # weight of diversity (lambda of Lin and Bilmes)

Choice = Callable[[np.ndarray, np.ndarray, int], list[int]]
"""Chooses k passages by their similarity to each other `(n, n)` and to the question `(n,)`."""


def most_similar(_: np.ndarray, relevance: np.ndarray, k: int) -> list[int]:
    """Choose the passages most similar to the question: the control."""
    return np.argsort(-relevance, kind="stable")[:k].tolist()


def evenly_spread(similar: np.ndarray, _: np.ndarray, k: int) -> list[int]:
    """Choose passages at equal distances."""
    n = len(similar)
    return np.unique(np.linspace(0, n - 1, min(k, n)).round().astype(int)).tolist()


def marginal(weight: float) -> Choice:
    """Return maximal marginal relevance; `weight` of the similarity to the question."""

    def choose(similar: np.ndarray, relevance: np.ndarray, k: int) -> list[int]:
        chosen: list[int] = []
        nearest = np.zeros(len(relevance))
        while len(chosen) < min(k, len(relevance)):
            value = weight * relevance - (1 - weight) * nearest
            value[chosen] = -np.inf
            chosen.append(int(value.argmax()))
            nearest = np.maximum(nearest, similar[:, chosen[-1]])
        return chosen

    return choose


def facilities(similar: np.ndarray, _: np.ndarray, k: int) -> list[int]:
    """Choose passages so that every passage has a similar one among them."""
    return greedy(lambda chosen: similar[:, chosen].max(axis=1).sum(), len(similar), k)


def covering(similar: np.ndarray, relevance: np.ndarray, k: int) -> list[int]:
    """Choose passages by coverage plus diversity, whose groups are runs of `k` equal lengths."""
    n = len(similar)
    most = SATURATED * similar.sum(axis=1)
    groups = np.arange(n) * k // n
    shifted = np.maximum(relevance, 0)

    def value(chosen: list[int]) -> float:
        coverage = np.minimum(similar[:, chosen].sum(axis=1), most).sum()
        reward = np.sqrt(np.bincount(groups[chosen], shifted[chosen])).sum()
        return float(coverage + DIVERSITY * reward)

    return greedy(value, n, k)


def greedy(value: Callable[[list[int]], float], n: int, k: int) -> list[int]:
    """Choose k of n passages, each of which adds the most to the value of those chosen."""
    chosen: list[int] = []
    while len(chosen) < min(k, n):
        others = [i for i in range(n) if i not in chosen]
        chosen.append(max(others, key=lambda i: value([*chosen, i])))
    return chosen


CHOICES: Mapping[str, Choice] = {
    DENSE: most_similar,
    "evenly spread": evenly_spread,
    "marginal relevance, 0.7": marginal(0.7),
    "marginal relevance, 0.5": marginal(0.5),
    "facility location": facilities,
    "coverage and diversity": covering,
}


def measure(meetings: Meetings) -> Measurement:
    """Return the answers to general questions by each choice of 6 and of 12 passages."""
    general = meetings.queries.filter(pc.equal(meetings.queries["kind"], "general"))
    chosen = only(meetings, general["query_id"].to_pylist())
    groups = chosen.queries["document_id"].to_pylist()
    model, rows = ExtractiveModel(meetings.embedder), []
    whole = Side(full_contexts(chosen.queries, meetings.chunks, 10**9))
    for k in (K, LONGER):
        sides = {
            f"{name}, {k}": Side(top_contexts(rankings_of(chosen, choose, k), meetings.chunks, k))
            for name, choose in CHOICES.items()
        }
        sides |= {"everything": whole} if k == LONGER else {}
        scores = {name: scores_of(chosen.queries, side, model)[0] for name, side in sides.items()}
        for name, own in scores.items():
            row = [name, f"{sides[name].contexts.num_rows / len(groups):.1f}"]
            for metric in ROUGE:
                less = np.array(own[metric]) - np.array(scores[f"{DENSE}, {k}"][metric])
                is_control = name == f"{DENSE}, {k}"
                row.append(f"{100 * np.mean(own[metric]):.2f}")
                row.append("" if is_control else over_groups(less, groups, 2))
            rows.append(row)
    return Measurement(
        "Answers to general questions by sets of passages",
        f"{len(groups)} questions over one document each; ROUGE F1 in percent of extractive "
        "answers; differences from dense with as many passages are paired, 95% bootstrap "
        "intervals over documents.",
        HEADER,
        rows,
    )


def rankings_of(meetings: Meetings, choose: Choice, k: int) -> pa.Table:
    """Return rows of `rankings` with the passages chosen for each question."""
    questions, collection = meetings.questions, meetings.collection
    rows = []
    for query_id, document_id, vector in zip(
        questions.ids, questions.document_ids, _vectors(questions), strict=True
    ):
        own = collection.document(list(collection.document_ids).index(str(document_id)))
        similar = np.maximum(_vectors(own) @ _vectors(own).T, 0)
        for rank, i in enumerate(choose(similar, _vectors(own) @ vector, k), 1):
            row = {"query_id": query_id, "level": "node", "item_id": own.chunk_ids[i]}
            rows.append(row | {"rank": rank, "score": 1 / rank, "latency_s": 0.0})
    return pa.Table.from_pylist(rows, TABLES["rankings"].schema)


def _vectors(of: Questions | Collection) -> np.ndarray:
    assert of.embeddings is not None
    return of.embeddings
