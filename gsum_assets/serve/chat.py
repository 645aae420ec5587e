"""Conversations as chat clients send them, and the text that is sent back, in any protocol.

A model is a corpus, `board`, which chooses its method, or a corpus and a method, `board/evidence`.
Earlier messages are the conversation before, see `Conversation`. Instructions of the client (roles
`system` and `developer`) and settings of its sampling are not used: the corpus has its prompts.
What front ends write around questions is left out, see `front_ends.py`.
"""

import re
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field
from starlette.requests import Request

from gsum_assets.answering.answer import Answer
from gsum_assets.answering.ask import inputs_of
from gsum_assets.answering.form import in_form, schema_in
from gsum_assets.answering.methods import require_method
from gsum_assets.answering.renderings import answer_object
from gsum_assets.corpus.chunk import default_tokenizer
from gsum_assets.corpus.word_pieces import word_pieces
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.retrieval.follow_up import Turn
from gsum_assets.serve.ask_api import AskBody, answered
from gsum_assets.serve.front_ends import question_in, task_reply
from gsum_assets.serve.http import RequestError, Words, arriving, in_thread
from gsum_assets.serve.pinned import PinnedWorkspace
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
    images: list[Any] | None = None  # of Ollama's protocol

    @property
    def text(self) -> str:
        """The text of the content."""
        if isinstance(self.content, list):
            return "\n".join(str(part["text"]) for part in self.content if part.get("text"))
        return self.content or ""


class Written(NamedTuple):
    """An answer, and the text that is sent of it.

    Attributes `text`: with the numbers and a list of its sources, or JSON if that was requested;
    `finish`: "length" if it is cut at the requested number of tokens, else "stop".
    """

    answer: Answer
    text: str
    sources: Sequence[dict[str, Any]] = ()
    finish: str = "stop"

    def usage(self, *names: str) -> dict[str, int]:
        """Return the tokens that the model read, those that it wrote, and both, by their names."""
        usage = self.answer.usage
        tokens = [int(usage.get(name) or 0) for name in ("tokens_in", "tokens_out")]
        return dict(zip(names, (*tokens, sum(tokens)), strict=False))


Pieces = AsyncIterator[Any]
"""The text of an answer as it arrives, comments (bytes) in between, then `Written`."""


def _as_texts(given: Any) -> Any:
    """Return a text as a list; numbers of tokens, which some clients send, are refused."""
    if isinstance(given, list) and any(isinstance(item, int | list) for item in given):
        raise ValueError("numbers of tokens are those of another model; send texts")
    return [given] if isinstance(given, str) else given or []


Schema = Annotated[dict[str, Any] | None, AfterValidator(schema_in)]
Texts = Annotated[list[str], BeforeValidator(_as_texts)]


