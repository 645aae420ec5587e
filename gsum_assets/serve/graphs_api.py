"""`/api/graph/…` and `/api/why`: the graphs of a corpus, and ways through them."""

from typing import Any, NamedTuple

from pydantic import Field
from starlette.requests import Request

from gsum_assets.answering.workspace import Workspace
from gsum_assets.serve.graph_index import (
    KINDS,
    graph_of_method,
    method_of,
    read_graph,
    row_of,
    stored_graphs,
    written_from,
)
from gsum_assets.serve.graphs import Graph, drawn, holding, named_in, neighbours, search, way
from gsum_assets.serve.http import CorpusQuery, Endpoint, RequestError
from gsum_assets.serve.service import service_of

_MOST_NODES = 20_000
_MOST_SOURCES = 20  # of one way


class _GraphQuery(CorpusQuery):
    graph: str = Field("", description="a graph of /api/graph")
    method: str = Field("", description="method whose graph it is; without graph")
    document: str = Field("", description="id of the only document")


class _NodesQuery(_GraphQuery):
    limit: int = Field(_MOST_NODES, ge=0, le=_MOST_NODES, description="how many")


class _NodeQuery(_GraphQuery):
    id: str = Field(description="id of the node")


class _NeighboursQuery(_NodeQuery):
    depth: int = Field(1, ge=0, le=5, description="edges from the node")
    limit: int = Field(100, ge=0, le=400, description="how many")


class _SearchQuery(_GraphQuery):
    q: str = Field(description="words of the label")
    limit: int = Field(20, ge=0, le=50, description="how many")


class _WhyQuery(_GraphQuery):
    to: str = Field(description="id of a passage or node")
    question: str = ""


class _Asked(NamedTuple):
    workspace: Workspace
    corpus: str
    name: str
    graph: Graph

    def node_index(self, node_id: str) -> int:
        """Return the index of a node; raise `RequestError` with status 404 if there is none."""
        if node_id not in self.graph.index:
            message = f"graph '{self.name}' has no node '{node_id:.80}'"
            raise RequestError(404, "unknown_node", message)
        return self.graph.index[node_id]


def _asked(request: Request, query: _GraphQuery) -> _Asked:
    """Return the graph of a request."""
    if not (query.graph or query.method):
        raise RequestError(400, "invalid_request", "name a graph or a method")
    method = method_of(query.graph) if query.graph else query.method
    workspace = service_of(request).snapshot(query.corpus, method)
    name = query.graph or graph_of_method(workspace, query.corpus, method)
    graph = read_graph(workspace, query.corpus, name, query.document)
    return _Asked(workspace, query.corpus, name, graph)


def _listed(request: Request, query: CorpusQuery) -> dict[str, Any]:
    """The graphs of a corpus."""
    workspace = service_of(request).snapshot(query.corpus)
    return {"graphs": stored_graphs(workspace, query.corpus)}


def _nodes(request: Request, query: _NodesQuery) -> dict[str, Any]:
    """A graph to be drawn: its nodes with most edges."""
    return drawn(_asked(request, query).graph, query.limit)


def _neighbours(request: Request, query: _NeighboursQuery) -> dict[str, Any]:
    """The graph around a node, to be drawn."""
    asked = _asked(request, query)
    asked.node_index(query.id)
    return drawn(neighbours(asked.graph, query.id, query.depth, query.limit), query.limit)


def _row(request: Request, query: _NodeQuery) -> dict[str, Any]:
    """A node with its row of a table."""
    asked = _asked(request, query)
    node = asked.graph.node(asked.node_index(query.id))
    return {**node, "row": row_of(asked.workspace, asked.corpus, asked.name, query.id)}


def _search(request: Request, query: _SearchQuery) -> dict[str, Any]:
    """The nodes whose label has all words."""
    asked = _asked(request, query)
    return {"nodes": [asked.graph.node(i) for i in search(asked.graph, query.q, query.limit)]}


def _why(request: Request, query: _WhyQuery) -> dict[str, Any]:
    """A shortest way from what a question names, or from given nodes, to a passage or node.

    `from`, which may be repeated, are ids of nodes or passages.
    """
    asked, to = _asked(request, query), query.to
    graph, given = asked.graph, request.query_params.getlist("from")[:_MOST_SOURCES]
    named = named_in(graph, query.question) if graph.chunks is not None else []
    sources = named or [i for node_id in given for i in holding(graph, node_id)]
    kind, targets = "passage", holding(graph, to)
    if not targets and asked.name == "entities":
        kind, parts = written_from(asked.workspace, asked.corpus, to)
        targets = [graph.index[part] for part in parts if part in graph.index]
    steps = way(graph, sources, targets)
    shown = [{**graph.node(node), "relation": relation} for node, relation in steps]
    if steps and to not in graph.index:  # a text, not a node
        shown.append({"id": to, "label": "", "kind": kind, "relation": "mentioned in"})
    title = KINDS[asked.name].title
    return {"graph": asked.name, "title": title, "from_question": bool(named), "steps": shown}


ENDPOINTS = [
    Endpoint("/api/graph", _listed, CorpusQuery),
    Endpoint("/api/graph/nodes", _nodes, _NodesQuery),
    Endpoint("/api/graph/neighbours", _neighbours, _NeighboursQuery),
    Endpoint("/api/graph/row", _row, _NodeQuery),
    Endpoint("/api/graph/search", _search, _SearchQuery),
    Endpoint("/api/why", _why, _WhyQuery),
]
