"""A language model on any server that supports OpenAI's chat protocol."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import BaseModel

from gsum_resources.endpoint import Answer, Endpoint, EndpointError
from gsum_resources.endpoint.budget import Amount
from gsum_resources.endpoint.connection import OnWords
from gsum_resources.llm.directions import DIRECTIONS_VERSION, json_directions
from gsum_resources.llm.grammar import repeats_itself
from gsum_resources.llm.reasoning import closes_reasoning, without_reasoning
from gsum_resources.llm.replies import StructureError, correction, plain_text, read
from gsum_resources.llm.request_form import Form, LearntForm, Structure, is_rejection
from gsum_resources.llm.tokens import Window, estimated_tokens, most_tokens
from gsum_resources.protocols.models import Completion, CompletionError, OnReply, Reply, Request
from gsum_resources.settings.schema import LlmSettings
from gsum_resources.state.server_facts import ServerFacts

VERSION = "1"  # raise it with every change of the form of requests, so that memos expire

_CUT_OFF = frozenset({"length", "max_tokens", "model_length"})  # reasons of truncated replies
_MORE_ROOM = 4
_MAX_QUOTED = 8000  # characters of an invalid reply that are quoted to the model
_EMPTY = "Your reply was empty. Reply again."
_SWALLOWED = (
    "it is empty, since the server's reasoning parser took the whole reply for reasoning; start "
    "the server without it (vLLM and SGLang: no --reasoning-parser; llama.cpp: --reasoning-format "
    "none) or with the parser of this model"
)
_CUT_OFF_IN_REASONING = (
    "it was cut off within its reasoning; set reasoning_effort lower in gsum.toml, or "
    "max_reply_tokens higher"
)
_CHARS_PER_WORD = 6  # two or three in languages without blanks between words


class _Said(NamedTuple):
    """A reply; `reasoning`: what the server, or its mark, separates from the text."""

    text: str
    finish: str
    refusal: str
    reasoning: str = ""


class _Checked(NamedTuple):
    """A usable reply; for `slips` see `Completion`."""

    text: str
    parsed: BaseModel | None = None
    slips: tuple[str, ...] = ()


class _CutOffError(StructureError):
    """A reply that exceeded its maximum length."""


class _LoopError(StructureError):
    """A reply that repeats itself, and would fill any maximum length."""


class _NotAnsweredError(Exception):
    """A request that the model, or a content filter, refuses to answer."""


@dataclass
class _Spent:
    """Cost of one request, re-asks included; failed attempts are no calls."""

    calls: int = 0
    failed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    last: str = ""


class OpenAICompatibleModel:
    """A `LanguageModel` served over HTTP.

    A reply may have `256 + 4 * max_words` tokens, a structured one `1024 + 8 * max_words`. A
    truncated reply is requested again with four times as many, as a reasoning model may need,
    unless it repeats itself. A free text that is truncated beyond the requested length is accepted.

    Parameters
    ----------
    window : returns the model's context window, which limits the length of replies.
    facts : what earlier runs have learnt of the server.
    on_words : called with the pieces of an answer that is requested alone; None: no streaming.
    """

    def __init__(
        self,
        settings: LlmSettings,
        endpoint: Endpoint,
        window: Callable[[], Window] | None = None,
        facts: ServerFacts | None = None,
        on_words: OnWords | None = None,
    ) -> None:
        self._settings = settings
        self._endpoint = endpoint
        self._find_window = window
        self._window = Window(settings.model, most_tokens)
        self._form = LearntForm(settings, facts)
        self._on_words = on_words
        self._is_alone = False
        self._cut_off: set[type[BaseModel]] = set()  # schemas whose lists were endless
        self._closes_reasoning = False  # whether a reply closed reasoning that it did not open
        self._first: asyncio.Event | None = None  # set after the first structured request

    @property
    def identity(self) -> str:
        """Backend, model, version, and settings of structure, reply length and effort."""
        settings = self._settings
        fields = [f"openai_compatible-{VERSION}", settings.model]
        fields += [f"version={settings.version}"] if settings.version else []
        if settings.structured_output == "prompt":
            fields.append(f"directions={DIRECTIONS_VERSION}")
        if settings.structured_output != "auto":
            fields.append(f"structured={settings.structured_output}")
        fields += [f"reply={settings.max_reply_tokens}"] if settings.max_reply_tokens else []
        fields += [f"effort={settings.reasoning_effort}"] if settings.reasoning_effort else []
        return "/".join(fields)

    @property
    def failure_scope(self) -> str:
        """What a filtered request depends on besides identity and request."""
        return f"filter={self._settings.filter_version}"

    @property
    def structure(self) -> str:
        """How JSON is requested, as far as it is known."""
        return self._form.current.structure

    def probe_again(self) -> None:
        """Find out anew in which form the server supports requests."""
        self._form.forget()

    def complete(self, requests: Sequence[Request], on_reply: OnReply | None = None) -> list[Reply]:
        """Return one completion or error for each request, in order; prompts are never cut."""
        if self._find_window and requests:
            self._window = self._find_window()
        self._is_alone = len(requests) == 1
        return self._endpoint.map(self._reply, requests, on_reply)

    async def _reply(self, request: Request) -> Reply:
        started, spent, model = time.perf_counter(), _Spent(), self._settings.model
        try:
            checked = await self._converse(request, spent)
        except (StructureError, EndpointError, _NotAnsweredError) as problem:
            is_filtered = isinstance(problem, _NotAnsweredError)
            repeats = is_filtered or isinstance(problem, _LoopError)
            error = f"{model}: {request.described}: {problem}"
        else:
            return Completion(model=model, **self._account(started, spent), **checked._asdict())
        is_final = {"repeats": repeats, "is_filtered": is_filtered}
        account = self._account(started, spent)
        return CompletionError(error, model, **account, text=spent.last, **is_final)

    def _account(self, started: float, spent: _Spent) -> dict[str, Any]:
        """Return the cost of a request as fields of `Completion` and `CompletionError`."""
        prices = self._settings.usd_per_million_tokens_in, self._settings.usd_per_million_tokens_out
        return {
            "calls": spent.calls,
            "retries": spent.failed,
            "tokens_in": spent.tokens_in,
            "tokens_out": spent.tokens_out,
            "latency_s": time.perf_counter() - started,
            "cost_usd": (spent.tokens_in * prices[0] + spent.tokens_out * prices[1]) / 1e6,
        }

    async def _converse(self, request: Request, spent: _Spent) -> _Checked:
        """Return the first usable reply to the request or its `max_repairs` re-asks."""
        room = _first_room(request)
        turns: list[dict[str, str]] = []
        problem = StructureError("")
        for _ in range(self._settings.max_repairs + 1):
            form, said = await self._ask(request, turns, room, spent)
            try:
                checked = _checked(said, request)
            except _CutOffError as error:
                problem = error
                is_prose = not said.text.startswith("{")
                if is_prose and self._form.note_reply(form, request.schema, said.text, False):
                    continue  # repeat it with directions in the prompt
                room *= _MORE_ROOM
                if request.schema:
                    self._cut_off.add(request.schema)
                if repeats_itself(said.text):
                    raise _LoopError(f"it repeats itself, and {error}") from None
            except StructureError as error:
                problem = error
                turns = [
                    {"role": "assistant", "content": said.text[:_MAX_QUOTED] or "(empty)"},
                    {"role": "user", "content": correction(problem) if said.text else _EMPTY},
                ]
                self._form.note_reply(form, request.schema, said.text, False)
            else:
                self._form.note_reply(form, request.schema, said.text, True)
                return checked
        raise problem

    async def _ask(
        self, request: Request, turns: list[dict[str, str]], room: int, spent: _Spent
    ) -> tuple[Form, _Said]:
        """Return reply and form; the first structured request is alone, to find the form out."""
        if request.schema is None or (self._first and self._first.is_set()):
            return await self._negotiate(request, turns, room, spent)
        if self._first:
            await self._first.wait()
            return await self._negotiate(request, turns, room, spent)
        self._first = asyncio.Event()
        try:
            return await self._negotiate(request, turns, room, spent)
        finally:
            self._first.set()

    async def _negotiate(
        self, request: Request, turns: list[dict[str, str]], room: int, spent: _Spent
    ) -> tuple[Form, _Said]:
        """Send the request, in other forms as long as the server rejects it."""
        form = self._form.current
        while True:
            try:
                said = await self._send(request, turns, room, form, spent)
            except EndpointError as failure:
                spent.failed += 1 + failure.retries
                if failure.is_filtered:
                    raise _NotAnsweredError(f"filtered by the server ({failure})") from None
                changed = self._form.adapted(form, request.schema, failure.status, str(failure))
                if changed is None:
                    raise
                form = changed
            else:
                self._form.learn(form)  # stored once the server accepts it
                return form, said

    async def _send(
        self, request: Request, turns: list[dict[str, str]], room: int, form: Form, spent: _Spent
    ) -> _Said:
        messages = opening(request, form.structure_for(request.schema)) + turns
        texts = [message["content"] for message in messages]
        wanted = min(room, self._settings.max_reply_tokens or room)
        room = self._window.reply_room(texts, wanted)
        if room < 1:
            raise StructureError(
                f"the model's context of {self._window.context:,} tokens has no room for another "
                "attempt"
            )
        is_bounded = self._settings.max_reply_tokens or request.schema in self._cut_off
        within = min(room, _first_room(request)) if is_bounded else None
        body = {"model": self._settings.model, "messages": messages}
        body |= form.parameters(request, room, within)
        if self._settings.reasoning_effort:
            body["reasoning_effort"] = self._settings.reasoning_effort
        on_words = None
        is_answer = request.task == "answer" and request.schema is None
        if self._is_alone and is_answer and "stream" not in form.omitted:
            on_words = self._on_words
        if on_words:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        is_final = is_rejection if "response_format" in body else None
        answer = await self._endpoint.post(
            "/chat/completions", body, room, _said, is_final, on_words
        )
        _count(answer, messages, spent)
        said = self._without_reasoning(answer.value, request)
        spent.last = said.text
        return said

    def _without_reasoning(self, said: _Said, request: Request) -> _Said:
        """Return a reply without its reasoning, which the template may open without a mark."""
        prompt = f"{request.instructions}\n{request.render()}"
        text, is_json = said.text, request.schema is not None
        is_closed = closes_reasoning(text, prompt)
        self._closes_reasoning |= is_closed
        is_cut_off = said.finish in _CUT_OFF and text.lstrip()[:1] not in ("{", "[")
        # a model that has closed reasoning was cut off within it
        is_reasoning = self._closes_reasoning and not is_closed and is_cut_off
        answer = "" if is_reasoning else without_reasoning(text, prompt, is_json).strip()
        reasoning = said.reasoning or (text if answer != text.strip() else "")
        return said._replace(text=answer, reasoning=reasoning)


def _first_room(request: Request) -> int:
    """Return the maximum number of tokens of a reply to the first attempt."""
    if request.schema:
        return 1024 + 8 * request.max_words
    return 256 + 4 * request.max_words


def most_spent(request: Request, settings: LlmSettings) -> Amount:
    """Return what a request costs with the longest reply to its first attempt."""
    tokens_in = estimated_tokens(request.instructions) + estimated_tokens(request.render())
    tokens_out = min(_first_room(request), settings.max_reply_tokens or _first_room(request))
    prices = settings.usd_per_million_tokens_in, settings.usd_per_million_tokens_out
    usd = (tokens_in * prices[0] + tokens_out * prices[1]) / 1e6
    return Amount(1, tokens_in + tokens_out, usd)


def opening(request: Request, structure: Structure) -> list[dict[str, str]]:
    """Return the first messages of a request, with directions for JSON where they are needed."""
    instructions = request.instructions
    if request.schema and structure == "prompt":
        instructions += "\n\n" + json_directions(request.schema)
    return [
        {"role": "system", "content": instructions},
        {"role": "user", "content": request.render()},
    ]


def _said(reply: Any) -> _Said:
    """Return what a chat completion holds; raise ValueError if its server failed meanwhile."""
    choice = reply["choices"][0]
    message, finish = choice["message"], choice.get("finish_reason") or ""
    if finish == "error":  # a proxy whose own server failed
        raise ValueError("finish_reason is 'error'")
    content = message.get("content") or ""
    if isinstance(content, list):  # some servers send a list of texts
        content = "".join(item.get("text") or "" for item in content)
    # surrogate pairs are joined, lone surrogates are replaced
    text = content.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    reasoning = reasoning if isinstance(reasoning, str) else ""
    return _Said(text, finish, message.get("refusal") or "", reasoning)


def _checked(said: _Said, request: Request) -> _Checked:
    text, cut_off = said.text, said.finish in _CUT_OFF
    if said.finish == "content_filter" or (said.refusal and not text):
        reason = f"refused: {said.refusal}" if said.refusal else "filtered by the server"
        raise _NotAnsweredError(reason)
    if not text and not cut_off:
        raise StructureError(_SWALLOWED if said.reasoning else "it is empty")
    if request.schema and not cut_off:
        content = read(text, request.schema)
        return _Checked(content.value.model_dump_json(), content.value, content.slips)
    long_enough = max(len(text.split()), len(text) // _CHARS_PER_WORD) >= request.max_words
    if cut_off and said.reasoning and not text:
        raise _CutOffError(_CUT_OFF_IN_REASONING)
    if cut_off and (request.schema or not long_enough):
        raise _CutOffError("it was cut off before its end")
    return _Checked(plain_text(text))


def _count(answer: Answer[_Said], messages: list[dict[str, str]], spent: _Spent) -> None:
    spent.calls += 1
    spent.failed += answer.retries
    tokens_in, tokens_out = answer.tokens_in, answer.tokens_out
    if tokens_in is None:
        tokens_in = sum(estimated_tokens(message["content"]) for message in messages)
    spent.tokens_in += tokens_in
    spent.tokens_out += estimated_tokens(answer.value.text) if tokens_out is None else tokens_out
