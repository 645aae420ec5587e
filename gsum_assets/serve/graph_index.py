"""Which graphs a corpus has, and how they and their rows are read from its tables."""

import json
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.answering.scope import titles_in
from gsum_assets.answering.workspace import Workspace
from gsum_assets.registry.families import FAMILIES, METHODS
from gsum_assets.serve.graphs import GROUPS, Graph
from gsum_assets.serve.http import RequestError
from gsum_resources.store.arrow import lengths_of, pc, values_of
from gsum_resources.store.content_hash import numbers_of

_MOST_PASSAGES = 200_000  # whose graph is made as a whole
_MOST_KEPT = 8  # graphs that stay in memory, with their positions


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


class Graphs:
    """Graphs that were asked for last; a graph is made again when its tables have changed."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, ...], Graph] = OrderedDict()
        self._lock = Lock()

    def get(self, workspace: Workspace, corpus: str, name: str, document: str = "") -> Graph:
        """Return a graph of a corpus.

        Parameters
        ----------
        document : id of the document to which it is restricted; "": all of them.

        Raises
        ------
        RequestError
            If the corpus has no such graph, or it is too large to be made as a whole.
        """
        kind = kind_of(name)
        if document and name not in _BY_DOCUMENT:
            raise RequestError(
                400, "no_documents", f"graph '{name}' is of a whole corpus; leave 'document' out"
            )
        tables = (kind.nodes, kind.edges, "documents", "graphrag.communities")
        versions = [workspace.rows(table, corpus).version() or "" for table in tables]
        key = (str(workspace.home.root), corpus, name, document, *versions)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = _read(workspace, corpus, name, document)
                self._kept[key].positions  # noqa: B018 - once, not by two requests at a time
            self._kept.move_to_end(key)
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
            return self._kept[key]


GRAPHS = Graphs()
"""Those of this process, for the page and for MCP clients."""


def kind_of(name: str) -> Kind:
    """Return a kind of graph by its name; raise `RequestError` if there is none."""
    if name not in KINDS:
        raise RequestError(
            404, "unknown_graph", f"no graph '{name:.40}'; choose one of: {', '.join(KINDS)}"
        )
    return KINDS[name]


def _read(workspace: Workspace, corpus: str, name: str, document: str) -> Graph:
    kind = KINDS[name]

    def rows(table: str, columns: Sequence[str]) -> pa.Table:
        return workspace.rows(table, corpus).columns(columns)

    titles = titles_in(workspace.rows("documents", corpus))
    edges = workspace.rows(kind.edges, corpus)
    if not edges.columns(["source_id"]).num_rows:
        raise RequestError(
            404,
            "no_graph",
            f"corpus '{corpus}' has no graph '{name}' yet; run `gsum run {corpus} --methods "
            f"{kind.families[0]}` first",
        )
    if name == "records":
        columns = ["node_id", "document_id", "kind", "position", "degree", "text"]
        nodes = _of(rows(kind.nodes, columns), document)
        return record_graph(nodes, _of(edges.get(), document))
    if name == "passages":
        return _passages(workspace, corpus, document, titles)
    if name == "entities":
        communities = rows("graphrag.communities", ["level", "title", "entity_ids"])
        return entity_graph(workspace.rows(kind.nodes, corpus).get(), edges.get(), communities)
    size = workspace.section(corpus, "jerr.chunking")["max_tokens"]
    nodes = workspace.rows(kind.nodes, corpus).get()
    return jerr_graph(
        nodes.filter(pc.equal(nodes["max_tokens"], size)),
        edges.get().filter(pc.equal(edges.get()["max_tokens"], size)),
        titles,
    )


def _passages(workspace: Workspace, corpus: str, document: str, titles: Mapping[str, str]) -> Graph:
    """Return the graph that `passage_walk` walks, or that within a document."""
    n_chunks = workspace.rows("chunks", corpus).columns(["document_id"]).num_rows
    if n_chunks > _MOST_PASSAGES and not document:
        raise RequestError(
            400,
            "too_large",
            f"corpus '{corpus}' has {n_chunks:,} passages, and their graph is drawn up to "
            f"{_MOST_PASSAGES:,}; choose a document",
        )
    columns = ["chunk_id", "document_id", "position", "text"]
    chunks = _of(workspace.rows("chunks", corpus).columns(columns), document)
    edges = workspace.rows("lightpal.passage_edges", corpus).get()
    wanted = {"graph": "walk", "level": "node", "scope": "document" if document else "corpus"}
    for column, value in wanted.items():
        edges = edges.filter(pc.equal(edges[column], value))
    chunks = chunks.sort_by([("document_id", "ascending"), ("position", "ascending")])
    return passage_graph(chunks, edges, titles)


def row_of(workspace: Workspace, corpus: str, name: str, node_id: str) -> dict[str, Any]:
    """Return the row of a node in its table without vectors, and its place in a document.

    A passage has `start` and `end`; an entity its communities with the summaries of their reports.

    Parameters
    ----------
    node_id : a node of the graph.
    """
    kind = kind_of(name)
    rows = workspace.rows(kind.nodes, corpus).rows_with(kind.node_id, [node_id])
    row = {k: v for k, v in rows.to_pylist()[0].items() if k not in ("embedding", "corpus")}
    (row,) = json.loads(json.dumps([row], default=str))
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


def _of(rows: pa.Table, document: str) -> pa.Table:
    return rows.filter(pc.equal(rows["document_id"], document)) if document else rows


_LABEL = 90  # characters


def record_graph(nodes: pa.Table, edges: pa.Table) -> Graph:
    """Return the record graph: passages, and responses to simulated questions that used them.

    Parameters
    ----------
    nodes, edges : rows of `gor.record_nodes` and `gor.record_edges`.
    """
    ids, kinds = nodes["node_id"].to_pylist(), nodes["kind"].to_pylist()
    shown = ["passage" if kind == "chunk" else kind for kind in kinds]
    is_used = nodes["degree"].to_numpy() > 0
    groups = np.where(np.array(kinds) == "response", 1, np.where(is_used, 0, 2))
    ends, kept = _ends(ids, edges["source_id"], edges["target_id"])
    weights = 1 / edges["rank"].to_numpy()[kept]
    names = ("passage used by responses", "response", "passage not used")
    labels = _beginnings(nodes["text"])
    return Graph(ids, labels, shown, groups, names, ends, weights, ["used by"] * len(ends))


def passage_graph(chunks: pa.Table, edges: pa.Table, titles: Mapping[str, str]) -> Graph:
    """Return the passage graph: passages, and the passages that each predicts best.

    Parameters
    ----------
    chunks : rows of `chunks` with `chunk_id`, `document_id` and `text`.
    edges : rows of `lightpal.passage_edges` of one graph, level 'node' and one scope.
    titles : of the documents by id.
    """
    ids, documents = chunks["chunk_id"].to_pylist(), chunks["document_id"].to_pylist()
    numbers = numbers_of(chunks["chunk_id"].combine_chunks())
    by_number = np.argsort(numbers, kind="stable")
    targets = values_of(edges["targets"])
    at = np.minimum(np.searchsorted(numbers[by_number], targets), max(0, len(ids) - 1))
    targets_at = by_number[at] if len(ids) else at
    sources = pc.index_in(edges["source_id"], value_set=chunks["chunk_id"].combine_chunks())
    sources = np.repeat(sources.fill_null(-1).to_numpy(), lengths_of(edges["targets"]))
    known = (sources >= 0) & (numbers[targets_at] == targets) if len(ids) else sources > 0
    ends = np.stack([sources, targets_at], 1)[known].astype(np.int64)
    weights = values_of(edges["weights"])[known]
    ends, weights = _undirected(ends, weights)
    groups, names = _largest([titles.get(document, document) for document in documents])
    document_at = np.array(documents, object)
    is_same = document_at[ends[:, 0]] == document_at[ends[:, 1]]
    relations = np.where(is_same, "similar, in one document", "similar, in another document")
    kinds = ["passage"] * len(ids)
    labels = _beginnings(chunks["text"])
    return Graph(ids, labels, kinds, groups, names, ends, weights, relations.tolist())


def entity_graph(entities: pa.Table, relationships: pa.Table, communities: pa.Table) -> Graph:
    """Return the entity graph, coloured by communities of the coarsest level.

    Parameters
    ----------
    entities, relationships, communities : rows of GraphRAG's tables.
    """
    ids = entities["entity_id"].to_pylist()
    community: dict[str, str] = {}
    for row in communities.filter(pc.equal(communities["level"], 0)).to_pylist():
        community |= dict.fromkeys(row["entity_ids"], row["title"])
    groups, names = _largest([community.get(entity, "in no community") for entity in ids])
    ends, kept = _ends(ids, relationships["source_id"], relationships["target_id"])
    relations = _beginnings(relationships["description"].take(pa.array(kept)))
    kinds = [kind or "other" for kind in entities["type"].to_pylist()]
    weights = relationships["weight"].to_numpy()[kept].astype(float)
    chunks = entities["chunk_ids"].to_pylist()
    labels = entities["name"].to_pylist()
    return Graph(ids, labels, kinds, groups, names, ends, weights, relations, chunks)


def jerr_graph(nodes: pa.Table, edges: pa.Table, titles: Mapping[str, str]) -> Graph:
    """Return JERR's graph: elements of synopses, and relations between them.

    Parameters
    ----------
    nodes, edges : rows of `jerr.nodes` and `jerr.edges` of one size of line chunks.
    titles : of the documents by id.
    """
    ids, documents = nodes["node_id"].to_pylist(), nodes["document_ids"].to_pylist()
    ends, kept = _ends(ids, edges["source_id"], edges["target_id"])
    has_source, has_target = (np.bincount(ends[:, i], minlength=len(ids)) for i in (1, 0))
    kinds = np.select(
        [(has_source == 0) & (has_target == 0), has_source == 0, has_target == 0],
        ["unconnected concept", "first concept", "last concept"],
        "concept",
    )
    groups, names = _largest(
        [titles.get(of[0], of[0]) if len(of) == 1 else "in several documents" for of in documents]
    )
    return Graph(
        ids,
        nodes["name"].to_pylist(),
        kinds.tolist(),
        groups,
        names,
        ends,
        edges["weight"].to_numpy()[kept].astype(float),
        edges["relation"].take(pa.array(kept)).to_pylist(),
        nodes["chunk_ids"].to_pylist(),
    )


def _ends(
    ids: Sequence[str], sources: pa.ChunkedArray, targets: pa.ChunkedArray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of edges as indices, int64 `(n, 2)`, and the rows that have both ends."""
    known = pa.array(ids, pa.string())
    found = [
        pc.index_in(end, value_set=known).fill_null(-1).to_numpy() for end in (sources, targets)
    ]
    ends = np.stack(found, 1).astype(np.int64).reshape(-1, 2)
    has_both = (ends >= 0).all(axis=1)
    return ends[has_both], np.flatnonzero(has_both)


