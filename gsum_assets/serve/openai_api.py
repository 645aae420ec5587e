"""`/v1/models` and `/v1/chat/completions`: the protocol of OpenAI, for any chat client.

A model is a corpus, `board`, which chooses its method, or a corpus and a method, `board/evidence`.
Earlier messages are the conversation before, see `Conversation`. Instructions of the client (roles
`system` and `developer`) and settings of its sampling are not used: the corpus has its prompts.
"""

import json
import re
import time
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from textwrap import shorten
from typing import Any, Literal

from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from gsum_assets.answering.answer import Answer
from gsum_assets.answering.methods import chosen_method, methods_ready
from gsum_assets.retrieval.follow_up import Turn
from gsum_assets.serve.ask_api import AskBody, answered, sources_of
from gsum_assets.serve.http import (
    Endpoint,
    Nothing,
    RequestError,
    Words,
    arriving,
    error_of,
    event,
    event_stream,
    in_thread,
)
from gsum_assets.serve.service import Service, service_of

Ask = Callable[[], tuple[Answer, list[dict[str, Any]]]]
"""Returns an answer and its sources."""
_SOURCES = "\n\nSources:\n"
_NUMBERS = re.compile(r" ?\[\d+\??\]| ?\[\?\]")
_TASK = re.compile(r"\s*### Task:\s")
_FORMAT = re.compile(r'\{\s*"(?P<key>\w+)":\s*(?P<begins>[\["])')
_HISTORY = re.compile(r"<chat_history>(.*?)</chat_history>", re.DOTALL)
_FIRST = re.compile(r"^\s*USER: (.*?)(?=^\s*ASSISTANT: |\Z)", re.DOTALL | re.MULTILINE)
_LONGEST = 62  # characters of a title


class Message(BaseModel):
    """A message of a conversation; its content is a text, or parts of which texts are read."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[dict[str, Any]] | None = None

    @property
    def text(self) -> str:
        """The text of the content."""
        if isinstance(self.content, list):
            return "\n".join(str(part["text"]) for part in self.content if "text" in part)
        return self.content or ""


class StreamOptions(BaseModel):
    """Options of a streamed reply."""

    include_usage: bool = False


class ChatBody(BaseModel):
    """Body of `/v1/chat/completions`; other keys of the protocol are ignored."""

    model: str
    messages: list[Message] = Field(min_length=1, max_length=1_000)
    stream: bool = False
    stream_options: StreamOptions | None = None

    def as_question(self, corpus: str, method: str) -> AskBody:
        """Return the last message, which must be a question, after the earlier ones."""
        said = [message for message in self.messages if message.role in ("user", "assistant")]
        if not said or said[-1].role != "user":
            raise RequestError(
                400, "invalid_request", "messages: the last one must be a question of the user"
            )
        history, question = [], ""
        for message in said[:-1]:
            if message.role == "user":
                question = message.text
            elif question:
                history.append(Turn(question, _without_sources(message)))
                question = ""
        return AskBody(corpus=corpus, method=method, question=said[-1].text, history=history[-100:])


def _without_sources(message: Message) -> str:
    """Return an earlier answer as it was before numbers and sources were written into it."""
    return _NUMBERS.sub("", message.text.partition(_SOURCES)[0])


def _models(request: Request, _: Nothing) -> dict[str, Any]:
    """The models of OpenAI's protocol: `corpus` and `corpus/method`."""
    service, names = service_of(request), []
    for corpus in service.corpora(request):
        if methods := methods_ready(service.snapshot(corpus), corpus):
            names += [corpus, *(f"{corpus}/{method}" for method in methods)]
    return {"object": "list", "data": list(map(_as_model, names))}


def _model(request: Request) -> JSONResponse:
    name = request.path_params["name"]
    corpus_and_method(request, name)
    return JSONResponse(_as_model(name))


def _as_model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "gsum"}


def corpus_and_method(request: Request, name: str) -> tuple[str, str]:
    """Return the corpus and the method that the name of a model stands for.

    Without such a model, or if the request may not ask it, `RequestError` is raised.
    """
    service, (corpus, _, method) = service_of(request), name.partition("/")
    service.require(request, corpus)
    workspace = service.snapshot(corpus)
    methods = methods_ready(workspace, corpus)
    chosen = method or chosen_method(workspace, [corpus])
    if chosen not in methods:
        known = ", ".join(methods) or f"none; run `gsum run {corpus}` first"
        raise RequestError(
            404, "model_not_found", f"model '{name:.120}': methods of '{corpus}': {known}"
        )
    return corpus, chosen


