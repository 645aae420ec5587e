"""`/api/ask` and `/api/search`: an answer with its sources, and the passages of a question."""

from functools import partial
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from gsum_assets.answering.answer import Answer
from gsum_assets.answering.ask import find, inputs_of, require_question
from gsum_assets.answering.conversation import Conversation
from gsum_assets.answering.renderings import AnswerObject, answer_object
from gsum_assets.registry.families import METHODS
from gsum_assets.retrieval.follow_up import Turn
from gsum_assets.serve.front_ends import MOST_CHARACTERS
from gsum_assets.serve.http import (
    COMMENT,
    CorpusQuery,
    Endpoint,
    Events,
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
_OF_PASSAGE = ("rank", "score", "node_id", "node_kind", "document_id", "text")
_SPAN = ("start", "end")


class AskBody(BaseModel):
    """Body of `/api/ask`."""

    model_config = ConfigDict(extra="forbid")

    corpus: str | Annotated[list[str], Field(min_length=1, max_length=_MOST_CORPORA)]
    question: str = Field(max_length=MOST_CHARACTERS)
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

    query: str = Field(max_length=MOST_CHARACTERS)
    method: str | None = None
    k: int = Field(default=20, ge=1, le=_MOST_PASSAGES)
    document: str | None = None
    where: str = Field(default="", max_length=10_000)


async def _ask(request: Request, body: AskBody) -> Any:
    """An answer with its sources; with `stream`, events `words`, `restart`, `answer`, `error`."""
    service = service_of(request)
    if body.stream:
        return event_stream(_streamed(service, body, request.app.state.limits.idle_s))
    return await in_thread(_answer, service, body)


def _answer(service: Service, body: AskBody) -> dict[str, Any]:
    return answer_object(answered(service, body))


async def _streamed(service: Service, body: AskBody, idle_s: float) -> Events:
    """Yield the words of an answer as they arrive, then the answer.

    Where an attempt of a model begins again, earlier words are void: event `restart`.
    """
    yield COMMENT
    try:
        async for item in arriving(partial(_answer, service, body), idle_s):
            if isinstance(item, bytes):
                yield item
            elif not isinstance(item, Words):
                yield event(item, "answer")
            elif item.text is None:
                yield event({}, "restart")
            else:
                yield event({"text": item.text}, "words")
    except Exception as error:
        yield event({"error": error_of(error)[1]}, "error")


def answered(service: Service, body: AskBody) -> Answer:
    """Return the answer to the last question of a conversation."""
    method = service.method_of(body.corpora, body.method, body.document)
    workspace = service.snapshot(body.corpora, method)
    turns = list(body.history)
    conversation = Conversation(workspace, body.corpora, explain=body.explain, turns=turns)
    conversation.use_method(method)
    conversation.use_document(body.document or "")
    if body.where:
        conversation.use_where(body.where)
    return conversation.ask(body.question)


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
    rows = found.passages[: body.k]
    ids = [row["node_id"] for row in rows]
    chunks = workspace.rows("chunks", body.corpus).rows_with("chunk_id", ids).to_pylist()
    spans = {chunk["chunk_id"]: {name: chunk[name] for name in _SPAN} for chunk in chunks}
    return [
        {
            **{name: row[name] for name in _OF_PASSAGE},
            "title": found.names.get(row["document_id"] or ""),
            "corpus": body.corpus,
            **spans.get(row["node_id"], dict.fromkeys(_SPAN)),
        }
        for row in rows
    ]


ENDPOINTS = [
    Endpoint("/api/ask", _ask, AskBody, "POST", AnswerObject),
    Endpoint("/api/search", _search, SearchBody, "POST"),
]
