"""How far a passage graph leads to what belongs together, judged without labels.

Passages are held out and searched for as if they were questions. One retriever finds seeds; what a
walk finds from there, and what the retriever itself finds next, are both valued by the other
retriever, which took no part. Where the graph joins what belongs together, the walk finds passages
that the other values no less than the retriever's own next best. The trust is the probability of
that, by the paired differences over all held-out passages.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.graphs.pagerank import WalkGraph
from gsum_assets.lightpal.passage_graph import PassageGraphs
from gsum_assets.lightpal.passage_walk import walk_from
from gsum_assets.lightpal.seeds import lexical_and_dense
from gsum_assets.lightpal.settings import WalkSettings
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.tables import TABLES
from gsum_resources.content_hash import hash_texts

_FOUND = 5  # passages after the best one that are compared
_LEAST_PASSAGES = 3 * _FOUND  # in a scope; of fewer, chance finds most


class Evidence(NamedTuple):
    """For each held-out passage the other retriever's mean score, in standard deviations.

    `walk` of what the walk finds, `seeds` of what the retriever finds; both `(n_probes,)`.
    """

    walk: np.ndarray
    seeds: np.ndarray


def walk_trust(
    collection: Collection, graphs: PassageGraphs, language: str, settings: WalkSettings
) -> pa.Table:
    """Rows of `lightpal.walk_trust`: of the documents, of all chunks, of a document's chunks."""
    whole = _evidence(collection, graphs, "corpus", language, settings, settings.n_probes)
    within, n = [], math.ceil(settings.n_probes / max(1, len(collection.document_ids)))
    for index in _some(collection.document_ids, settings.n_probes):
        document = collection.document(index)
        if len(document.chunk_ids) >= _LEAST_PASSAGES:
            within.append(_evidence(document, graphs, "document", language, settings, n).nodes)
    rows = [
        _row("document", "corpus", whole.documents),
        _row("node", "corpus", whole.nodes),
        _row("node", "document", _joined(within)),
    ]
    return pa.Table.from_pylist(rows, TABLES["lightpal.walk_trust"].schema)


def trust(evidence: Evidence) -> float:
    """Probability that a walk finds no worse than the seeds; 0 without evidence."""
    differences = evidence.walk - evidence.seeds
    n = len(differences)
    if n < 2:
        return 0.0
    error = differences.std(ddof=1) / math.sqrt(n)
    if not error:
        return float(differences.mean() >= 0)
    return 0.5 * (1 + math.erf(differences.mean() / error / math.sqrt(2)))


class _ByLevel(NamedTuple):
    documents: Evidence
    nodes: Evidence


def _evidence(
    collection: Collection,
    graphs: PassageGraphs,
    scope: str,
    language: str,
    settings: WalkSettings,
    n_probes: int,
) -> _ByLevel:
    """Held-out chunks searched for in a collection, by either retriever."""
    assert collection.embeddings is not None
    chosen = _some(collection.chunk_ids, n_probes)
    texts = [collection.chunk_texts[i] for i in chosen]
    probes = Questions([""] * len(texts), texts, [None] * len(texts), collection.embeddings[chosen])
    first, second = (one.scores(probes) for one in lexical_and_dense(collection, language))
    walked = graphs.walked(collection, scope)
    owners = np.searchsorted(collection.starts, chosen, side="right") - 1
    return _ByLevel(
        _both(walked.documents, first.documents, second.documents, owners, settings),
        _both(walked.nodes, first.nodes, second.nodes, np.array(chosen), settings),
    )


def _both(
    graph: WalkGraph,
    first: np.ndarray,
    second: np.ndarray,
    held_out: np.ndarray,
    settings: WalkSettings,
) -> Evidence:
    """Either retriever judged by the other; `held_out` is each probe's own passage."""
    if graph.n_nodes < _LEAST_PASSAGES:
        return _NONE
    rows = np.arange(len(held_out))
    scores = []
    for found in (first, second):
        found = found.astype(np.float64)
        found[rows, held_out] = found.min(axis=1)
        scores.append(found)
    ways = [
        _judged(graph, found, judge, held_out, settings)
        for found, judge in zip(scores, scores[::-1], strict=True)
    ]
    return Evidence(*(np.mean(values, axis=0) for values in zip(*ways, strict=True)))


def _judged(
    graph: WalkGraph,
    found: np.ndarray,
    judge: np.ndarray,
    held_out: np.ndarray,
    settings: WalkSettings,
) -> Evidence:
    spread = judge.std(axis=1, keepdims=True)
    values = (judge - judge.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1)
    walks = np.array([walk_from(graph, row, settings) for row in found])
    walks[np.arange(len(held_out)), held_out] = -1
    return Evidence(_after_best(walks, values), _after_best(found, values))


def _after_best(scores: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Mean value of the passages that come after the best one, `(n_probes,)`."""
    best = np.argsort(-scores, axis=1, kind="stable")[:, 1 : 1 + _FOUND]
    return np.take_along_axis(values, best, 1).mean(axis=1)


_NONE = Evidence(np.empty(0), np.empty(0))


def _joined(parts: Sequence[Evidence]) -> Evidence:
    return Evidence(*(np.concatenate(column) for column in zip(_NONE, *parts, strict=True)))


def _some(ids: Sequence[str], n: int) -> list[int]:
    """Places of `n` ids that stay the same ones when few others come or go."""
    return sorted(sorted(range(len(ids)), key=lambda i: hash_texts([ids[i]]))[:n])


def _row(level: str, scope: str, evidence: Evidence) -> dict:
    n = len(evidence.walk)
    return {
        "level": level,
        "scope": scope,
        "n_probes": n,
        "walk_evidence": float(evidence.walk.mean()) if n else 0.0,
        "seed_evidence": float(evidence.seeds.mean()) if n else 0.0,
        "trust": trust(evidence),
    }
