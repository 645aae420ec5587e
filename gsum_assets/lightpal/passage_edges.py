"""Passage graphs: each passage's best candidates (paper, section 4.1, and ours).

- `context`: the published graph, edges to the candidates with the best context score;
- `embedding`: the paper's ablation (5.4), edges to the most similar candidates;
- `walk`: ours, by the sum of both scores, each standardized over the passage's candidates,
  similarity multiplied by its correlation with the context scores; an edge weighs that sum squared.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.lightpal.candidates import CandidateLists, Lists
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_resources.engine.threads import in_threads
from gsum_resources.store.arrow import as_lists, repeated, taken

_PASSAGES_AT_ONCE = 2**15
_LEAST_WEIGHT = 1e-3  # of an edge to a candidate below the mean


class _Edges(NamedTuple):
    """Edges by passage and rank: counts `(n,)`, numbers of targets and weights `(n_edges,)`."""

    counts: np.ndarray
    targets: np.ndarray
    weights: np.ndarray


class _Values(NamedTuple):
    """Strength by which candidates are chosen, and edge weight of each, `(n, k)` both."""

    strength: np.ndarray
    weight: np.ndarray


def passage_edges(
    similar: Lists, scores: Mapping[str, np.ndarray], collection: Collection, n_edges: int
) -> pa.Table:
    """Return the rows of `lightpal.passage_edges`: the best `n_edges` candidates of every passage.

    A pair without a score has no edge in the graphs that use scores. In scope 'document' edges lead
    to the best candidates of the same document.

    `similar` are candidates with similarities, `scores` by level `(n, k)`; NaN: none.
    """
    documents = np.arange(len(collection.document_ids), dtype=np.int32)
    owners = np.repeat(documents, np.diff(collection.starts))
    tables = []
    for level, near in similar.items():
        passages = np.arange(len(near.ids))
        starts = range(0, max(1, len(passages)), _PASSAGES_AT_ONCE)
        blocks = in_threads(
            partial(_of_block, near, scores[level], owners if level == "node" else None, n_edges),
            [passages[first : first + _PASSAGES_AT_ONCE] for first in starts],
        )
        ids = pa.array(near.ids, pa.string())
        for graph, scope in blocks[0]:
            edges = (block[graph, scope] for block in blocks)
            counts, targets, weights = map(np.concatenate, zip(*edges, strict=True))
            sources = np.flatnonzero(counts)
            columns = {
                "graph": repeated(graph, len(sources)),
                "level": repeated(level, len(sources)),
                "scope": repeated(scope, len(sources)),
                "source_id": taken(ids, sources),
                "targets": as_lists(pa.array(targets), counts[sources]),
                "weights": as_lists(pa.array(weights), counts[sources]),
            }
            tables.append(pa.table(columns, schema=TABLES["lightpal.passage_edges"].schema))
    return pa.concat_tables([table for table in tables if table.num_rows] or tables[:1])


def _of_block(
    near: CandidateLists,
    scores: np.ndarray,
    owners: np.ndarray | None,
    n_edges: int,
    passages: np.ndarray,
) -> dict[tuple[str, str], _Edges]:
    """Return the edges of some passages, by graph and scope.

    `owners` is the document of each passage, `(n,)`; None: there is no scope 'document'.
    """
    numbers, edges_of = near.numbers[passages], {}
    away = None
    if owners is not None:
        away = owners[near.indices(passages)] != owners[passages, None]
    similarities = near.similarities[passages].astype(np.float64)
    for graph, values in _values(similarities, scores[passages]):
        edges_of[graph, "corpus"] = _best(numbers, values, n_edges)
        if away is not None:
            within = values._replace(strength=np.where(away, -np.inf, values.strength))
            edges_of[graph, "document"] = _best(numbers, within, n_edges)
    return edges_of


def _values(similarities: np.ndarray, scores: np.ndarray) -> Iterator[tuple[str, _Values]]:
    """Yield the name of each graph and its values."""
    alike = np.ones_like(similarities)
    yield "context", _Values(np.where(np.isnan(scores), -np.inf, scores), alike)
    yield "embedding", _Values(similarities, alike)
    near, explained = _standardized(similarities), _standardized(scores)
    n_scored = (~np.isnan(scores)).sum(axis=1, keepdims=True)
    correlation = np.nansum(near * explained, axis=1, keepdims=True) / np.maximum(n_scored, 1)
    total = np.maximum(correlation, 0) * near + explained
    strength = np.where(np.isnan(total), -np.inf, total)
    yield "walk", _Values(strength, np.maximum(total, _LEAST_WEIGHT) ** 2)


def _standardized(values: np.ndarray) -> np.ndarray:
    """Return each row standardized, ignoring NaN; 0 where all its values are equal."""
    if not values.shape[1]:
        return values
    is_known = ~np.isnan(values)
    n = np.maximum(is_known.sum(1, keepdims=True), 1)
    mean = np.where(is_known, values, 0).sum(1, keepdims=True) / n
    spread = np.sqrt(np.where(is_known, (values - mean) ** 2, 0).sum(1, keepdims=True) / n)
    return (values - mean) / np.where(spread > 0, spread, 1)


def _best(numbers: np.ndarray, values: _Values, n_edges: int) -> _Edges:
    """Return the best of the candidates `numbers`, `(n, k)`, ties in the order of similarity."""
    best = np.argsort(-values.strength, axis=1, kind="stable")[:, :n_edges]
    is_edge = np.isfinite(np.take_along_axis(values.strength, best, 1))
    source, column = np.nonzero(is_edge)
    chosen = best[source, column]
    return _Edges(is_edge.sum(axis=1), numbers[source, chosen], values.weight[source, chosen])
