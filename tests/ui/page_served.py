"""The page of `gsum serve` with a service that answers from given values, on a free port.

The graphs are made by `gsum_assets.serve.graphs`; answers and documents have the shape that the
service gives them.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from gsum_assets.serve.app import PAGE, Protected
from gsum_assets.serve.graphs import Graph, drawn, neighbours, search, way
from tests.serve.conftest import served

SENTENCE = "The drive is electric."
BEFORE = "\U0001f6a2 Minutes \U0001f4c5\n" + "Marit: We talked for long. \n" * 120
TEXT = f"{BEFORE}Dov: {SENTENCE} <img src=x onerror='window.attacked = 1'>\n" + "Teo: Yes.\n" * 80
ATTACK = "<script>window.attacked = 1</script>"
START = len(BEFORE)
CHUNK = TEXT[START : START + 60]
CORPUS = {
    "n_documents": 2,
    "n_chunks": 3,
    "methods": ["bm25", "gor", "passage_walk"],
    "default_method": "bm25",
    "indexed_at": "2026-11-20T10:00:00+00:00",
    "failed": [{"document": "broken.pdf", "message": "is encrypted; save it without a password"}],
    "cost_usd": 1.25,
    "calls": 1200,
}
CORPORA = [
    {"corpus": "minutes", "state": "current", **CORPUS},
    {"corpus": "letters", "state": "failed", **CORPUS},
]


def answer(question: str, method: str) -> dict:
    """Return an answer of two sentences, of which the first one is quoted from a passage."""
    source = {
        "number": 1,
        "corpus": "minutes",
        "document_id": "a",
        "node_id": "3",
        "title": f"Minutes {ATTACK}",
        "location": "passage 2 of 3",
        "text": CHUNK,
        "start": START,
        "end": START + len(CHUNK),
        "marked": [[5, 5 + len(SENTENCE)]],
        "origins": [],
    }
    report = {"number": 2, "corpus": "minutes", "document_id": None, "node_id": "report"}
    report |= {"title": "report over several documents", "location": "", "text": "On boats."}
    first = {"document_id": "a", "text": TEXT[:30], "start": 0, "end": 30, "marked": []}
    second = {"document_id": "a", "text": CHUNK, "start": START, "end": START + 60, "marked": []}
    origins = [first, second] if "report" in question else []
    report |= {"start": None, "end": None, "marked": [], "origins": origins}
    sentences = [
        {"text": f"Dov: {SENTENCE}", "numbers": [1], "unsupported": []},
        {"text": f"It is quiet {ATTACK}.", "numbers": [2], "unsupported": [1]},
    ]
    if origins:
        sentences[1] = {"text": SENTENCE, "numbers": [2], "unsupported": []}
    ids = ["3", "report"] if method == "gor" else ["3", "4"]
    return {
        "corpus": "minutes",
        "question": question,
        "understood": None,
        "method": method or "bm25",
        "model": "extractive",
        "text": " ".join(sentence["text"] for sentence in sentences),
        "is_refusal": False,
        "probability": 0.9,
        "lines": [{"mark": "- ", "sentences": [sentence]} for sentence in sentences],
        "sources": [source, report],
        "passages": [{"node_id": i, "rank": r, "score": 0.5} for r, i in enumerate(ids, 1)],
        "usage": {"tokens_in": 120, "cost_usd": 0.0},
        "explanation": "read: 2 passages",
    }


def generated(n: int, seed: int = 0) -> Graph:
    """Return a graph of `n` nodes in 12 groups, three edges a node, most of them in its group."""
    rng = np.random.default_rng(seed)
    groups = np.sort(rng.integers(0, 12, n))
    sources = np.repeat(np.arange(n), 3)
    targets = (sources + rng.geometric(0.05, 3 * n)) % n
    is_far = rng.random(3 * n) < 0.05
    targets[is_far] = rng.integers(0, n, is_far.sum())
    ends = np.stack([sources, targets], 1)[sources != targets]
    kinds = ["person" if i % 3 else "place" for i in range(n)]
    labels = [f"node {i}" for i in range(n)]
    names = [f"group {g}" for g in range(12)]
    ids = [str(i) for i in range(n)]
    return Graph(ids, labels, kinds, groups, names, ends, np.ones(len(ends)), ["near"] * len(ends))


class Replies:
    """The replies of the service; `requests` are the bodies of the questions."""

    def __init__(self, n_nodes: int) -> None:
        self.graph = generated(n_nodes)
        self.requests: list[dict] = []
        self.token = ""

    def app(self) -> ASGIApp:
        """Return the application."""
        routes = [
            Route("/api/ask", self._ask, methods=["POST"]),
            Route("/api/search", self._search, methods=["POST"]),
            Route("/api/{path:path}", self._get),
            Mount("/", StaticFiles(directory=PAGE, html=True)),
        ]
        return Protected(Starlette(routes=routes))

    async def _ask(self, request: Request) -> Response:
        body = await request.json()
        self.requests.append(body)
        reply = answer(body["question"], body["method"])
        if "stop" in body["question"]:
            error = {"message": "no passage mentions this; ask otherwise", "code": "x"}
            return JSONResponse({"error": error}, 400)
        words = "".join(
            f"event: words\ndata: {json.dumps({'text': word})}\n\n" for word in ("The ", "drive ")
        )
        done = f"event: answer\ndata: {json.dumps(reply)}\n\n"
        return Response(words + done, media_type="text/event-stream")

    async def _search(self, _: Request) -> Response:
        return JSONResponse({"passages": [{"node_id": "0"}]})

    def _get(self, request: Request) -> Response:
        if self.token and request.headers.get("Authorization") != f"Bearer {self.token}":
            return JSONResponse({"error": {"message": "a token is required", "code": "t"}}, 401)
        query, graph = request.query_params, self.graph
        match request.path_params["path"]:
            case "corpora":
                reply = {"corpora": CORPORA, "ui_url": "http://127.0.0.1:3000"}
            case "documents":
                rows = [{"document_id": "a", "title": f"Minutes {ATTACK}", "n_words": 900}]
                reply = {"documents": rows, "total": 1}
            case "document":
                section = {"kind": "heading", "label": "Minutes", "start": 0, "level": 1}
                reply = {"document_id": "a", "title": "Minutes", "text": TEXT, "n_words": 900}
                reply |= {"chunks": [], "sections": [section, {**section, "start": START}]}
            case "graph":
                shared = {"n_nodes": len(graph.ids), "has_documents": True}
                shared |= {"families": ["gor"], "asset": "gor/record_edges"}
                reply = {"graphs": [{"graph": "records", "title": "Records", **shared}]}
            case "graph/nodes":
                reply = drawn(graph, 20_000)
            case "graph/neighbours":
                reply = drawn(neighbours(graph, query["id"], 1, 40), 40)
            case "graph/row":
                row = {"document_id": "a", "text": f"The text {ATTACK}", "start": 3, "end": 9}
                reply = {**self.graph.node(int(query["id"])), "row": row}
            case "graph/search":
                reply = {"nodes": [self.graph.node(i) for i in search(graph, query["q"], 12)]}
            case "why":
                target = graph.index.get(query["to"])
                steps = [] if target is None else way(graph, [0], [target])
                shown = [{**self.graph.node(node), "relation": name} for node, name in steps]
                reply = {"graph": "records", "title": "Records", "steps": shown}
                reply["from_question"] = False
            case other:
                return JSONResponse({"error": {"message": f"no route {other}"}}, 404)
        return JSONResponse(reply)


@contextmanager
def served_page(n_nodes: int) -> Iterator[tuple[str, Replies]]:
    """Serve the page and its replies; gives the address. The server ends with the context."""
    replies = Replies(n_nodes)
    with served(replies.app()) as address:
        yield f"{address}/", replies
