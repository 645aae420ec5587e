"""Comparison, without labels, of a method's passages with those of the retriever it starts from.

Held-out passages are searched for as if they were questions. What a method derives from the first
passages of one retriever, and that retriever's next ones, are scored by another retriever.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.ranking import Scores, first_of
from gsum_assets.retrieval.seeds import lexical_and_dense
from gsum_resources.store.content_hash import hash_texts

_SCORES_AT_ONCE = 2**23  # of each retriever: 64 MiB in double precision
_FOUND = 5  # compared passages after the best one
LEAST_PASSAGES = 3 * _FOUND
"""Least number of passages in a scope; of fewer, random choice finds most."""

Method = Callable[[np.ndarray], np.ndarray]
"""Function from scores of first passages to the method's, both `(n_probes, n_passages)`."""


class Evidence(NamedTuple):
    """Mean score of the other retriever for each held-out passage, in standard deviations.

    `method` for the method's passages, `seeds` for the retriever's; both `(n_probes,)`.
    """

    method: np.ndarray
    seeds: np.ndarray


NONE = Evidence(np.empty(0), np.empty(0))


class HeldOut(NamedTuple):
    """Chunks that were searched for as if they were questions.

    Attributes `chunks`, `documents`: positions in the collection, which are excluded from their own
    search; `first`, `second`: scores of the two retrievers.
    """

    chunks: np.ndarray
    documents: np.ndarray
    first: Scores
    second: Scores

    def of_nodes(self, method: Method) -> Evidence:
        """Return the evidence of a method on chunks."""
        return _evidence(self.first.nodes, self.second.nodes, self.chunks, method)

    def of_documents(self, method: Method) -> Evidence:
        """Return the evidence of a method on documents."""
        return _evidence(self.first.documents, self.second.documents, self.documents, method)


def held_out(collection: Collection, language: str, n: int) -> Iterator[HeldOut]:
    """Yield `n` chunks, chosen by hash, with the results of both retrievers, in blocks.

    The collection has embeddings.
    """
    assert collection.embeddings is not None
    chosen = _steady_choice(collection.chunk_ids, n)
    retrievers = lexical_and_dense(collection, language)
    step = max(1, _SCORES_AT_ONCE // max(1, len(collection.chunk_ids)))
    for at in range(0, max(1, len(chosen)), step):
        chunks = np.array(chosen[at : at + step], np.int64)
        questions = Questions(
            ids=[""] * len(chunks),
            texts=[collection.chunk_texts[index] for index in chosen[at : at + step]],
            document_ids=[None] * len(chunks),
            embeddings=collection.embeddings[chunks],
        )
        first, second = (retriever.scores(questions) for retriever in retrievers)
        owners = np.searchsorted(collection.starts, chunks, side="right") - 1
        yield HeldOut(chunks, owners, first, second)


def held_out_within(
    collection: Collection, language: str, n: int
) -> Iterator[tuple[Collection, slice, HeldOut]]:
    """Yield each large enough document, the positions of its chunks, and the results in it.

    About `n` chunks in all are searched for.
    """
    each = math.ceil(n / max(1, len(collection.document_ids)))
    for index in _steady_choice(collection.document_ids, n):
        chunks = slice(int(collection.starts[index]), int(collection.starts[index + 1]))
        if chunks.stop - chunks.start >= LEAST_PASSAGES:
            document = collection.document(index)
            for probes in held_out(document, language, each):
                yield document, chunks, probes


def _steady_choice(ids: Sequence[str], n: int) -> list[int]:
    """Return the positions of `n` ids chosen by their hashes."""
    return sorted(sorted(range(len(ids)), key=lambda i: hash_texts([ids[i]]))[:n])


def _evidence(
    first: np.ndarray, second: np.ndarray, held_out: np.ndarray, method: Method
) -> Evidence:
    """Return the mean evidence of both directions: each retriever is judged by the other."""
    if first.shape[1] < LEAST_PASSAGES:
        return NONE
    rows = np.arange(len(held_out))
    scores = [retrieved.astype(np.float64) for retrieved in (first, second)]
    for retrieved in scores:
        retrieved[rows, held_out] = retrieved.min(axis=1)
    estimates = []
    for retrieved, judge in zip(scores, scores[::-1], strict=True):
        spread = judge.std(axis=1, keepdims=True)
        values = (judge - judge.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1)
        method_scores = method(retrieved)
        method_scores[rows, held_out] = -np.inf
        estimates.append(
            Evidence(_after_best(method_scores, values), _after_best(retrieved, values))
        )
    return Evidence(*(np.mean(values, axis=0) for values in zip(*estimates, strict=True)))


def _after_best(scores: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the mean value of the passages after the best one, `(n_probes,)`."""
    best = np.array([first_of(row, 1 + _FOUND)[1:] for row in scores])
    return np.take_along_axis(values, best, 1).mean(axis=1)


def t_value(evidence: Evidence) -> float:
    """Return the paired t of method and seeds; 0 without evidence, infinite without variance."""
    differences = evidence.method - evidence.seeds
    if len(differences) < 2:
        return 0.0
    error = differences.std(ddof=1) / math.sqrt(len(differences))
    mean = float(differences.mean())
    return mean / error if error else math.copysign(math.inf, mean) if mean else 0.0


def trust(evidence: Evidence) -> float:
    """Return the probability that the method finds no worse than the seeds; 0 without evidence."""
    if len(evidence.method) < 2:
        return 0.0
    return 0.5 * (1 + math.erf(t_value(evidence) / math.sqrt(2)))


def joined(items: Sequence[Evidence]) -> Evidence:
    """Return the evidence of several collections as one."""
    return Evidence(*(np.concatenate(column) for column in zip(NONE, *items, strict=True)))
