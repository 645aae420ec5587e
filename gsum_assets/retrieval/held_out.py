"""Is what a method makes of first passages worth more than they are? Judged without labels.

Passages are held out and searched for as if they were questions. One retriever finds first
passages; what a method makes of them, and what the retriever itself finds next, are both valued by
another retriever, which took no part. Where the method joins what belongs together, it finds
passages that the other values no less than the first one's own next best.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from gsum_assets.retrieval.collection import Collection, Questions
from gsum_resources.content_hash import hash_texts

_FOUND = 5  # passages after the best one that are compared
LEAST_PASSAGES = 3 * _FOUND
"""In a scope; of fewer, chance finds most."""

Method = Callable[[np.ndarray], np.ndarray]
"""Scores of first passages in, the method's own out, both `(n_probes, n_passages)`."""


class Evidence(NamedTuple):
    """For each held-out passage the other retriever's mean score, in standard deviations.

    `method` of what the method finds, `seeds` of what the retriever finds; both `(n_probes,)`.
    """

    method: np.ndarray
    seeds: np.ndarray


class Probes(NamedTuple):
    """Held-out chunks as questions.

    Attributes
    ----------
    questions : their texts and vectors.
    chunks, documents : their own places in the collection, which no search may find.
    """

    questions: Questions
    chunks: np.ndarray
    documents: np.ndarray


NONE = Evidence(np.empty(0), np.empty(0))


def probes(collection: Collection, n: int) -> Probes:
    """`n` chunks that stay the same ones when few others come or go."""
    assert collection.embeddings is not None
    chosen = steady_choice(collection.chunk_ids, n)
    texts = [collection.chunk_texts[place] for place in chosen]
    nobody = [""] * len(texts)
    questions = Questions(nobody, texts, [None] * len(texts), collection.embeddings[chosen])
    owners = np.searchsorted(collection.starts, chosen, side="right") - 1
    return Probes(questions, np.array(chosen, np.int64), owners)


def evidence(
    first: np.ndarray, second: np.ndarray, held_out: np.ndarray, method: Method
) -> Evidence:
    """Either retriever's first passages judged by the other; the mean of both.

    Parameters
    ----------
    first, second : scores of two retrievers, `(n_probes, n_passages)`.
    held_out : each probe's own passage.
    """
    if first.shape[1] < LEAST_PASSAGES:
        return NONE
    rows = np.arange(len(held_out))
    scores = [found.astype(np.float64) for found in (first, second)]
    for found in scores:
        found[rows, held_out] = found.min(axis=1)
    ways = []
    for found, judge in zip(scores, scores[::-1], strict=True):
        spread = judge.std(axis=1, keepdims=True)
        values = (judge - judge.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1)
        made = method(found)
        made[rows, held_out] = -np.inf
        ways.append(Evidence(_after_best(made, values), _after_best(found, values)))
    return Evidence(*(np.mean(values, axis=0) for values in zip(*ways, strict=True)))


def t_value(found: Evidence) -> float:
    """Paired t of method over seeds; 0 without evidence, infinite where all differ alike."""
    differences = found.method - found.seeds
    if len(differences) < 2:
        return 0.0
    error = differences.std(ddof=1) / math.sqrt(len(differences))
    mean = float(differences.mean())
    return mean / error if error else math.copysign(math.inf, mean) if mean else 0.0


def trust(found: Evidence) -> float:
    """Probability that the method finds no worse than the seeds; 0 without evidence."""
    if len(found.method) < 2:
        return 0.0
    return 0.5 * (1 + math.erf(t_value(found) / math.sqrt(2)))


def joined(parts: Sequence[Evidence]) -> Evidence:
    """The evidence of several collections as one."""
    return Evidence(*(np.concatenate(column) for column in zip(NONE, *parts, strict=True)))


def steady_choice(ids: Sequence[str], n: int) -> list[int]:
    """Places of `n` ids, by their hashes."""
    return sorted(sorted(range(len(ids)), key=lambda i: hash_texts([ids[i]]))[:n])


def _after_best(scores: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Mean value of the passages that come after the best one, `(n_probes,)`."""
    best = np.argsort(-scores, axis=1, kind="stable")[:, 1 : 1 + _FOUND]
    return np.take_along_axis(values, best, 1).mean(axis=1)
