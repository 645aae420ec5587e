"""Passage graphs: each passage's best candidates (paper, section 4.1, and ours).

Three graphs over the same candidates:

- `context`: the published graph, edges to the candidates with the best context score;
- `embedding`: the paper's ablation (5.4), edges to the most similar candidates;
- `walk`: ours, by the sum of both scores, each standardized over the passage's candidates,
  similarity multiplied by its correlation with the context scores; the weight of an edge is the
  square of that sum, and `passage_walk` uses it in both directions.

Vectors that do not separate topics agree little with context scores (correlation 0.1 instead of
0.6), so that their edges follow the words. On the 250 questions of ODSum-Story's train stories
`passage_walk` had P/R at 10 of 77.6/86.7 instead of 77.4/86.5 with both scores weighted equally,
and of 67.2/76.1 instead of 61.5/69.4 with vectors projected at random to 16 dimensions; among 200
instead of 100 candidates 78.8/87.8 and 71.9/80.2.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.lightpal.earlier_edges import EarlierEdges, Hashes
from gsum_assets.lightpal.lists import CandidateLists, Lists, lists_of, scores_of_lists
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_resources.engine.threads import in_threads
from gsum_resources.store.arrow import as_lists, repeated, rows_at, taken

_PASSAGES_AT_ONCE = 2**15
_LEAST_WEIGHT = 1e-3  # of an edge to a candidate below the mean


class _Edges(NamedTuple):
    """Edges of some passages, by passage and rank.

    Attributes
    ----------
    counts : number of edges of each passage, `(n,)`.
    targets : numbers of the passages to which they lead, int64 `(n_edges,)`.
    weights : their weights, `(n_edges,)`.
    """

    counts: np.ndarray
    targets: np.ndarray
    weights: np.ndarray


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
    similar = lists_of(candidates, collection, "similarities")
    return edges_among(similar, scores_of_lists(context_scores, similar), collection, n_edges)


def edges_among(
    similar: Lists,
    scores: Mapping[str, np.ndarray],
    collection: Collection,
    n_edges: int,
    earlier: EarlierEdges | None = None,
    hashes: Hashes | None = None,
) -> pa.Table:
    """Return the result of `passage_edges` from lists, so that the tables need not be in memory.

    Parameters
    ----------
    scores : by level, the scores of the candidates, `(n, k)`; NaN: none.
    earlier : edges chosen before, which passages with the same lists keep.
    hashes : hashes of the present lists, for `earlier`.
    """
    documents = np.arange(len(collection.document_ids), dtype=np.int32)
    owners = np.repeat(documents, np.diff(collection.starts))
    tables = [TABLES["lightpal.passage_edges"].empty()]
    for level, near in similar.items():
        is_same = np.zeros(len(near.ids), bool)
        if earlier and hashes:
            is_same = earlier.is_same(level, near, hashes[level])
        due = np.flatnonzero(~is_same)
        blocks = in_threads(
            partial(_of_block, near, scores[level], owners if level == "node" else None, n_edges),
            [
                due[first : first + _PASSAGES_AT_ONCE]
                for first in range(0, len(due), _PASSAGES_AT_ONCE)
            ]
            or [due],
        )
        ids = pa.array(near.ids, pa.string())
        for graph, scope in blocks[0] if len(near.ids) else ():
            sourced = _rows(
                graph, scope, level, ids, due, [block[graph, scope] for block in blocks]
            )
            if earlier:
                sourced = _with_kept(sourced, *earlier.of((graph, level, scope), near), is_same)
            tables.append(sourced.rows)
    return pa.concat_tables([table for table in tables if table.num_rows] or tables[:1])


class _Sourced(NamedTuple):
    """Rows of edges with the index of each one's source."""

    rows: pa.Table
    sources: np.ndarray


