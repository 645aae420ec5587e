"""Passage graphs for random walks, loaded once from their table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from gsum_assets.graphs.pagerank import WalkGraph
from gsum_assets.lightpal.lists import Numbered
from gsum_assets.retrieval.collection import Collection
from gsum_resources.store.arrow import lengths_of, pc, values_of


@dataclass(frozen=True, eq=False)
class ScopeGraphs:
    """The graphs of one scope, with nodes numbered as in its collection.

    Attributes
    ----------
    nodes, documents : graph of the chunks, and graph of the documents.
    """

    nodes: WalkGraph
    documents: WalkGraph


@dataclass(frozen=True, eq=False)
class PassageGraphs:
    """The edges of one graph (`passage_edges.py`), for every scope.

    Attributes
    ----------
    edges : rows of `lightpal.passage_edges` of that graph.
    both_ways : whether walks follow edges in both directions.
    """

    edges: pa.Table
    both_ways: bool

    @classmethod
    def of(cls, edges: pa.Table, graph: str, both_ways: bool = False) -> "PassageGraphs":
        """Return the graph with that name from rows of `lightpal.passage_edges`."""
        return cls(edges.filter(pc.equal(edges["graph"], graph)), both_ways)

    def walked(self, collection: Collection, scope: str) -> ScopeGraphs:
        """Return the graphs of `collection` with the edges of `scope`, 'corpus' or 'document'."""
        if scope == "document":  # a single document has no edges
            empty = np.empty(0, np.int64)
            documents = WalkGraph(len(collection.document_ids), empty, empty, np.empty(0))
            edges = self._within_documents.among(collection.chunk_ids)
            return ScopeGraphs(self._walk_graph(len(collection.chunk_ids), *edges), documents)
        return ScopeGraphs(
            self.whole("node", collection.chunk_ids),
            self.whole("document", collection.document_ids),
        )

    def _of(self, level: str, scope: str) -> pa.Table:
        of_level = pc.equal(self.edges["level"], level)
        return self.edges.filter(pc.and_(of_level, pc.equal(self.edges["scope"], scope)))

    @cached_property
    def _within_documents(self) -> "_EdgesBySource":
        """Edges within documents, grouped once since there may be thousands of documents."""
        return _EdgesBySource.of(self._of("node", "document"))

    def whole(self, level: str, ids: Sequence[str]) -> WalkGraph:
        """Return the graph over a whole corpus, of the edges whose ends are in `ids`."""
        return self._walk_graph(len(ids), *edges_among(self._of(level, "corpus"), ids))

    def _walk_graph(
        self, n_nodes: int, sources: np.ndarray, targets: np.ndarray, weights: np.ndarray
    ) -> WalkGraph:
        sources, targets = sources.astype(np.int64), targets.astype(np.int64)
        if not self.both_ways:
            return WalkGraph(n_nodes, sources, targets, weights)
        ends = np.concatenate([sources, targets]), np.concatenate([targets, sources])
        return WalkGraph(n_nodes, *ends, np.concatenate([weights, weights]))


Edges = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Sources and targets of edges, as indices of passages, and their weights, `(n_edges,)` each."""


def edges_among(rows: pa.Table, ids: Sequence[str] | pa.Array) -> Edges:
    """Return the edges whose two ends are in `ids`, in stored order.

    Parameters
    ----------
    rows : rows of `lightpal.passage_edges` of one graph, level and scope.
    """
    passages = Numbered(ids)
    sources = np.repeat(passages.indices_of(rows["source_id"]), lengths_of(rows["targets"]))
    targets = passages.find(values_of(rows["targets"]))
    is_inside = (sources >= 0) & (targets >= 0)
    return sources[is_inside], targets[is_inside], values_of(rows["weights"])[is_inside]


@dataclass(frozen=True, eq=False)
class _EdgesBySource:
    """Edges by source, so that those of a few passages are found without the others.

    Attributes
    ----------
    row_of : row of each passage that has an edge.
    starts : index of the first edge of each row, and the end, `(n_rows + 1,)`.
    targets, weights : number of the target and weight of each edge, `(n_edges,)`.
    """

    row_of: Mapping[str, int]
    starts: np.ndarray
    targets: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, rows: pa.Table) -> "_EdgesBySource":
        row_of = {name: row for row, name in enumerate(rows["source_id"].to_pylist())}
        starts = np.append(0, np.cumsum(lengths_of(rows["targets"])))
        return cls(row_of, starts, values_of(rows["targets"]), values_of(rows["weights"]))

    def among(self, ids: Sequence[str]) -> Edges:
        """Return the edges whose two ends are in `ids`, in stored order."""
        passages = Numbered(ids)
        rows = sorted((self.row_of[name], i) for i, name in enumerate(ids) if name in self.row_of)
        if not rows:
            return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
        edges = [np.arange(*self.starts[row : row + 2]) for row, _ in rows]
        sources = np.repeat([i for _, i in rows], list(map(len, edges)))
        edges = np.concatenate(edges)
        targets = passages.find(self.targets[edges])
        is_inside = targets >= 0
        return sources[is_inside], targets[is_inside], self.weights[edges[is_inside]]
