"""`/api/corpora`: which corpora may be asked, by which methods, and how they are."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from gsum_assets.answering.methods import chosen_method, methods_ready
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.registry.families import METHODS
from gsum_assets.serve.service import Service, service_of
from gsum_resources.llm.ledger import spent
from gsum_resources.state.locks import locked_by
from gsum_resources.store.arrow import pc

_MOST_FAILED = 20


def _corpora(request: Request) -> JSONResponse:
    service = service_of(request)
    states = [corpus_state(service, corpus) for corpus in service.corpora(request)]
    return JSONResponse({"corpora": states, "ui_url": service.home.settings().dagster.ui_url})


def corpus_state(service: Service, corpus: str) -> dict[str, Any]:
    """Return how a corpus is, as plain values.

    Its `state` is "indexing" while a process computes it, "behind" if the tables of a method were
    not all written from the same ones, so that it is answered from earlier ones, "failed" if a
    document could not be read or a model gave no valid reply, else "current".
    """
    state = service.snapshots.state(corpus)
    with service.snapshot(corpus) as workspace:
        counts = workspace.store.counts([TABLES["documents"], TABLES["chunks"]], corpus)
        methods = methods_ready(workspace, corpus)
        method = chosen_method(workspace, [corpus]) if methods else None
        rejected = workspace.rows("rejected_documents", corpus).get()
    files = [file.provenance for of in state.files.values() for file in of.values()]
    rejected = rejected.filter(pc.invert(rejected["is_other_type"]))
    failed = [
        {"document": row["document_id"] or row["file"], "message": row["reason"]}
        for row in rejected.slice(0, _MOST_FAILED).to_pylist()
    ]
    failed += [
        {"asset": file.asset, "message": f"{file.failed} requests got no valid reply"}
        for file in files
        if file.failed
    ][:_MOST_FAILED]
    cost = spent(service.store, corpus)
    asked = {METHODS.family_of(method).name for method in methods}
    behind = sorted(asked.intersection(state.unsettled))
    is_indexing = bool(locked_by(service.store, corpus))
    condition = "indexing" if is_indexing else "behind" if behind else None
    return {
        "corpus": corpus,
        "n_documents": counts["documents"],
        "n_chunks": counts["chunks"],
        "methods": methods,
        "default_method": method,
        "state": condition or ("failed" if failed else "current"),
        "behind": behind,
        "indexed_at": max((file.time for file in files), default=None),
        "failed": failed,
        "cost_usd": cost.cost_usd,
        "calls": cost.calls,
    }


ROUTES = [Route("/api/corpora", _corpora)]