def _with_kept(new: _Sourced, rows: pa.Table, sources: np.ndarray, is_same: np.ndarray) -> _Sourced:
    """Return new rows and earlier ones of passages that have the same lists, by source."""
    unchanged = np.flatnonzero((sources >= 0) & is_same[sources])
    names = new.rows.column_names
    joined = [rows_at(rows.select(names), unchanged).cast(new.rows.schema), new.rows]
    both = np.concatenate([sources[unchanged], new.sources])
    order = np.argsort(both, kind="stable")
    return _Sourced(rows_at(pa.concat_tables(joined), order), both[order])


def _of_block(
    near: CandidateLists,
    scores: np.ndarray,
    owners: np.ndarray | None,
    n_edges: int,
    passages: np.ndarray,
) -> dict[tuple[str, str], _Edges]:
    """Return the edges of some passages, by graph and scope.

    Parameters
    ----------
    owners : document of each passage, `(n,)`; None: there is no scope 'document'.
    """
    numbers, edges_of = near.numbers[passages], {}
    away = None
    if owners is not None:
        away = owners[near.indices(passages)] != owners[passages, None]
    values_of = near.values[passages].astype(np.float64)
    for graph, values in _values(values_of, scores[passages]):
        edges_of[graph, "corpus"] = _best(numbers, values, n_edges)
        if away is not None:
            strength = np.where(away, -np.inf, values.strength)
            edges_of[graph, "document"] = _best(
                numbers, values._replace(strength=strength), n_edges
            )
    return edges_of


def _rows(
    graph: str,
    scope: str,
    level: str,
    ids: pa.Array,
    passages: np.ndarray,
    blocks: Sequence[_Edges],
) -> _Sourced:
    """Return a row for each of `passages` that has an edge."""
    counts, targets, weights = (np.concatenate(column) for column in zip(*blocks, strict=True))
    has_edge = np.flatnonzero(counts)
    sources = passages[has_edge]
    rows = pa.table(
        {
            "graph": repeated(graph, len(sources)),
            "level": repeated(level, len(sources)),
            "scope": repeated(scope, len(sources)),
            "source_id": taken(ids, sources),
            "targets": as_lists(pa.array(targets), counts[has_edge]),
            "weights": as_lists(pa.array(weights), counts[has_edge]),
        },
        schema=TABLES["lightpal.passage_edges"].schema,
    )
    return _Sourced(rows, sources)


def _values(similarities: np.ndarray, scores: np.ndarray) -> Iterator[tuple[str, _Values]]:
    """Yield the name of each graph and its values."""
    filled = np.where(np.isnan(scores), -np.inf, scores)
    alike = np.ones_like(similarities)
    yield "context", _Values(filled, alike)
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
    """Return the best edges of some passages, ties in the order of similarity.

    Parameters
    ----------
    numbers : numbers of the passages' candidates, `(n, k)`.
    """
    best = _strongest(values.strength, n_edges)
    is_edge = np.isfinite(np.take_along_axis(values.strength, best, 1))
    source, column = np.nonzero(is_edge)
    chosen = best[source, column]
    return _Edges(is_edge.sum(axis=1), numbers[source, chosen], values.weight[source, chosen])


def _strongest(strength: np.ndarray, n: int) -> np.ndarray:
    """Return the columns of the `n` greatest values of each row, ties by column, `(rows, n)`.

    Where fewer are finite, the columns of the others are any.
    """
    if n >= strength.shape[1]:
        return np.argsort(-strength, axis=1, kind="stable")
    chosen = np.sort(np.argpartition(-strength, n - 1, axis=1)[:, :n], axis=1)
    values = np.take_along_axis(strength, chosen, 1)
    least = values.min(axis=1, keepdims=True)
    is_tied = np.isfinite(least[:, 0]) & ((strength >= least).sum(axis=1) > n)
    best = np.take_along_axis(chosen, np.argsort(-values, axis=1, kind="stable"), 1)
    best[is_tied] = np.argsort(-strength[is_tied], axis=1, kind="stable")[:, :n]
    return best
