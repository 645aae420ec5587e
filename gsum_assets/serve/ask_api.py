"""`/api/ask` and `/api/search`: an answer with its sources, and the passages of a question."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from gsum_assets.answering.answer import Answer
from gsum_assets.answering.ask import find, inputs_of, require_question
from gsum_assets.answering.conversation import Conversation
from gsum_assets.answering.workspace import Workspace
from gsum_assets.registry.families import METHODS
from gsum_assets.retrieval.follow_up import Turn
from gsum_assets.serve.http import (
    CorpusQuery,
    Endpoint,
    Words,
    arriving,
    error_of,
    event,
    event_stream,
    in_thread,
)
from gsum_assets.serve.service import Service, service_of

_MOST_PASSAGES = 200
_MOST_CORPORA = 20


class AskBody(BaseModel):
    """Body of `/api/ask`."""

    model_config = ConfigDict(extra="forbid")

    corpus: str | Annotated[list[str], Field(min_length=1, max_length=_MOST_CORPORA)]
    question: str = Field(max_length=20_000)
    method: str | None = None
    document: str | None = None
    where: str = Field(default="", max_length=10_000)
    explain: bool = False
    history: list[Turn] = Field(default=[], max_length=100)
    stream: bool = False

    @property
    def corpora(self) -> list[str]:
        """The corpora that are asked."""
        return [self.corpus] if isinstance(self.corpus, str) else self.corpus


class SearchBody(CorpusQuery):
    """Body of `/api/search`."""

    model_config = ConfigDict(extra="forbid")

    query: str = Field(max_length=20_000)
    method: str | None = None
    k: int = Field(default=20, ge=1, le=_MOST_PASSAGES)
    document: str | None = None
    where: str = Field(default="", max_length=10_000)


async def _ask(request: Request, body: AskBody) -> Any:
    """An answer with its sources; with `stream`, events `words`, `restart`, `answer`, `error`."""
    service = service_of(request)
    if body.stream:
        return event_stream(_streamed(service, body))
    return await in_thread(_answer, service, body)


def _answer(service: Service, body: AskBody) -> dict[str, Any]:
    return answer_object(*answered(service, body))


async def _streamed(service: Service, body: AskBody) -> AsyncIterator[bytes]:
    """Yield the words of an answer as they arrive, then the answer.

    Where an attempt of a model begins again, earlier words are void: event `restart`.
    """
    try:
        async for item in arriving(partial(_answer, service, body)):
            if not isinstance(item, Words):
                yield event(item, "answer")
            elif item.text is None:
                yield event({}, "restart")
            else:
                yield event({"text": item.text}, "words")
    except Exception as error:
        yield event({"error": error_of(error)[1]}, "error")


def answered(service: Service, body: AskBody) -> tuple[Workspace, Answer]:
    """Return the answer to the last question of a conversation, and the tables it is from."""
    method = service.method_of(body.corpora, body.method, body.document)
    workspace = service.snapshot(body.corpora, method)
    turns = list(body.history)
    conversation = Conversation(workspace, body.corpora, explain=body.explain, turns=turns)
    conversation.use_method(method)
    conversation.use_document(body.document or "")
    if body.where:
        conversation.use_where(body.where)
    return workspace, conversation.ask(body.question)


def answer_object(workspace: Workspace, answer: Answer) -> dict[str, Any]:
    """Return an answer as plain values, with the characters of its sources in their documents."""
    return {
        "corpus": answer.corpus,
        "question": answer.question,
        "understood": answer.understood or None,
        "method": answer.method,
        "note": answer.note or None,
        "model": answer.model or None,
        "text": answer.text,
        "is_refusal": answer.is_refusal,
        "probability": answer.probability,
        "lines": [asdict(line) for line in answer.lines],
        "sources": sources_of(workspace, answer),
        "passages": [dict(row) for row in answer.passages],
        "usage": dict(answer.usage),
        "explanation": answer.explanation or None,
    }


def sources_of(workspace: Workspace, answer: Answer) -> list[dict[str, Any]]:
    """Return the sources of an answer, with their characters in their documents."""
    sources, with_origins = [], []
    for number, source in enumerate(answer.sources, 1):
        sources.append({"number": number, **asdict(source)})
        corpus = answer.passage(source).get("corpus", answer.corpus)
        for each in (sources[-1], *sources[-1]["origins"]):
            each["corpus"] = corpus
            with_origins.append(each)
    _add_spans(workspace, with_origins)
    return sources


def _add_spans(workspace: Workspace, sources: Sequence[dict[str, Any]]) -> None:
    """Add `start` and `end` to sources: characters in the document; None: it is no chunk."""
    for source in sources:
        source |= {"start": None, "end": None}
    for corpus in {source["corpus"] for source in sources if source["corpus"]}:
        of_corpus = [source for source in sources if source["corpus"] == corpus]
        ids = [source["node_id"] for source in of_corpus]
        rows = workspace.rows("chunks", corpus).rows_with("chunk_id", ids)
        spans = {row["chunk_id"]: row for row in rows.to_pylist()}
        for source in of_corpus:
            if row := spans.get(source["node_id"]):
                source |= {"start": row["start"], "end": row["end"]}


def _search(request: Request, body: SearchBody) -> dict[str, Any]:
    """The passages of a question, best first."""
    return {"passages": found_passages(service_of(request), body)}


def found_passages(service: Service, body: SearchBody) -> list[dict[str, Any]]:
    """Return the passages of a query, best first."""
    require_question(body.query)
    method = service.method_of(body.corpora, body.method, body.document)
    workspace = service.snapshot(body.corpus, method)
    inputs = inputs_of(workspace, body.corpus, method)
    found = find(METHODS.family_of(method), inputs, body.query, body.document, body.where)
    names = ("rank", "score", "node_id", "node_kind", "document_id", "text")
    passages = []
    for row in found.passages[: body.k]:
        title = found.names.get(row["document_id"] or "")
        passage = {**{name: row[name] for name in names}, "title": title}
        passages.append({**passage, "corpus": body.corpus})
    _add_spans(workspace, passages)
    return passages


ENDPOINTS = [
    Endpoint("/api/ask", _ask, AskBody, "POST"),
    Endpoint("/api/search", _search, SearchBody, "POST"),
]