def _undirected(ends: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each pair of nodes once, with the sum of the weights of its edges."""
    pairs, pair = np.unique(np.sort(ends, axis=1), axis=0, return_inverse=True)
    return pairs, np.bincount(pair.ravel(), weights, len(pairs))


def _largest(names: Sequence[str]) -> tuple[np.ndarray, Sequence[str]]:
    """Return the group of each node, `(n,)`, and the names of the groups, the largest first.

    More groups than there are colours become one, 'others'.
    """
    counts = Counter(names)
    ordered = sorted(counts, key=lambda name: (-counts[name], name))
    shown = ordered if len(ordered) <= len(GROUPS) else ordered[: len(GROUPS)]
    group = {name: i for i, name in enumerate(shown)}
    labels = shown if len(shown) == len(ordered) else [*shown, "others"]
    return np.array([group.get(name, len(shown)) for name in names], np.int64), labels


def _beginnings(texts: pa.ChunkedArray) -> list[str]:
    """Return the first characters of texts, in one line."""
    begun = pc.utf8_slice_codeunits(texts, 0, _LABEL + 1).to_pylist()
    lines = (" ".join(text.split()) + "…" * (len(text) > _LABEL) for text in begun)
    return [line if len(line) <= _LABEL else f"{line[: _LABEL - 1]}…" for line in lines]
