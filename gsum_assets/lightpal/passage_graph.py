"""Passage graphs for random walks, loaded once from their table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from gsum_assets.graphs.pagerank import WalkGraph
from gsum_assets.lightpal.lists import indices_of
from gsum_assets.retrieval.collection import Collection
from gsum_resources.arrow import pc


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
            found = self._within_documents.among(collection.chunk_ids)
            return ScopeGraphs(self._walk_graph(len(collection.chunk_ids), *found), documents)
        return ScopeGraphs(
            self._whole("node", collection.chunk_ids),
            self._whole("document", collection.document_ids),
        )

    def _of(self, level: str, scope: str) -> pa.Table:
        of_level = pc.equal(self.edges["level"], level)
        return self.edges.filter(pc.and_(of_level, pc.equal(self.edges["scope"], scope)))

    @cached_property
    def _within_documents(self) -> "_EdgesBySource":
        """Edges within documents, grouped once since there may be thousands of documents."""
        return _EdgesBySource.of(self._of("node", "document"))

    def _whole(self, level: str, ids: Sequence[str]) -> WalkGraph:
        """Return the graph over a whole corpus, of the edges whose ends are in `ids`."""
        rows = self._of(level, "corpus")
        sources, targets = (indices_of(rows[end], ids) for end in ("source_id", "target_id"))
        known = (sources >= 0) & (targets >= 0)
        weights = rows["weight"].to_numpy()
        return self._walk_graph(len(ids), sources[known], targets[known], weights[known])

    def _walk_graph(
        self, n_nodes: int, sources: np.ndarray, targets: np.ndarray, weights: np.ndarray
    ) -> WalkGraph:
        sources, targets = sources.astype(np.int64), targets.astype(np.int64)
        if not self.both_ways:
            return WalkGraph(n_nodes, sources, targets, weights)
        ends = np.concatenate([sources, targets]), np.concatenate([targets, sources])
        return WalkGraph(n_nodes, *ends, np.concatenate([weights, weights]))


@dataclass(frozen=True, eq=False)
class _EdgesBySource:
    """Edges grouped by source, so that those of a few passages are found without the others.

    Attributes
    ----------
    numbers : number of each passage that has an edge.
    order : edges by source, those of one source in stored order, `(n_edges,)`.
    starts : index in `order` of each passage's first edge, and the end, `(n_passages + 1,)`.
    sources, targets, weights : numbers of the ends, and weights, in stored order, `(n_edges,)`.
    """

    numbers: Mapping[str, int]
    order: np.ndarray
    starts: np.ndarray
    sources: np.ndarray
    targets: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, rows: pa.Table) -> "_EdgesBySource":
        ends = pa.chunked_array(
            [*rows["source_id"].chunks, *rows["target_id"].chunks], rows["source_id"].type
        )
        if pa.types.is_dictionary(ends.type):
            ends = ends.unify_dictionaries()
        ids = pc.unique(ends).to_pylist()
        sources, targets = (indices_of(rows[end], ids) for end in ("source_id", "target_id"))
        starts = np.append(0, np.cumsum(np.bincount(sources, minlength=len(ids))))
        order = np.argsort(sources, kind="stable")
        numbers = {passage_id: number for number, passage_id in enumerate(ids)}
        return cls(numbers, order, starts, sources, targets, rows["weight"].to_numpy())

    def among(self, ids: Sequence[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return sources and targets, as indices into `ids`, and weights of the edges in stored
        order whose two ends are in `ids`.
        """
        numbers = np.array([self.numbers.get(passage_id, -1) for passage_id in ids], np.int64)
        positions = np.flatnonzero(numbers >= 0)
        if not len(positions):
            return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
        positions = positions[np.argsort(numbers[positions], kind="stable")]
        known = numbers[positions]  # ascending
        leaving = [self.order[slice(*self.starts[number : number + 2])] for number in known]
        edges = np.sort(np.concatenate(leaving))
        at = np.minimum(np.searchsorted(known, self.targets[edges]), len(known) - 1)
        is_within = known[at] == self.targets[edges]
        edges, targets = edges[is_within], positions[at[is_within]]
        sources = positions[np.searchsorted(known, self.sources[edges])]
        return sources, targets, self.weights[edges]