def _prepared(request: Request, body: ChatBody) -> Ask:
    """Return what answers a request: by the documents, unless it is about the chat itself."""
    corpus, method = corpus_and_method(request, body.model)
    if (reply := task_reply(body.messages[-1].text, corpus)) is not None:
        return lambda: (Answer(reply, []), [])
    return partial(_answer_with_sources, service_of(request), body.as_question(corpus, method))


async def _complete(request: Request, body: ChatBody) -> Any:
    """An answer in OpenAI's protocol, also streamed."""
    ask = await in_thread(_prepared, request, body)
    reply = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": body.model}
    if body.stream:
        with_usage = bool(body.stream_options and body.stream_options.include_usage)
        return event_stream(_streamed(ask, reply, with_usage))
    answer, sources = await in_thread(ask)
    message = {
        "role": "assistant",
        "content": answer.numbered_text + _listed(answer),
        "refusal": None,
        "citations": sources,
    }
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    whole = {"object": "chat.completion", "choices": [choice], "usage": _usage(answer)}
    return {**reply, **whole, "citations": sources}


def _answer_with_sources(service: Service, asked: AskBody) -> tuple[Answer, list[dict[str, Any]]]:
    workspace, answer = answered(service, asked)
    return answer, sources_of(workspace, answer)


async def _streamed(ask: Ask, reply: dict[str, Any], with_usage: bool) -> AsyncIterator[bytes]:
    """Yield the chunks of a reply."""

    def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return event({**reply, "object": "chat.completion.chunk", "choices": [choice], **more})

    yield chunk({"role": "assistant", "content": ""})
    sources: list[dict[str, Any]] = []

    def answered_with_sources() -> Answer:
        answer, found = ask()
        sources.extend(found)
        return answer

    shown, is_void = "", False
    try:
        async for item in arriving(answered_with_sources):
            if isinstance(item, Words):
                is_void = is_void or (item.text is None and shown != "")
                if item.text and not is_void:
                    shown += item.text
                    yield chunk({"content": item.text})
                continue
            if shown and is_void:  # what was sent cannot be taken back
                yield chunk({"content": "\n\n"})
            if not shown or is_void:
                for line in item.numbered_text.splitlines(keepends=True):
                    yield chunk({"content": line})
            if listed := _listed(item):
                yield chunk({"content": listed})
            yield chunk({}, "stop", citations=sources)
            if with_usage:
                usage = {"choices": [], "usage": _usage(item)}
                yield event({**reply, "object": "chat.completion.chunk", **usage})
    except Exception as error:
        yield event({"error": error_of(error)[1]})
    yield event("[DONE]")


def _listed(answer: Answer) -> str:
    """Return the list of the sources that sentences name, to be read after the text."""
    numbers = sorted({number for sentence in answer.sentences for number in sentence.numbers})
    known: Sequence[Any] = answer.sources
    lines = [f"[{number}] {known[number - 1]}" for number in numbers if number <= len(known)]
    return _SOURCES + "\n".join(lines) if lines else ""


def _usage(answer: Answer) -> dict[str, int]:
    tokens = [int(answer.usage.get(name) or 0) for name in ("tokens_in", "tokens_out")]
    return {
        "prompt_tokens": tokens[0],
        "completion_tokens": tokens[1],
        "total_tokens": sum(tokens),
    }


def task_reply(text: str, corpus: str) -> str | None:
    """Return the JSON that a front end requests about a conversation; None: it is a question.

    A title is the first question, tags are the corpus. Of follow-ups, searches and completions
    there are none.
    """
    history, form = _HISTORY.search(text), _FORMAT.search(text)
    if not _TASK.match(text) or not history or not form:
        return None
    if form["begins"] == "[":
        return json.dumps({form["key"]: [corpus] if form["key"] == "tags" else []})
    return json.dumps({form["key"]: _title(history[1]) if form["key"] == "title" else ""})


def _title(history: str) -> str:
    """Return the first question of a conversation, at most so long."""
    first = _FIRST.search(history)
    return shorten(first[1], _LONGEST, placeholder=" …") if first else ""


ENDPOINTS = [
    Endpoint("/v1/models", _models),
    Endpoint("/v1/chat/completions", _complete, ChatBody, "POST"),
]
ROUTES = [Route("/v1/models/{name:path}", _model)]
