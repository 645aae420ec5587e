"""Passage graphs for random walks, loaded once from their table."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from gsum_assets.graphs.pagerank import WalkGraph
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
        edges = self._by_scope[scope]
        nodes = self._graph(edges, "node", pa.array(collection.chunk_ids, pa.string()))
        if scope == "document":  # a single document has no edges
            return ScopeGraphs(nodes, _graph(len(collection.document_ids), edges.slice(0, 0)))
        documents = pa.array(collection.document_ids, pa.string())
        return ScopeGraphs(nodes, self._graph(edges, "document", documents))

    @cached_property
    def _by_scope(self) -> Mapping[str, pa.Table]:
        """Edges by scope, split once since there may be thousands of documents."""
        scopes = self.edges["scope"]
        return {s: self.edges.filter(pc.equal(scopes, s)) for s in ("corpus", "document")}

    def _graph(self, edges: pa.Table, level: str, ids: pa.Array) -> WalkGraph:
        here = edges.filter(pc.equal(edges["level"], level))
        indexed = pa.table(
            {
                "source": pc.index_in(here["source_id"], ids),
                "target": pc.index_in(here["target_id"], ids),
                "weight": here["weight"],
            }
        )
        known = indexed.filter(
            pc.and_(pc.is_valid(indexed["source"]), pc.is_valid(indexed["target"]))
        )
        if self.both_ways:
            back = known.select(["target", "source", "weight"])
            known = pa.concat_tables([known, back.rename_columns(known.column_names)])
        return _graph(len(ids), known)


def _graph(n_nodes: int, edges: pa.Table) -> WalkGraph:
    if not edges.num_rows:
        empty = np.empty(0, np.int64)
        return WalkGraph(n_nodes, empty, empty, np.empty(0))
    sources, targets = edges["source"].to_numpy(), edges["target"].to_numpy()
    return WalkGraph(
        n_nodes, sources.astype(np.int64), targets.astype(np.int64), edges["weight"].to_numpy()
    )
