"""`/api/graph/…` and `/api/why`: the graphs of a corpus, and ways through them."""

from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from gsum_assets.answering.workspace import Workspace
from gsum_assets.serve.graph_index import (
    GRAPHS,
    KINDS,
    graph_of_method,
    method_of,
    row_of,
    stored_graphs,
    written_from,
)
from gsum_assets.serve.graphs import (
    Graph,
    drawn,
    holding,
    named_in,
    neighbours,
    search,
    way,
)
from gsum_assets.serve.http import RequestError, number_of, text_of
from gsum_assets.serve.service import corpus_of, service_of

_MOST_NODES, _MOST_NEAR, _MOST_FOUND = 20_000, 400, 50
_MOST_SOURCES = 20  # of one way


class _Asked(NamedTuple):
    workspace: Workspace
    corpus: str
    name: str
    graph: Graph

    def node(self, i: int) -> dict[str, Any]:
        """Return a node as plain values."""
        graph = self.graph
        return {
            "id": graph.ids[i],
            "label": graph.labels[i],
            "kind": graph.kinds[i],
            "group": graph.group_labels[graph.groups[i]],
            "degree": int(graph.degrees[i]),
        }


def _asked(request: Request) -> _Asked:
    """Return the graph `graph` of a request, or that of its `method`."""
    corpus = corpus_of(request)
    name = text_of(request, "graph", "")
    method = method_of(name) if name else text_of(request, "method")
    workspace = service_of(request).snapshot(corpus, method)
    name = name or graph_of_method(workspace, corpus, method)
    graph = GRAPHS.get(workspace, corpus, name, text_of(request, "document", ""))
    return _Asked(workspace, corpus, name, graph)


def _listed(request: Request) -> JSONResponse:
    corpus = corpus_of(request)
    workspace = service_of(request).snapshot(corpus)
    return JSONResponse({"graphs": stored_graphs(workspace, corpus)})


def _nodes(request: Request) -> JSONResponse:
    asked = _asked(request)
    return JSONResponse(drawn(asked.graph, number_of(request, "limit", _MOST_NODES, _MOST_NODES)))


def _neighbours(request: Request) -> JSONResponse:
    depth, most = number_of(request, "depth", 1, 5), number_of(request, "limit", 100, _MOST_NEAR)
    asked = _asked(request)
    node_id = _node_id(request, asked)
    return JSONResponse(drawn(neighbours(asked.graph, node_id, depth, most), most))


def _row(request: Request) -> JSONResponse:
    asked = _asked(request)
    node_id = _node_id(request, asked)
    row = row_of(asked.workspace, asked.corpus, asked.name, node_id)
    return JSONResponse({**asked.node(asked.graph.index[node_id]), "row": row})


def _search(request: Request) -> JSONResponse:
    query = text_of(request, "q")
    asked = _asked(request)
    found = search(asked.graph, query, number_of(request, "limit", 20, _MOST_FOUND))
    return JSONResponse({"nodes": [asked.node(i) for i in found]})


def _why(request: Request) -> JSONResponse:
    """A shortest way from what a question names, or from given nodes, to a passage or node.

    `graph` or `method` says through which graph; `from` (repeated) are ids of nodes or passages.
    """
    question, to = text_of(request, "question", ""), text_of(request, "to")
    given = request.query_params.getlist("from")[:_MOST_SOURCES]
    asked = _asked(request)
    graph = asked.graph
    named = named_in(graph, question) if graph.chunks is not None else []
    sources = named or [i for node_id in given for i in holding(graph, node_id)]
    kind, targets = "passage", holding(graph, to)
    if not targets and asked.name == "entities":
        kind, parts = written_from(asked.workspace, asked.corpus, to)
        targets = [graph.index[part] for part in parts if part in graph.index]
    steps = way(graph, sources, targets)
    shown = [{**asked.node(step.node), "relation": step.relation} for step in steps]
    if steps and to not in graph.index:  # a text, not a node
        shown.append({"id": to, "label": "", "kind": kind, "relation": "mentioned in"})
    title = KINDS[asked.name].title
    reply = {"graph": asked.name, "title": title, "from_question": bool(named), "steps": shown}
    return JSONResponse(reply)


def _node_id(request: Request, asked: _Asked) -> str:
    node_id = text_of(request, "id")
    if node_id not in asked.graph.index:
        raise RequestError(404, "unknown_node", f"graph '{asked.name}' has no node '{node_id:.80}'")
    return node_id


ROUTES = [
    Route("/api/graph", _listed),
    Route("/api/graph/nodes", _nodes),
    Route("/api/graph/neighbours", _neighbours),
    Route("/api/graph/row", _row),
    Route("/api/graph/search", _search),
    Route("/api/why", _why),
]
