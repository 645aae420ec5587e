"""`/api/corpora`: which corpora may be asked, by which methods, and how they are."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from gsum_assets.answering.ask import methods_ready
from gsum_assets.answering.workspace import Workspace
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.methods import DEFAULT_METHOD
from gsum_assets.serve.service import service_of


def _corpora(request: Request) -> JSONResponse:
    service = service_of(request)
    states = []
    for corpus in service.corpora(request):
        with service.snapshot(corpus) as workspace:
            states.append(corpus_state(workspace, corpus))
    return JSONResponse({"corpora": states})


def corpus_state(workspace: Workspace, corpus: str) -> dict[str, Any]:
    """Return how a corpus is, as plain values."""
    counts = workspace.store.counts([TABLES["documents"], TABLES["chunks"]], corpus)
    methods = methods_ready(workspace, corpus)
    return {
        "corpus": corpus,
        "n_documents": counts["documents"],
        "n_chunks": counts["chunks"],
        "methods": methods,
        "default_method": DEFAULT_METHOD if DEFAULT_METHOD in methods else (methods or [None])[0],
        "state": "current",
        "indexed_at": None,
        "failed": [],
        "cost_usd": 0.0,
        "calls": 0,
    }


ROUTES = [Route("/api/corpora", _corpora)]
