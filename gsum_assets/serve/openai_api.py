"""`/v1/models` and `/v1/chat/completions`: the protocol of OpenAI, for any chat client.

A model is a corpus, `board`, which chooses its method, or a corpus and a method, `board/evidence`.
Earlier messages are the conversation before, see `Conversation`. Instructions of the client (roles
`system` and `developer`) and settings of its sampling are not used: the corpus has its prompts.
What front ends write around questions is left out, see `front_ends.py`.
"""

import re
import time
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from gsum_assets.answering.answer import Answer
from gsum_assets.answering.methods import chosen_method, is_ready, methods_ready
from gsum_assets.answering.renderings import answer_object
from gsum_assets.registry.families import FAMILIES
from gsum_assets.retrieval.follow_up import Turn
from gsum_assets.serve.ask_api import AskBody, answered
from gsum_assets.serve.front_ends import question_in, task_reply
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

Answered = tuple[Answer, list[dict[str, Any]], str]
"""An answer, its sources, and what stands behind its text."""
Ask = Callable[[], Answered]
_SOURCES = "\n\nSources:\n"
_NUMBERS = re.compile(r" ?\[\d+\??\]| ?\[\?\]")
_SYSTEM = ("system", "developer")
_NAME = re.compile(r"[a-z_]{1,40}")
_UNSET = (None, False, 1, [], {})  # values that ask for nothing, such as n=1
_UNREAD = "\n\n(What came with the question was not read: answers are from the documents alone.)"
_PICTURE = "Pictures and files are not read here: ask about the documents in words."


class Message(BaseModel):
    """A message of a conversation; its content is a text, or parts of which texts are read."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[dict[str, Any]] | None = None

    @property
    def text(self) -> str:
        """The text of the content."""
        if isinstance(self.content, list):
            return "\n".join(str(part["text"]) for part in self.content if part.get("text"))
        return self.content or ""


class ChatBody(BaseModel):
    """Body of `/v1/chat/completions`; what is not used of it is named in a header."""

    model_config = ConfigDict(extra="allow")

    model: str
    messages: list[Message] = Field(min_length=1, max_length=1_000)
    stream: bool | None = False
    stream_options: dict[str, Any] | None = None
    response_format: dict[str, Any] | None = None

    def conversation(self) -> tuple[list[Turn], Message]:
        """Return the questions and answers before the user's last message, and that message.

        What follows it, such as the beginning of an answer, is left out: it is answered anew.
        """
        users = [i for i, message in enumerate(self.messages) if message.role == "user"]
        if not users:
            raise RequestError(400, "invalid_request", "messages: none is a question of the user")
        turns, question = [], ""
        for message in self.messages[: users[-1]]:
            if message.role == "user":
                question = question_in(message.text)
            elif message.role == "assistant" and message.text and question:
                turns.append(Turn(question, _without_sources(message)))
                question = ""
        return turns, self.messages[users[-1]]

    @property
    def warning(self) -> dict[str, str]:
        """The header that names what the client sends and the answer does not follow."""
        given = sorted(k for k, v in (self.model_extra or {}).items() if v not in _UNSET)
        names = ", ".join(filter(_NAME.fullmatch, given))
        return {"Warning": f'299 gsum "not used: {names[:1_000]}"'} if names else {}


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
    chosen = method or chosen_method(workspace, [corpus])
    is_known = any(chosen in family.methods for family in FAMILIES)
    if not is_known or not is_ready(workspace, corpus, chosen):
        ready = methods_ready(workspace, corpus)
        known = ", ".join(ready) or f"none; run `gsum run {corpus}` first"
        raise RequestError(
            404, "model_not_found", f"model '{name:.120}': methods of '{corpus}': {known}"
        )
    return corpus, chosen


def _prepared(request: Request, body: ChatBody) -> Ask:
    """Return what answers a request: by the documents, unless it is about the chat itself."""
    corpus, method = corpus_and_method(request, body.model)
    if (body.response_format or {}).get("type", "text") != "text":
        message = "response_format: answers are texts with sources, not JSON; leave it out"
        raise RequestError(400, "invalid_request", message)
    (turns, last), reply = body.conversation(), None
    if [m.role for m in body.messages if m.role not in _SYSTEM] == ["user"]:
        system = "\n".join(m.text for m in body.messages if m.role in _SYSTEM)
        reply = task_reply(system, last.text, corpus)
    if last.content and not last.text:
        reply = _PICTURE
    if reply is not None:
        return lambda: (Answer(reply, []), [], "")
    asked = AskBody(
        corpus=corpus, method=method, question=question_in(last.text), history=turns[-100:]
    )
    note = _UNREAD if asked.question != last.text.strip() else ""
    return partial(_answer_with_sources, service_of(request), asked, note)


async def _complete(request: Request, body: ChatBody) -> Any:
    """An answer in OpenAI's protocol, also streamed."""
    ask = await in_thread(_prepared, request, body)
    reply = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": body.model}
    if body.stream:
        with_usage = bool((body.stream_options or {}).get("include_usage"))
        events = _streamed(ask, reply, with_usage, request.app.state.limits.idle_s)
        return event_stream(events, body.warning)
    answer, sources, ending = await in_thread(ask)
    message = {
        "role": "assistant",
        "content": answer.numbered_text + ending,
        "refusal": None,
        "citations": sources,
    }
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    whole = {"object": "chat.completion", "choices": [choice], "usage": _usage(answer)}
    return JSONResponse({**reply, **whole, "citations": sources}, headers=body.warning)


def _answer_with_sources(service: Service, asked: AskBody, note: str) -> Answered:
    answer = answered(service, asked)
    return answer, answer_object(answer)["sources"], _listed(answer) + note


async def _streamed(
    ask: Ask, reply: dict[str, Any], with_usage: bool, idle_s: float
) -> AsyncIterator[bytes]:
    """Yield the chunks of a reply."""

    def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return event({**reply, "object": "chat.completion.chunk", "choices": [choice], **more})

    yield chunk({"role": "assistant", "content": ""})
    shown, is_void = "", False
    try:
        async for item in arriving(ask, idle_s):
            if isinstance(item, bytes):
                yield item
                continue
            if isinstance(item, Words):
                is_void = is_void or (item.text is None and shown != "")
                if item.text and not is_void:
                    shown += item.text
                    yield chunk({"content": item.text})
                continue
            answer, sources, ending = item
            if shown and is_void:  # what was sent cannot be taken back
                yield chunk({"content": "\n\n"})
            if not shown or is_void:
                for line in answer.numbered_text.splitlines(keepends=True):
                    yield chunk({"content": line})
            if ending:
                yield chunk({"content": ending})
            yield chunk({}, "stop", citations=sources)
            if with_usage:
                usage = {"choices": [], "usage": _usage(answer)}
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


ENDPOINTS = [
    Endpoint("/v1/models", _models),
    Endpoint("/v1/chat/completions", _complete, ChatBody, "POST"),
]
ROUTES = [Route("/v1/models/{name:path}", _model)]
