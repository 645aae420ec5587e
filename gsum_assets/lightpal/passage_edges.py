"""Passage graphs: each passage's best candidates (paper, section 4.1, and ours).

Three graphs over the same candidates:

- `context`: the published graph, edges to the candidates with the best context score;
- `embedding`: the paper's ablation (5.4), edges to the most similar candidates;
- `walk`: ours, by the sum of both scores, each standardized over the passage's candidates; the
  weight of an edge is the square of that sum, and `passage_walk` uses it in both directions.

On the 250 questions of ODSum-Story's train stories `passage_walk` had P/R at 10 of 76.2/84.3 with
the graph `walk` and 74.7/82.9 with `context` made symmetric; TF-IDF cosines as a third summand gave
75.5 / 83.3 instead of 75.1 / 82.8, too little to justify another table.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.lightpal.lists import Lists, lists_of
from gsum_assets.retrieval.collection import Collection
from gsum_assets.tables import TABLES
from gsum_resources.arrow import named, repeated, with_dictionaries

_PASSAGES_AT_ONCE = 2**15
_LEAST_WEIGHT = 1e-3  # of an edge to a candidate below the mean


class _Edges(NamedTuple):
    """Edges from passages by their indices, int32, with rank and weight, `(n_edges,)` each."""

    source: np.ndarray
    target: np.ndarray
    rank: np.ndarray
    weight: np.ndarray


_Level = tuple[str, Sequence[str], Mapping[tuple[str, str], list[_Edges]]]
"""A level, the ids of its passages, and blocks of its edges by graph and scope."""


class _Values(NamedTuple):
    """Strength by which candidates are chosen, and edge weight of each, `(n, k)` both."""

    strength: np.ndarray
    weight: np.ndarray


def passage_edges(
    candidates: pa.Table, context_scores: pa.Table, collection: Collection, n_edges: int
) -> pa.Table:
    """Return the rows of `lightpal.passage_edges`: the best `n_edges` candidates of every passage.

    A pair without a score has no edge in the graphs that use scores. In scope 'document' edges lead
    to the best candidates of the same document.

    Raises
    ------
    ValueError
        If candidates or scores do not belong to the collection's passages.
    """
    similar = lists_of(candidates, collection, "similarity")
    return edges_among(similar, lists_of(context_scores, collection, "score"), collection, n_edges)


def edges_among(similar: Lists, scores: Lists, collection: Collection, n_edges: int) -> pa.Table:
    """Return the result of `passage_edges` from lists, so that the tables need not be in memory."""
    owners = np.repeat(np.arange(len(collection.document_ids)), np.diff(collection.starts))
    levels: list[_Level] = []
    for level, ids in (("document", collection.document_ids), ("node", collection.chunk_ids)):
        near, scored = similar[level], scores[level]
        if not np.array_equal(near.indices, scored.indices):
            raise ValueError(
                f"lightpal: the context scores of level '{level}' are not those of the candidates; "
                "materialize lightpal/context_scores again"
            )
        chosen: dict[tuple[str, str], list[_Edges]] = {}
        for first in range(0, len(ids), _PASSAGES_AT_ONCE):
            block = slice(first, first + _PASSAGES_AT_ONCE)
            indices, values_of = near.indices[block], scored.values[block]
            same = owners[indices] == owners[block, None] if level == "node" else None
            for graph, values in _values(near.values[block].astype(np.float64), values_of):
                edges = _best(indices, values, n_edges, first)
                chosen.setdefault((graph, "corpus"), []).append(edges)
                if same is not None:
                    within = values._replace(strength=np.where(same, values.strength, -np.inf))
                    edges = _best(indices, within, n_edges, first)
                    chosen.setdefault((graph, "document"), []).append(edges)
        levels.append((level, ids, chosen))
    return _table(levels)


def _table(levels: Sequence[_Level]) -> pa.Table:
    n_rows = sum(len(e.source) for *_, chosen in levels for all_ in chosen.values() for e in all_)
    schema = with_dictionaries(TABLES["lightpal.passage_edges"].schema, n_rows)
    tables = [schema.empty_table()]
    for level, ids, chosen in levels:
        known = pa.array(ids, pa.string())
        for (graph, scope), blocks in chosen.items():
            edges = _Edges(*(np.concatenate(column) for column in zip(*blocks, strict=True)))
            n = len(edges.source)
            columns = {
                "graph": repeated(graph, n),
                "level": repeated(level, n),
                "scope": repeated(scope, n),
                "source_id": named(known, edges.source, n_rows),
                "target_id": named(known, edges.target, n_rows),
                "rank": edges.rank,
                "weight": edges.weight,
            }
            tables.append(pa.table(columns, schema=schema))
    return pa.concat_tables(tables[1:] or tables)


def _values(similarities: np.ndarray, scores: np.ndarray) -> Iterator[tuple[str, _Values]]:
    """Yield the name of each graph and its values."""
    known = np.where(np.isnan(scores), -np.inf, scores)
    alike = np.ones_like(similarities)
    yield "context", _Values(known, alike)
    yield "embedding", _Values(similarities, alike)
    total = _standardized(similarities) + _standardized(scores)
    strength = np.where(np.isnan(total), -np.inf, total)
    yield "walk", _Values(strength, np.maximum(total, _LEAST_WEIGHT) ** 2)


def _standardized(values: np.ndarray) -> np.ndarray:
    """Return each row standardized, ignoring NaN; 0 where all its values are equal."""
    if not values.shape[1]:
        return values
    known = ~np.isnan(values)
    n = np.maximum(known.sum(1, keepdims=True), 1)
    mean = np.where(known, values, 0).sum(1, keepdims=True) / n
    spread = np.sqrt(np.where(known, (values - mean) ** 2, 0).sum(1, keepdims=True) / n)
    return (values - mean) / np.where(spread > 0, spread, 1)


def _best(indices: np.ndarray, values: _Values, n_edges: int, first: int) -> _Edges:
    """Return the best edges of each passage, ties in the order of similarity.

    Parameters
    ----------
    indices : candidates of the passages `first`, `first` + 1 …, `(n, k)`.
    """
    best = np.argsort(-values.strength, axis=1, kind="stable")[:, :n_edges]
    source, column = np.nonzero(np.isfinite(np.take_along_axis(values.strength, best, 1)))
    chosen = best[source, column]
    return _Edges(
        (first + source).astype(np.int32),
        indices[source, chosen],
        (column + 1).astype(np.int32),
        values.weight[source, chosen],
    )
