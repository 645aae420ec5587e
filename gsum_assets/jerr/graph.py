"""The acyclic graph (3.3): merged elements are nodes, relations between them edges."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pyarrow as pa

from gsum_assets.corpus.names import holds, name_key
from gsum_assets.jerr.sizes import by_size
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.tables import TABLES

Pair = tuple[str, str]  # node_id of source and target


@dataclass
class _Mentions:
    """The line chunks, and their documents, that mention a node or relate a pair of nodes.

    Attributes
    ----------
    named : for a pair, each line chunk with the names of the relation in its synopsis.
    """

    chunks: set[str] = field(default_factory=set)
    documents: set[str] = field(default_factory=set)
    named: set[tuple[str, str]] = field(default_factory=set)

    def add(self, row: Mapping[str, str]) -> None:
        self.chunks.add(row["chunk_id"])
        self.documents.add(row["document_id"])

    @property
    def columns(self) -> dict[str, Any]:
        return {"chunk_ids": sorted(self.chunks), "document_ids": sorted(self.documents)}

    @property
    def relation(self) -> str:
        """The most frequent name of the relation, ties by alphabet."""
        counts = Counter(name for _, name in self.named)
        return min(counts, key=lambda name: (-counts[name], name))


def graph_of(
    elements: pa.Table,
    facts: pa.Table,
    relations: pa.Table,
    merges: pa.Table,
    line_chunks: pa.Table,
) -> Result:
    """Return the rows of `jerr.nodes`, `jerr.edges` and `jerr.left_out_edges`, for each size.

    Relations of one pair of nodes are one edge. Edges from more synopses are accepted first, so
    that the weakest edge of a cycle is left out, with ties broken by ids. A fact belongs to a node
    if its synopsis has the node as an element and the fact names one of the node's written forms.
    A node leads to all line chunks of the documents that mention it whose text has one of these
    forms, so that edges lead from one line chunk to others (ours).
    The result does not depend on the order of rows or of line chunks in a document.
    """
    rows: dict[str, list[dict]] = {"nodes": [], "edges": [], "left_out_edges": []}
    for size, tables in by_size(elements, facts, relations, merges, line_chunks):
        for name, of_size in zip(rows, _graph(*tables), strict=True):
            rows[name] += [{"max_tokens": size, **row} for row in of_size]
    nodes, *edges = (
        pa.Table.from_pylist(of_table, TABLES[f"jerr.{name}"].schema)
        for name, of_table in rows.items()
    )
    return Result(nodes, beside=dict(zip(["edges", "left_out_edges"], edges, strict=True)))


def _graph(
    elements: pa.Table,
    facts: pa.Table,
    relations: pa.Table,
    merges: pa.Table,
    line_chunks: pa.Table,
) -> tuple[list[dict], list[dict], list[dict]]:
    """Return nodes, edges and left out edges of one size, without it."""
    node_of = _column_by(merges, "element_key", "node_id")
    names = _column_by(merges, "node_id", "merged_into")
    mentions: dict[str, _Mentions] = defaultdict(_Mentions)
    keys_of: dict[str, set[str]] = defaultdict(set)
    keys_within: dict[str, set[str]] = defaultdict(set)
    for row in elements.to_pylist():
        node_id = node_of[row["element_key"]]
        mentions[node_id].add(row)
        keys_of[node_id].add(row["element_key"])
        keys_within[row["document_id"]].add(row["element_key"])
    related: dict[Pair, _Mentions] = defaultdict(_Mentions)
    for row in relations.to_pylist():
        pair = related[node_of[row["source_key"]], node_of[row["target_key"]]]
        pair.add(row)
        pair.named.add((row["chunk_id"], row["relation"]))
    pairs = sorted(related, key=lambda pair: (-len(related[pair].chunks), pair))
    cycles, order = without_cycles(sorted(mentions), pairs)
    positions = {node_id: position for position, node_id in enumerate(order)}
    facts_of = _facts(facts, mentions, keys_of)
    chunks_naming: dict[str, set[str]] = defaultdict(set)
    for row in line_chunks.select(["chunk_id", "document_id", "text"]).to_pylist():
        text_key = name_key(row["text"])
        for key in keys_within[row["document_id"]]:
            if holds(text_key, key):
                chunks_naming[node_of[key]].add(row["chunk_id"])
    nodes = [
        {
            "node_id": node_id,
            "name": names[node_id],
            "place": positions[node_id],
            "n_mentions": len(mentioned.chunks),
            "facts": facts_of[node_id],
            **mentioned.columns,
            "chunk_ids": sorted(mentioned.chunks | chunks_naming[node_id]),
        }
        for node_id, mentioned in sorted(mentions.items())
    ]
    edges, left_out = [], []
    for pair, mentioned in sorted(related.items()):
        row = {
            "source_id": pair[0],
            "target_id": pair[1],
            "relation": mentioned.relation,
            "weight": len(mentioned.chunks),
            **mentioned.columns,
        }
        if pair in cycles:
            cycle = cycles[pair]
            line = names[cycle[0]]  # "Korvin -[imprisoned by]-> Tr'en -[fear]-> Korvin"
            for step in pairwise([*cycle, cycle[0]]):
                line += f" -[{related[step].relation}]-> {names[step[1]]}"
            left_out.append({**row, "cycle_ids": cycle, "cycle": line})
        else:
            edges.append({**row, "relations": sorted({name for _, name in mentioned.named})})
    return nodes, edges, left_out


def without_cycles(
    nodes: Sequence[str], edges: Sequence[Pair]
) -> tuple[dict[Pair, list[str]], list[str]]:
    """Accept each edge in turn unless it would close a cycle with those accepted before.

    Parameters
    ----------
    edges : distinct pairs of source and target, in order of preference.

    Returns
    -------
    Every edge that is left out, with the nodes of a shortest cycle that it would have closed with
    edges accepted before it: its source, its target, and so on; that of a self-loop is its node.
    And all nodes in the lexicographically smallest topological order.
    """
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from(nodes)
    cycles: dict[Pair, list[str]] = {}
    for source, target in edges:
        try:
            path = nx.bidirectional_shortest_path(graph, target, source)
        except nx.NetworkXNoPath:
            graph.add_edge(source, target)
        else:
            cycles[source, target] = [source, *path[:-1]]
    return cycles, list(nx.lexicographical_topological_sort(graph))


def _column_by(rows: pa.Table, key: str, value: str) -> dict[str, str]:
    return dict(zip(rows[key].to_pylist(), rows[value].to_pylist(), strict=True))


def _facts(
    facts: pa.Table, mentions: Mapping[str, _Mentions], keys_of: Mapping[str, set[str]]
) -> dict[str, list[str]]:
    """Return the sorted statements that name each node, from the synopses that have it."""
    statements: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for row in facts.to_pylist():
        statements[row["chunk_id"]].append((row["statement"], name_key(row["statement"])))
    return {
        node_id: sorted(
            {
                statement
                for chunk_id in mentioned.chunks
                for statement, text_key in statements[chunk_id]
                if any(holds(text_key, key) for key in keys_of[node_id])
            }
        )
        for node_id, mentioned in mentions.items()
    }
