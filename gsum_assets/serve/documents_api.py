"""`/api/corpora`, `/api/documents`, `/api/document`, `/api/passage`: what the corpora contain."""

from typing import Any

import pyarrow as pa
from pydantic import Field
from starlette.requests import Request

from gsum_assets.answering.methods import chosen_method, methods_ready
from gsum_assets.answering.workspace import Workspace
from gsum_assets.corpus.document_names import named_rows, shown_name, shown_names
from gsum_assets.corpus.sections import Locations
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.registry.families import METHODS
from gsum_assets.serve.http import CorpusQuery, Endpoint, Nothing, RequestError
from gsum_assets.serve.service import Service, service_of
from gsum_resources.llm.ledger import spent
from gsum_resources.state.locks import locked_by
from gsum_resources.store.arrow import pc

_MOST_FAILED = 20  # files and replies of a corpus that are shown
_OF_CHUNK = ("chunk_id", "document_id", "position", "start", "end", "text")


class _DocumentsQuery(CorpusQuery):
    q: str = Field("", description="words of the title or id")
    offset: int = Field(0, ge=0, le=10**9, description="first one")
    limit: int = Field(100, ge=0, le=1_000, description="how many")


class _DocumentQuery(CorpusQuery):
    id: str = Field(description="id of the document")


class _PassageQuery(CorpusQuery):
    id: str = Field(description="id of the passage")
    around: int = Field(1, ge=0, le=20, description="passages before and after it")


def _documents(request: Request, query: _DocumentsQuery) -> dict[str, Any]:
    """Documents of a corpus by title."""
    workspace = service_of(request).snapshot(query.corpus)
    documents = workspace.rows("documents", query.corpus)
    lengths = documents.columns(["document_id", "n_words"]).to_pylist()
    names, words = shown_names(named_rows(documents)), query.q.casefold().split()
    rows = [{**row, "title": names[row["document_id"]]} for row in lengths]
    rows = [
        r for r in rows if all(w in f"{r['title']}\n{r['document_id']}".casefold() for w in words)
    ]
    rows.sort(key=lambda row: (row["title"], row["document_id"]))
    return {"documents": rows[query.offset :][: query.limit], "total": len(rows)}


def _document(request: Request, query: _DocumentQuery) -> dict[str, Any]:
    """A document with its text, sections and passages."""
    corpus, document_id = query.corpus, query.id
    workspace = service_of(request).snapshot(corpus)
    document = document_in(workspace, corpus, document_id)
    sections = _of_document(workspace, "document_sections", corpus, document_id)
    chunks = _of_document(workspace, "chunks", corpus, document_id)
    names = ("chunk_id", "position", "start", "end")
    return {
        **{name: document[name] for name in ("document_id", "text", "n_words")},
        "title": shown_name(document),
        "metadata": document.get("metadata"),
        "sections": sections.drop_columns(["document_id"]).sort_by("start").to_pylist(),
        "chunks": chunks.select(names).sort_by("position").to_pylist(),
    }


def _passage(request: Request, query: _PassageQuery) -> dict[str, Any]:
    """A passage with those around it."""
    workspace = service_of(request).snapshot(query.corpus)
    return passage_in(workspace, query.corpus, query.id, query.around)


def passage_in(workspace: Workspace, corpus: str, chunk_id: str, around: int) -> dict[str, Any]:
    """Return a passage with at most `around` passages before and after it.

    Without such a passage, `RequestError` with status 404 is raised.
    """
    matches = workspace.rows("chunks", corpus).rows_with("chunk_id", [chunk_id]).to_pylist()
    if not matches:
        raise RequestError(
            404, "unknown_passage", f"corpus '{corpus}' has no passage '{chunk_id:.80}'"
        )
    chunk = matches[0]
    document_id = chunk["document_id"]
    document = document_in(workspace, corpus, document_id)
    chunks = _of_document(workspace, "chunks", corpus, document_id).select(_OF_CHUNK)
    near = chunks.sort_by("position").to_pylist()
    location = Locations(_of_document(workspace, "document_sections", corpus, document_id))
    passages = [
        {**row, "location": location(document_id, row["start"], row["end"])}
        for row in near
        if abs(row["position"] - chunk["position"]) <= around
    ]
    return {
        "chunk_id": chunk_id,
        "document_id": document_id,
        "title": shown_name(document),
        "n_passages": len(near),
        "passages": passages,
    }


def document_in(workspace: Workspace, corpus: str, document_id: str) -> dict[str, Any]:
    """Return a row of `documents`; raise `RequestError` with status 404 if there is none."""
    rows = _of_document(workspace, "documents", corpus, document_id)
    if not rows.num_rows:
        raise RequestError(
            404, "unknown_document", f"corpus '{corpus}' has no document '{document_id:.80}'"
        )
    return rows.slice(0, 1).to_pylist()[0]


def _of_document(workspace: Workspace, table: str, corpus: str, document_id: str) -> pa.Table:
    return workspace.rows(table, corpus).rows_with("document_id", [document_id])


def _corpora(request: Request, _: Nothing) -> dict[str, Any]:
    """The corpora, their methods, and how they are."""
    service = service_of(request)
    states = [corpus_state(service, corpus) for corpus in service.corpora(request)]
    return {"corpora": states, "ui_url": service.home.settings().dagster.ui_url}


def corpus_state(service: Service, corpus: str) -> dict[str, Any]:
    """Return how a corpus is, as plain values.

    Its `state` is "indexing" while a process computes it, "behind" if the tables of a method were
    not all written from the same ones, so that it is answered from earlier ones, "failed" if a
    document could not be read or a model gave no valid reply, else "current".
    """
    state = service.snapshots.state(corpus)
    workspace = service.snapshot(corpus)
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


ENDPOINTS = [
    Endpoint("/api/corpora", _corpora),
    Endpoint("/api/documents", _documents, _DocumentsQuery),
    Endpoint("/api/document", _document, _DocumentQuery),
    Endpoint("/api/passage", _passage, _PassageQuery),
]
