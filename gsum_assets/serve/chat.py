"""Conversations as chat clients send them, and the text that is sent back, in any protocol.

A model is a corpus, `board`, which chooses its method, or a corpus and a method, `board/evidence`.
Earlier messages are the conversation before, see `Conversation`. Instructions of the client (roles
`system` and `developer`) and settings of its sampling are not used: the corpus has its prompts.
What front ends write around questions is left out, see `front_ends.py`.
"""

import re
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PositiveInt
from starlette.requests import Request

from gsum_assets.answering.answer import Answer
from gsum_assets.answering.form import checked_schema, in_form
from gsum_assets.answering.methods import chosen_method, is_ready, methods_ready
from gsum_assets.answering.renderings import answer_object
from gsum_assets.corpus.chunk import default_tokenizer
from gsum_assets.corpus.word_pieces import word_pieces
from gsum_assets.registry.families import FAMILIES
from gsum_assets.retrieval.follow_up import Turn
from gsum_assets.serve.ask_api import AskBody, answered
from gsum_assets.serve.front_ends import question_in, task_reply
from gsum_assets.serve.http import RequestError, Words, arriving
from gsum_assets.serve.service import service_of
from gsum_resources.llm.extractive import NAME as EXTRACTIVE

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


class Written(NamedTuple):
    """An answer as it is sent.

    Attributes
    ----------
    text : with the numbers of sources behind sentences; JSON if that was requested.
    ending : the sources that sentences name, and a note, to be read behind the text.
    finish : "stop", or "length" if the text is cut at the requested number of tokens.
    """

    answer: Answer
    text: str
    ending: str = ""
    finish: str = "stop"

    @property
    def sources(self) -> list[dict[str, Any]]:
        """The sources as plain values."""
        return answer_object(self.answer)["sources"]

    @property
    def usage(self) -> Sequence[int]:
        """Tokens that the model read, tokens that it wrote, and both."""
        usage = self.answer.usage
        n_read, n_written = (int(usage.get(name) or 0) for name in ("tokens_in", "tokens_out"))
        return n_read, n_written, n_read + n_written


Ask = Callable[[], Written]
Pieces = AsyncIterator[str | bytes | Written]


def _schema_in(value: Any) -> Any:
    """Return the JSON schema of a requested form of answers; None: text."""
    if not isinstance(value, dict) or value.get("type") == "text":
        return value if not isinstance(value, dict) else None
    form = {**value, **(value.get("json_schema") or {})}
    if not isinstance(form.get("schema"), dict):
        kind = str(value.get("type"))
        raise ValueError(f"type '{kind:.40}' has no schema; send type 'json_schema' with one")
    return checked_schema(form["schema"])


def as_list(value: Any) -> Any:
    """Return a text, or nothing, as a list."""
    return [value] if isinstance(value, str) else value or []


Schema = Annotated[dict[str, Any] | None, BeforeValidator(_schema_in)]
Texts = Annotated[list[str], BeforeValidator(as_list)]


class Chat(BaseModel):
    """A conversation with a model; protocols have names of their own for the last three fields.

    Attributes
    ----------
    form : JSON schema of the answer; None: it is a text.
    stops : texts before which the text ends.
    most_tokens : maximum number of its word pieces; None: any.
    """

    model_config = ConfigDict(extra="allow")
    form_field: ClassVar = "response_format"

    model: str
    messages: list[Message] = Field(min_length=1, max_length=1_000)
    stream: bool | None = False
    form: Schema = None
    stops: Texts = []
    most_tokens: PositiveInt | None = None

    def asked(self, request: Request) -> Ask:
        """Return what answers: the documents, unless the request is about the chat itself."""
        service, (corpus, method) = service_of(request), corpus_and_method(request, self.model)
        workspace = service.snapshot(corpus, method)
        if self.form and workspace.models.identity("answers").startswith(EXTRACTIVE):
            message = (
                f"{self.form_field}: JSON needs a language model, and here answers are sentences "
                "of the documents; set one in [llm] of gsum.toml, or request text"
            )
            raise RequestError(400, "invalid_request", message)
        (turns, last), reply = self.conversation(), None
        if [m.role for m in self.messages if m.role not in _SYSTEM] == ["user"]:
            system = "\n".join(m.text for m in self.messages if m.role in _SYSTEM)
            reply = task_reply(system, last.text, corpus)
        if last.content and not last.text:
            reply = _PICTURE
        question = question_in(last.text)
        note = _UNREAD if reply is None and question != last.text.strip() else ""
        body = AskBody(corpus=corpus, method=method, question=question, history=turns[-100:])

        def written() -> Written:
            answer = answered(service, body) if reply is None else Answer(reply, [])
            if self.form:
                answer = in_form(answer, self.form, workspace, corpus)
                return Written(answer, answer.text)
            return Written(answer, answer.numbered_text, _listed(answer) + note)

        return written

    def whole(self, ask: Ask) -> Written:
        """Return an answer with its ending behind its text."""
        written = ask()
        text, finish = self._cut(written.text + written.ending)
        return written._replace(text=text, finish=finish)

    async def pieces(self, ask: Ask, idle_s: float) -> Pieces:
        """Yield the text of an answer as it arrives, then the whole of it, as it was sent.

        Bytes are comments that keep the connection open.
        """
        text, n_sent, is_void = "", 0, False
        n_held = max(map(len, self.stops), default=1) - 1  # characters that may begin a stop
        async for item in arriving(ask, idle_s):
            if isinstance(item, bytes):
                yield item
                continue
            if isinstance(item, Words):
                is_void = is_void or (item.text is None and text != "")
                text += (item.text or "") if self.form is None and not is_void else ""
            else:
                n_held = 0
                if is_void:  # what was sent cannot be taken back
                    text += f"\n\n{item.text}"
                text = (text or item.text) + item.ending
            cut, finish = self._cut(text)
            unsent = cut[n_sent : len(text) - n_held if cut == text else None]
            n_sent += len(unsent)
            if unsent:
                yield unsent
            if isinstance(item, Written):
                yield item._replace(text=cut, finish=finish)

    def _cut(self, text: str) -> tuple[str, str]:
        """Return a text up to where it is to end, and why it ends: "stop" or "length"."""
        text = text[
            : min((text.find(stop) for stop in self.stops if stop and stop in text), default=None)
        ]
        if self.most_tokens is not None and len(text) > self.most_tokens:
            pieces = word_pieces([text], default_tokenizer())[0]
            if pieces.n > self.most_tokens:
                return text[: pieces.starts[self.most_tokens]], "length"
        return text, "stop"

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


def model_names(request: Request) -> list[str]:
    """Return the names of the models that a request may ask: corpora, and their methods."""
    service, names = service_of(request), []
    for corpus in service.corpora(request):
        if methods := methods_ready(service.snapshot(corpus), corpus):
            names += [corpus, *(f"{corpus}/{method}" for method in methods)]
    return names


def _without_sources(message: Message) -> str:
    """Return an earlier answer as it was before numbers and sources were written into it."""
    return _NUMBERS.sub("", message.text.partition(_SOURCES)[0])


def _listed(answer: Answer) -> str:
    """Return the list of the sources that sentences name, to be read after the text."""
    numbers = sorted({number for sentence in answer.sentences for number in sentence.numbers})
    known: Sequence[Any] = answer.sources
    lines = [f"[{number}] {known[number - 1]}" for number in numbers if number <= len(known)]
    return _SOURCES + "\n".join(lines) if lines else ""
