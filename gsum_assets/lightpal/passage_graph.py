"""Passage graphs for random walks, loaded once from their table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from gsum_assets.graphs.pagerank import WalkGraph
from gsum_assets.lightpal.candidates import Numbered
from gsum_assets.retrieval.collection import Collection
from gsum_resources.store.arrow import lengths_of, pc, values_of


@dataclass(frozen=True, eq=False)
class ScopeGraphs:
    """Graph of the chunks and of the documents of one scope, numbered as in its collection."""

    nodes: WalkGraph
    documents: WalkGraph


@dataclass(frozen=True, eq=False)
class PassageGraphs:
    """The edges of one graph (`passage_edges.py`), for every scope.

    Attributes `edges`: rows of `lightpal.passage_edges` of that graph; `both_ways`: whether walks
    follow edges in both directions.
    """

    edges: pa.Table
    both_ways: bool

    @classmethod
    def of(cls, edges: pa.Table, graph: str, both_ways: bool = False) -> "PassageGraphs":
        """Return the graph with that name from rows of `lightpal.passage_edges`."""
        return cls(edges.filter(pc.equal(edges["graph"], graph)), both_ways)

    def walked(self, collection: Collection, scope: str) -> ScopeGraphs:
        """Return the graphs of `collection` with the edges of `scope`, 'corpus' or 'document'."""
        if scope == "corpus":
            nodes = self.whole("node", collection.chunk_ids)
            return ScopeGraphs(nodes, self.whole("document", collection.document_ids))
        rows = self._rows_within_documents
        own = sorted(rows[chunk_id] for chunk_id in collection.chunk_ids if chunk_id in rows)
        edges = self._within_documents.take(pa.array(own, pa.int64()))
        nodes = self._graph(edges, collection.chunk_ids)
        empty = np.empty(0, np.int64)  # a single document has no edges
        documents = WalkGraph(len(collection.document_ids), empty, empty, np.empty(0))
        return ScopeGraphs(nodes, documents)

    def whole(self, level: str, ids: Sequence[str]) -> WalkGraph:
        """Return the graph over a whole corpus, of the edges whose ends are in `ids`."""
        return self._graph(self._of(level, "corpus"), ids)

    def _of(self, level: str, scope: str) -> pa.Table:
        of_level = pc.equal(self.edges["level"], level)
        return self.edges.filter(pc.and_(of_level, pc.equal(self.edges["scope"], scope)))

    @cached_property
    def _within_documents(self) -> pa.Table:
        return self._of("node", "document").combine_chunks()

    @cached_property
    def _rows_within_documents(self) -> Mapping[str, int]:
        """Row of each chunk, since there may be thousands of documents with a graph each."""
        return {name: i for i, name in enumerate(self._within_documents["source_id"].to_pylist())}

    def _graph(self, rows: pa.Table, ids: Sequence[str]) -> WalkGraph:
        """Return the graph of the edges whose two ends are in `ids`, in stored order."""
        passages = Numbered(ids)
        sources = np.repeat(passages.indices_of(rows["source_id"]), lengths_of(rows["targets"]))
        targets = passages.find(values_of(rows["targets"]))
        is_inside = (sources >= 0) & (targets >= 0)
        sources, targets = (ends[is_inside].astype(np.int64) for ends in (sources, targets))
        weights = values_of(rows["weights"])[is_inside]
        if not self.both_ways:
            return WalkGraph(len(passages.ids), sources, targets, weights)
        ends = np.concatenate([sources, targets]), np.concatenate([targets, sources])
        return WalkGraph(len(passages.ids), *ends, np.concatenate([weights, weights]))
