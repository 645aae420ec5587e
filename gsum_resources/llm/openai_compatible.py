"""A language model on any server that supports OpenAI's chat protocol."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from pydantic import BaseModel

from gsum_resources.endpoint import Answer, Endpoint, EndpointError
from gsum_resources.endpoint.budget import Amount
from gsum_resources.endpoint.stream import OnWords
from gsum_resources.llm.context_limit import stated_limit
from gsum_resources.llm.dialect import Dialect, is_rejection, is_unexplained
from gsum_resources.llm.directions import DIRECTIONS_VERSION, json_directions
from gsum_resources.llm.grammar import repeats_itself
from gsum_resources.llm.learnt_dialect import LearntDialect
from gsum_resources.llm.replies import StructureError, correction, read, salvage
from gsum_resources.llm.replies.json_text import plain_text
from gsum_resources.llm.replies.reasoning import closes_reasoning, without_reasoning
from gsum_resources.llm.tokens import Window, most_tokens
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
_BYTES_PER_TOKEN = 4  # if a server does not count tokens
_ATTEMPTS_WITH_FORM = 2  # that fail without a reason, before a plain request is tried

_TOO_LONG = frozenset({400, 413, 422, 500})  # statuses of requests above the context length

_log = logging.getLogger(__name__)


class _Said(NamedTuple):
    """A reply; `reasoning`: what the server, or its mark, separates from the text.

    `model` is the name of the model that the server states.
    """

    text: str
    finish: str
    refusal: str
    reasoning: str = ""
    model: str = ""


class _Checked(NamedTuple):
    """A usable reply; for `slips` see `Completion`."""

    text: str
    parsed: BaseModel | None = None
    slips: tuple[str, ...] = ()


class _CutOffError(StructureError):
    """A reply that exceeded its maximum length."""


class _NotAnsweredError(Exception):
    """A request that the model, or a content filter, refuses to answer."""


@dataclass
class _Spent:
    """Cost of one request, re-asks included.

    Failed attempts are counted separately from calls: they vary between runs, and a stored reply
    must not. `last` is the model's last reply.
    """

    calls: int = 0
    failed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    last: str = ""


class OpenAICompatibleModel:
    """A `LanguageModel` served over HTTP.

    A reply may have `256 + 4 * max_words` tokens (English has 1.3 per word, other scripts up to
    three), a structured one `1024 + 8 * max_words` for names and brackets. A truncated reply is
    requested again with four times as many, as a reasoning model may need. A free text that is
    truncated beyond the requested length is accepted.

    Parameters
    ----------
    window : returns the model's context window, which limits the length of replies.
    on_context : called with the context length that the server states when it rejects a request as
        too long, if it was unknown or said to be longer.
    facts : what earlier runs have learnt of the server; None: nothing is stored.
    on_words : called with the pieces of an answer that is requested alone, as they arrive; None:
        replies are not streamed.
    """

    def __init__(
        self,
        settings: LlmSettings,
        endpoint: Endpoint,
        window: Callable[[], Window] | None = None,
        on_context: Callable[[int], None] | None = None,
        facts: ServerFacts | None = None,
        on_words: OnWords | None = None,
    ) -> None:
        self._on_words = on_words
        self._streams = False
        self._settings = settings
        self._find_window = window
        self._on_context = on_context or (lambda context: None)
        self._stated_context: int | None = None  # by a rejection
        self._window = Window(settings.model, most_tokens)
        self._endpoint = endpoint
        self._learnt = LearntDialect(settings, facts)
        self._cut_off: set[type[BaseModel]] = set()  # schemas whose lists were endless
        self._closes_reasoning = False  # whether a reply closed reasoning that it did not open
        self._first: asyncio.Event | None = None  # set after the first structured request

    @property
    def identity(self) -> str:
        """Backend, model, version, and settings of structure, reply length and effort."""
        settings = self._settings
        fields = [f"openai_compatible-{VERSION}", settings.model]
        fields += [f"version={settings.version}"] if settings.version else []
        if settings.structured_output != "auto":
            if settings.structured_output != "json_schema":
                fields.append(f"directions={DIRECTIONS_VERSION}")
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
        """Format of structured replies, as far as it is known."""
        return self._learnt.format

    def probe_again(self) -> None:
        """Find out anew in which form the server supports requests."""
        self._learnt.probe_again()

    def complete(self, requests: Sequence[Request], on_reply: OnReply | None = None) -> list[Reply]:
        """Return one completion or error for each request, in order; prompts are never cut.

        `on_reply` is called in the calling thread.
        """
        if self._find_window and requests:
            self._window = self._find_window()
        self._learnt.recall()
        self._streams = self._on_words is not None and len(requests) == 1
        return self._endpoint.map(self._reply, requests, on_reply)

    async def _reply(self, request: Request) -> Reply:
        started, spent, model = time.perf_counter(), _Spent(), self._settings.model
        try:
            found = await self._converse(request, spent)
        except (StructureError, EndpointError, _NotAnsweredError) as problem:
            is_filtered = isinstance(problem, _NotAnsweredError)
            error = f"{model}: {request.described}: {problem}"
        else:
            account = self._account(started, spent)
            return Completion(found.text, model, **account, parsed=found.parsed, slips=found.slips)
        account = self._account(started, spent)
        is_final = {"repeats": is_filtered, "is_filtered": is_filtered}
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
            sent = self._learnt.for_schema(request.schema).format
            said = await self._ask(request, turns, room, spent)
            try:
                checked = _checked(said, request)
                if request.schema:
                    self._learnt.note_obeyed(request.schema, said.text)
                return checked
            except _CutOffError as error:
                problem = error
                if self._learnt.note_ignored(request.schema, said.text, sent, is_cut_off=True):
                    continue  # repeat in another format
                room *= _MORE_ROOM
                if request.schema:
                    self._cut_off.add(request.schema)
                if repeats_itself(said.text):  # it would fill any maximum length
                    if kept := _kept(said, request):
                        return kept
                    break
            except StructureError as error:
                problem = error
                turns = [
                    {"role": "assistant", "content": said.text[:_MAX_QUOTED] or "(empty)"},
                    {"role": "user", "content": correction(problem) if said.text else _EMPTY},
                ]
                self._learnt.note_ignored(request.schema, said.text, sent)
        raise problem

    async def _ask(
        self, request: Request, turns: list[dict[str, str]], room: int, spent: _Spent
    ) -> _Said:
        """Send a request in the form that its server supports, and return the reply.

        The first structured request is sent alone, so that the server's format is learnt once.
        """
        if request.schema is None:
            return await self._negotiate(request, turns, room, spent)
        if self._first is None:
            self._first = asyncio.Event()
            try:
                return await self._negotiate(request, turns, room, spent)
            finally:
                self._first.set()
        await self._first.wait()
        return await self._negotiate(request, turns, room, spent)

    async def _negotiate(
        self, request: Request, turns: list[dict[str, str]], room: int, spent: _Spent
    ) -> _Said:
        """Send the request, in other forms as long as the server rejects it.

        A failure without a reason may be due to the form or to the server. It is due to the form if
        the request is answered without the form, and fails again with it.
        """
        changes: dict[str, Any] = {}
        plain: _Said | None = None
        while True:
            dialect = replace(self._learnt.for_schema(request.schema), **changes)
            on_trial = self._learnt.is_on_trial(request.schema, dialect)
            patience = (1 if plain else _ATTEMPTS_WITH_FORM) if on_trial else 0
            said = await self._sent(request, turns, room, dialect, patience, spent)
            if isinstance(said, _Said):  # changes are stored once the server accepts them
                accepted = dialect.format if request.schema else None
                self._learnt.learn(request.schema, changes, accepted, said.model)
                return said
            if said.is_filtered:
                raise _NotAnsweredError(f"filtered by the server ({said})")
            if smaller := self._room_after(request, turns, said, room):
                room = smaller
                continue
            change = self._learnt.changes_after(request.schema, dialect, said.status, str(said))
            if on_trial and is_unexplained(said.status) and not change:
                if plain is None:
                    prompt = replace(dialect, format="prompt")
                    found = await self._sent(request, turns, room, prompt, 0, spent)
                    if isinstance(found, EndpointError):
                        raise found
                    plain = found
                    continue
                changes["format"] = dialect.lower_format
                if dialect.lower_format == "prompt":
                    self._learnt.learn(request.schema, changes, None, plain.model)
                    return plain
            elif change:
                changes |= change
            else:
                raise said

    async def _sent(
        self,
        request: Request,
        turns: list[dict[str, str]],
        room: int,
        dialect: Dialect,
        patience: int,
        spent: _Spent,
    ) -> _Said | EndpointError:
        """Send the request once, and return the reply or the failure.

        Parameters
        ----------
        patience : number of attempts after which a failure may be due to the form; 0: never.
        """
        messages = opening(request, dialect) + turns
        room = self._reply_room(request, messages, room)
        body = {"model": self._settings.model, "messages": messages}
        is_bounded = self._settings.max_reply_tokens or request.schema in self._cut_off
        within = min(room, _first_room(request)) if is_bounded else None
        body |= dialect.parameters(request, room, within)
        if self._settings.reasoning_effort:
            body["reasoning_effort"] = self._settings.reasoning_effort

        def is_final(failure: EndpointError, attempts: int) -> bool:
            if is_rejection(failure.status, str(failure)):
                return patience > 0
            if failure.status in _TOO_LONG and stated_limit(failure.body):
                return True
            return is_unexplained(failure.status) and 0 < patience <= attempts

        on_words = None
        if self._streams and request.task == "answer" and request.schema is None:
            on_words = self._on_words
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        try:
            answer = await self._endpoint.post(
                "/chat/completions", body, room, _said, is_final, on_words
            )
        except EndpointError as error:
            spent.failed += 1 + error.retries
            if on_words and error.status in (400, 422) and "stream" in str(error):
                self._on_words, self._streams = None, False  # the server cannot stream
                return await self._sent(request, turns, room, dialect, patience, spent)
            return error
        _count(answer, messages, spent)
        said = self._without_reasoning(answer.value, request)
        spent.last = said.text
        return said

    def _without_reasoning(self, said: _Said, request: Request) -> _Said:
        """Return a reply without its reasoning.

        A server whose template opens the reasoning sends no mark if the reply was cut off before
        the reasoning ended: such a reply of a model that has closed others holds no answer.
        """
        prompt = f"{request.instructions}\n{request.render()}"
        text = said.text
        is_closed = closes_reasoning(text, prompt)
        self._closes_reasoning |= is_closed
        is_cut_off = said.finish in _CUT_OFF and text.lstrip()[:1] not in ("{", "[")
        is_reasoning = self._closes_reasoning and not is_closed and is_cut_off
        answer = "" if is_reasoning else without_reasoning(text, prompt).strip()
        reasoning = said.reasoning or (text if answer != text.strip() else "")
        return said._replace(text=answer, reasoning=reasoning)

    def _room_after(
        self, request: Request, turns: list[dict[str, str]], failure: EndpointError, room: int
    ) -> int | None:
        """Return the tokens of a reply that fits a context length which the server has stated.

        Raises
        ------
        EndpointError
            If the prompt leaves no room for a reply.
        """
        limit = stated_limit(failure.body) if failure.status in _TOO_LONG else None
        if limit is None:
            return None
        self._learn_context(limit.context)
        texts = [
            m["content"] for m in opening(request, self._learnt.for_schema(request.schema)) + turns
        ]
        n_tokens = limit.prompt or sum(self._window(texts))
        left = limit.context - n_tokens
        if left >= min(room, self._settings.max_reply_tokens or room):
            raise failure  # the server counts otherwise
        if left < self._window.reply_tokens(request):
            reason = self._window.excess_of(n_tokens, request)
            raise EndpointError(reason, failure.status, failure.retries)
        return left

    def _learn_context(self, context: int) -> None:
        """Store the context length that the server states, unless a shorter one is known."""
        if self._stated_context is None or context < self._stated_context:
            self._stated_context = context
            if self._window.context is None or context < self._window.context:
                _log.info("%s: the context holds %s tokens", self._settings.model, f"{context:,}")
                self._window = replace(self._window, context=context)
                self._on_context(context)

    def _reply_room(self, request: Request, messages: list[dict[str, str]], wanted: int) -> int:
        """Return the maximum number of tokens of a reply, by the settings and the context."""
        wanted = min(wanted, self._settings.max_reply_tokens or wanted)
        texts = [message["content"] for message in messages]
        room = self._window.reply_room(request, texts, wanted)
        if room < 1 and self._stated_context and self._window.count is most_tokens:
            # the upper bound may be wrong by half, and the server counts
            room = min(wanted, self._window.reply_tokens(request))
        if room < 1:
            raise StructureError(
                f"the model's context of {self._window.context:,} tokens has no room for another "
                "attempt"
            )
        return room


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


def opening(request: Request, dialect: Dialect) -> list[dict[str, str]]:
    """Return the first messages of a request, with directions for JSON where they are needed."""
    instructions = request.instructions
    if request.schema and dialect.format != "json_schema":
        is_enforced = dialect.format in ("json_object_schema", "guided_json")
        instructions += "\n\n" + json_directions(request.schema, is_enforced)
    return [
        {"role": "system", "content": instructions},
        {"role": "user", "content": request.render()},
    ]


def _said(reply: Any) -> _Said:
    choice = reply["choices"][0]
    message = choice["message"]
    content = message.get("content") or ""
    if isinstance(content, list):  # some servers send a list of texts
        content = "".join(item.get("text") or "" for item in content)
    # surrogate pairs are joined, lone surrogates are replaced
    text = content.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    finish, refusal = choice.get("finish_reason") or "", message.get("refusal") or ""
    reasoning = reasoning if isinstance(reasoning, str) else ""
    return _Said(text, finish, refusal, reasoning, str(reply.get("model") or ""))


def _checked(said: _Said, request: Request) -> _Checked:
    text, cut_off = said.text, said.finish in _CUT_OFF
    if said.finish == "content_filter" or (said.refusal and not text):
        reason = f"refused: {said.refusal}" if said.refusal else "filtered by the server"
        raise _NotAnsweredError(reason)
    if not text and not cut_off:
        raise StructureError(_SWALLOWED if said.reasoning else "it is empty")
    if request.schema and not cut_off:
        content = read(text, request.schema, truncated=False)
        return _Checked(content.value.model_dump_json(), content.value, content.slips)
    long_enough = max(len(text.split()), len(text) // _CHARS_PER_WORD) >= request.max_words
    if cut_off and said.reasoning and not text:
        raise _CutOffError(_CUT_OFF_IN_REASONING)
    if cut_off and (request.schema or not long_enough):
        raise _CutOffError("it was cut off before its end")
    return _Checked(plain_text(text))


def _kept(said: _Said, request: Request) -> _Checked | None:
    """Return the complete items of a list that repeated itself until it was cut off."""
    if not request.schema:
        return None
    found, slips = salvage(said.text, request.schema)
    if found is None:
        return None
    return _Checked(found.model_dump_json(), found, (*slips, "what it repeated, to be cut off"))


def _count(answer: Answer[_Said], messages: list[dict[str, str]], spent: _Spent) -> None:
    spent.calls += 1
    spent.failed += answer.retries
    tokens_in, tokens_out = answer.tokens_in, answer.tokens_out
    if tokens_in is None:
        tokens_in = sum(estimated_tokens(message["content"]) for message in messages)
    spent.tokens_in += tokens_in
    spent.tokens_out += estimated_tokens(answer.value.text) if tokens_out is None else tokens_out


def estimated_tokens(text: str) -> int:
    """Return the estimated number of tokens of a text: four bytes each."""
    return -(-len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN)