class ChatBody(BaseModel):
    """Body of `/v1/chat/completions`; what is not used of it is named in a header.

    The text is JSON by the schema `form`, and ends before `stops` and after `most_tokens` word
    pieces.
    """

    model_config = ConfigDict(extra="allow")

    model: str
    messages: list[Message] = Field(min_length=1, max_length=1_000)
    stream: bool | None = False
    stream_options: dict[str, Any] | None = None
    form: Schema = Field(None, alias="response_format")
    stops: Texts = Field([], alias="stop")
    most_tokens: int | None = Field(
        None, validation_alias=AliasChoices("max_completion_tokens", "max_tokens")
    )

    async def pieces(self, request: Request) -> Pieces:
        """Return the answer in pieces; one that is not streamed has no words of a given-up one."""
        ask = await in_thread(self._asked, request)
        return self._pieces(ask, request.app.state.limits.idle_s)

    def _asked(self, request: Request) -> Callable[[], Written]:
        """Return what answers: the documents, unless the request is about the chat itself."""
        workspace, corpus, method = workspace_of(request, self.model)
        if self.form and workspace.models.identity("answers").startswith(EXTRACTIVE):
            raise ValueError(
                "response_format, text.format, format: JSON needs a language model, and answers "
                "are sentences of the documents; set one in [llm] of gsum.toml, or request text"
            )
        (turns, last), reply = self.conversation(), None
        if [m.role for m in self.messages if m.role not in _SYSTEM] == ["user"]:
            system = "\n".join(m.text for m in self.messages if m.role in _SYSTEM)
            reply = task_reply(system, last.text, corpus)
        if (last.content or last.images) and not last.text:
            reply = _PICTURE
        question = question_in(last.text)
        note = _UNREAD if reply is None and question != last.text.strip() else ""
        body = AskBody(corpus=corpus, method=method, question=question, history=turns[-100:])

        def written() -> Written:
            answer = answered(service_of(request), body) if reply is None else Answer(reply, [])
            sources = answer_object(answer)["sources"]
            if self.form:
                answer = in_form(answer, self.form, inputs_of(workspace, corpus, method))
                return Written(answer, answer.text, sources)
            return Written(answer, answer.numbered_text + _listed(answer) + note, sources)

        return written

    async def _pieces(self, ask: Callable[[], Written], idle_s: float) -> Pieces:
        streams, text, n_sent, is_void = self.stream and not self.form, "", 0, False
        n_held = max(map(len, self.stops), default=1) - 1  # characters that may begin a stop
        async for item in arriving(ask, idle_s):
            if isinstance(item, bytes):
                yield item
                continue
            if isinstance(item, Words):
                is_void = is_void or (item.text is None and text != "")
                text += (item.text or "") if streams and not is_void else ""
            elif is_void:  # what was sent cannot be taken back
                text += f"\n\n{item.text}"
            else:
                text += item.text.removeprefix(item.answer.numbered_text if text else "")
            cut, finish = self._cut(text)
            is_last = isinstance(item, Written)
            unsent = cut[n_sent : None if is_last or cut != text else len(text) - n_held]
            n_sent += len(unsent)
            if unsent:
                yield unsent
            if is_last:
                yield item._replace(text=cut, finish=finish)

    def _cut(self, text: str) -> tuple[str, str]:
        """Return a text up to where it is to end, and why it ends: "stop" or "length"."""
        ends = [text.find(stop) for stop in self.stops if stop and stop in text]
        text = text[: min(ends, default=None)]
        limit = max(0, self.most_tokens or 0)  # -1: none, as some clients say
        starts = word_pieces([text], default_tokenizer())[0].starts if 0 < limit < len(text) else ()
        if len(starts) > limit:
            return text[: starts[limit]], "length"
        return text, "stop"

    def conversation(self) -> tuple[list[Turn], Message]:
        """Return the questions and answers before the user's last message, and that message.

        What follows it, such as the beginning of an answer, is left out: it is answered anew.
        """
        users = [i for i, message in enumerate(self.messages) if message.role == "user"]
        if not users:
            raise ValueError("messages: none is a question of the user")
        turns, question = [], ""
        for message in self.messages[: users[-1]]:
            if message.role == "user":
                question = question_in(message.text)
            elif message.role == "assistant" and message.text and question:
                turns.append(Turn(question, _NUMBERS.sub("", message.text.partition(_SOURCES)[0])))
                question = ""
        return turns, self.messages[users[-1]]

    @property
    def warning(self) -> dict[str, str]:
        """The header that names what the client sends and the answer does not follow."""
        extra = self.model_extra or {}
        given = sorted(k for k, v in extra.items() if v is True or v not in _UNSET)
        names = ", ".join(filter(_NAME.fullmatch, given))
        return {"Warning": f'299 gsum "not used: {names[:1_000]}"'} if names else {}


def workspace_of(request: Request, model: str) -> tuple[PinnedWorkspace, str, str]:
    """Return workspace, corpus and method that the name of a model stands for.

    Without such a model, or if the request may not ask it, `RequestError` is raised.
    """
    service, (corpus, _, method) = service_of(request), model.partition("/")
    service.require(request, corpus)
    method = service.method_of([corpus], method)
    try:
        workspace = service.snapshot(corpus, method)
        require_method(workspace, corpus, method)
    except CorpusError as error:
        message = f"model '{model:.120}': {error}"
        raise RequestError(404, "model_not_found", message) from error
    return workspace, corpus, method


def _listed(answer: Answer) -> str:
    """Return the list of the sources that sentences name, to be read after the text."""
    numbers = sorted({number for sentence in answer.sentences for number in sentence.numbers})
    known: Sequence[Any] = answer.sources
    lines = [f"[{number}] {known[number - 1]}" for number in numbers if number <= len(known)]
    return _SOURCES + "\n".join(lines) if lines else ""
