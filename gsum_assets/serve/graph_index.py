"""Which graphs a corpus has, and how they and their rows are read from its tables."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from gsum_assets.answering.workspace import Workspace
from gsum_assets.corpus.document_names import named_rows, shown_names
from gsum_assets.registry.families import FAMILIES, METHODS
from gsum_assets.serve.graph_kinds import entity_graph, jerr_graph, passage_graph, record_graph
from gsum_assets.serve.graphs import Graph
from gsum_assets.serve.http import RequestError
from gsum_resources.store.arrow import pc

_MOST_PASSAGES = 200_000  # whose graph is made as a whole


class Kind(NamedTuple):
    """A kind of graph.

    Attributes
    ----------
    nodes, node_id, edges : its tables, and the column of the first one with the nodes' ids.
    families : those whose methods find passages by this graph; the first one makes it.
    """

    title: str
    nodes: str
    node_id: str
    edges: str
    families: Sequence[str]


KINDS: Mapping[str, Kind] = {
    "records": Kind("Records", "gor.record_nodes", "node_id", "gor.record_edges", ["gor"]),
    "passages": Kind(
        "Passages", "chunks", "chunk_id", "lightpal.passage_edges", ["lightpal", "evidence"]
    ),
    "entities": Kind(
        "Entities", "graphrag.entities", "entity_id", "graphrag.relationships", ["graphrag"]
    ),
    "jerr": Kind("Concepts", "jerr.nodes", "node_id", "jerr.edges", ["jerr"]),
}
_BY_DOCUMENT = ("records", "passages")
_OF_CHUNK = ["chunk_id", "document_id", "position", "text"]
_OF_RECORD = ["node_id", "document_id", "kind", "position", "degree", "text"]


def stored_graphs(workspace: Workspace, corpus: str) -> list[dict[str, Any]]:
    """Return the graphs that a corpus has, with their numbers of nodes."""
    graphs = []
    for name, kind in KINDS.items():
        n_edges = workspace.rows(kind.edges, corpus).columns(["source_id"]).num_rows
        if n_edges:
            ids = workspace.rows(kind.nodes, corpus).columns([kind.node_id])
            graphs.append(
                {
                    "graph": name,
                    "title": kind.title,
                    "families": kind.families,
                    "asset": kind.edges.replace(".", "/"),
                    "n_nodes": len(pc.unique(ids[kind.node_id])),
                    "has_documents": name in _BY_DOCUMENT,
                }
            )
    return graphs


def graph_of_method(workspace: Workspace, corpus: str, method: str) -> str:
    """Return the graph by which a method finds passages, else the first of the corpus; "": none."""
    family = METHODS.family_of(method).name
    stored = stored_graphs(workspace, corpus)
    of_method = [graph for graph in stored if family in graph["families"]]
    general = [graph for graph in stored if graph["graph"] == "passages"]
    return next((graph["graph"] for graph in (*of_method, *general, *stored)), "")


def method_of(name: str) -> str:
    """Return a method of the family that makes a graph, by whose state the graph is read."""
    family = kind_of(name).families[0]
    return next(method for f in FAMILIES if f.name == family for method in f.methods)


def kind_of(name: str) -> Kind:
    """Return a kind of graph by its name; raise `RequestError` if there is none."""
    if name not in KINDS:
        raise RequestError(
            404, "unknown_graph", f"no graph '{name:.40}'; choose one of: {', '.join(KINDS)}"
        )
    return KINDS[name]


def read_graph(workspace: Workspace, corpus: str, name: str, document: str = "") -> Graph:
    """Return a graph of a corpus, or of one of its documents; that of a corpus stays in memory.

    Raise `RequestError` if there is no such graph, or it is too large to be made as a whole.
    """
    kind = kind_of(name)
    if document:
        if name not in _BY_DOCUMENT:
            raise RequestError(
                400, "no_documents", f"graph '{name}' is of a whole corpus; leave 'document' out"
            )
        return _read(workspace, corpus, name, document)
    tables = (kind.nodes, kind.edges, "documents", "graphrag.communities")
    versions = tuple(workspace.rows(table, corpus).version() for table in tables)
    read = partial(_read, workspace, corpus, name)
    return workspace.kept.get(("graph", corpus, name), versions, read)


def _read(workspace: Workspace, corpus: str, name: str, document: str = "") -> Graph:
    kind = KINDS[name]

    def rows(table: str, columns: Sequence[str]) -> pa.Table:
        read = workspace.rows(table, corpus).columns(columns)
        return read.filter(pc.equal(read["document_id"], document)) if document else read

    n_edges = workspace.rows(kind.edges, corpus).columns(["source_id"]).num_rows
    if not n_edges:
        raise RequestError(
            404,
            "no_graph",
            f"corpus '{corpus}' has no graph '{name}' yet; run `gsum run {corpus} --methods "
            f"{kind.families[0]}` first",
        )
    if name == "passages":
        return _passages(workspace, corpus, rows("chunks", _OF_CHUNK), bool(document))
    edges = workspace.rows(kind.edges, corpus).get()
    if name == "records":
        return record_graph(rows(kind.nodes, _OF_RECORD), edges)
    nodes = workspace.rows(kind.nodes, corpus).get()
    if name == "entities":
        communities = rows("graphrag.communities", ["level", "title", "entity_ids"])
        return entity_graph(nodes, edges, communities)
    return jerr_graph(nodes, edges, shown_names(named_rows(workspace.rows("documents", corpus))))


def _passages(workspace: Workspace, corpus: str, chunks: pa.Table, in_document: bool) -> Graph:
    """Return the graph that `passage_walk` walks, or that within a document."""
    if chunks.num_rows > _MOST_PASSAGES:
        raise RequestError(
            400,
            "too_large",
            f"corpus '{corpus}' has {chunks.num_rows:,} passages, and their graph is drawn up to "
            f"{_MOST_PASSAGES:,}; choose a document",
        )
    edges = workspace.rows("lightpal.passage_edges", corpus).get()
    wanted = {"graph": "walk", "level": "node", "scope": "document" if in_document else "corpus"}
    for column, value in wanted.items():
        edges = edges.filter(pc.equal(edges[column], value))
    chunks = chunks.sort_by([("document_id", "ascending"), ("position", "ascending")])
    return passage_graph(
        chunks, edges, shown_names(named_rows(workspace.rows("documents", corpus)))
    )


def row_of(workspace: Workspace, corpus: str, name: str, node_id: str) -> dict[str, Any]:
    """Return the row of a node of a graph without vectors, and its place in a document.

    A passage has `start` and `end`; an entity its communities with the summaries of their reports.
    """
    kind = kind_of(name)
    rows = workspace.rows(kind.nodes, corpus).rows_with(kind.node_id, [node_id])
    row = {k: v for k, v in rows.to_pylist()[0].items() if k not in ("embedding", "corpus")}
    row = json.loads(json.dumps(row, default=str))
    if row.get("kind", "chunk") == "chunk" and name in _BY_DOCUMENT:
        chunk = workspace.rows("chunks", corpus).rows_with("chunk_id", [node_id]).to_pylist()
        row |= {"start": chunk[0]["start"], "end": chunk[0]["end"]} if chunk else {}
    if name == "entities":
        row["communities"] = _communities(workspace, corpus, node_id)
    return row


def written_from(workspace: Workspace, corpus: str, item_id: str) -> tuple[str, list[str]]:
    """Return what a text of GraphRAG is, 'relationship' or 'report', and its entities; ("", []).

    Contexts of entities have texts that are no nodes of the entity graph.
    """
    pairs = workspace.rows("graphrag.relationships", corpus)
    for row in pairs.rows_with("relationship_id", [item_id]).to_pylist():
        return "relationship", [row["source_id"], row["target_id"]]
    communities = workspace.rows("graphrag.communities", corpus)
    for row in communities.rows_with("community_id", [item_id]).to_pylist():
        return "report", row["entity_ids"]
    return "", []


def _communities(workspace: Workspace, corpus: str, entity_id: str) -> list[dict[str, Any]]:
    """Return the communities of an entity, the coarsest first, with title and summary."""
    columns = ["community_id", "level", "title", "size", "entity_ids"]
    rows = workspace.rows("graphrag.communities", corpus).columns(columns).to_pylist()
    mine = [row for row in rows if entity_id in row.pop("entity_ids")]
    mine.sort(key=lambda row: row["level"])
    ids = [row["community_id"] for row in mine]
    reports = workspace.rows("graphrag.community_reports", corpus).rows_with("community_id", ids)
    by_id = {row["community_id"]: row for row in reports.to_pylist()}
    for row in mine:
        report = by_id.get(row["community_id"], {})
        row |= {"report": report.get("title"), "summary": report.get("summary")}
    return mine
