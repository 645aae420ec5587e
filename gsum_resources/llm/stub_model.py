"""A stub of a language model: counts the requests of a run without sending them.

It has the identity of the real model, so that the memo is read as in a real run, and another model
writes the replies. Token counts are estimates: four bytes each. Memoized replies of the real model
show the error of the estimate.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gsum_resources.llm.dialect import Dialect
from gsum_resources.llm.ledger import Ledger
from gsum_resources.llm.ledgered_model import LedgeredModel, OnProgress
from gsum_resources.llm.openai_compatible import estimated_tokens, opening
from gsum_resources.llm.tokens import Window
from gsum_resources.protocols.models import (
    Completion,
    CompletionError,
    LanguageModel,
    OnReply,
    Reply,
    Request,
)
from gsum_resources.settings.schema import LlmSettings
from gsum_resources.store.content_hash import hash_texts
from gsum_resources.store.parquet_store import ParquetStore

STUB = "stub"
"""Name of the model in its replies, which distinguishes them from memoized real ones."""
_TOKENS_PER_WORD = 1.3  # of English
_MOST_ITEMS = 10  # of a list of questions, personas or tasks


class StubModel:
    """A `LanguageModel` that replaces another one.

    If the writer returns an empty text, the reply is the beginning of the prompt. A schema that it
    cannot fill is an error, which counts as a reply of `max_words`; but lists of questions, from
    which further requests follow, are invented.

    Parameters
    ----------
    failure_scope : that of a `Repeating` model, whose stored failures are not counted again.
    """

    def __init__(
        self, settings: LlmSettings, identity: str, writer: LanguageModel, failure_scope: str = ""
    ) -> None:
        self._identity = identity
        self.failure_scope = failure_scope
        self._writer = writer
        requested = settings.structured_output
        if settings.backend != "openai_compatible":
            self._dialect = Dialect("prompt")
        else:
            self._dialect = Dialect("json_schema" if requested == "auto" else requested)

    @property
    def identity(self) -> str:
        """Identity of the real model."""
        return self._identity

    def prompt_tokens(self, request: Request) -> int:
        """Return the estimated number of tokens of a request's messages."""
        messages = opening(request, self._dialect)
        return sum(estimated_tokens(message["content"]) for message in messages)

    def complete(self, requests: Sequence[Request], on_reply: OnReply | None = None) -> list[Reply]:
        """Return one completion or error for each request, in order, with estimated tokens."""
        replies: dict[int, Reply] = {}

        def on_written(index: int, written: Reply) -> None:
            replies[index] = self._as_served(requests[index], written)
            if on_reply:
                on_reply(index, replies[index])

        self._writer.complete(requests, on_written)
        return [replies[index] for index in range(len(requests))]

    def _as_served(self, request: Request, written: Reply) -> Reply:
        tokens_in = self.prompt_tokens(request)
        if isinstance(written, CompletionError):
            if request.schema:
                tokens_out = round(request.max_words * _TOKENS_PER_WORD)
                why = written.message
                if request.task == "question":
                    invented = request.schema.model_validate(_invented(request))
                    return Completion("", STUB, tokens_in, tokens_out, 0.0, invented)
                return CompletionError(why, STUB, tokens_in=tokens_in, tokens_out=tokens_out)
            written = Completion("", STUB, 0, 0, 0.0)
        text = written.text or " ".join(request.render().split()[: request.max_words])
        tokens_out = estimated_tokens(text)
        return Completion(text, STUB, tokens_in, tokens_out, 0.0, written.parsed)


def _invented(request: Request) -> Any:
    """Return a value of the request's schema whose lists are full and whose texts all differ."""
    assert request.schema
    whole = request.schema.model_json_schema()

    def value_of(schema: Mapping[str, Any], place: str) -> Any:
        if reference := schema.get("$ref"):
            return value_of(whole["$defs"][reference.rpartition("/")[2]], place)
        match schema.get("type"):
            case "object":
                return {
                    key: value_of(each, place + key) for key, each in schema["properties"].items()
                }
            case "array":
                return [value_of(schema["items"], f"{place}{n}") for n in range(_MOST_ITEMS)]
            case "string":
                digits = hash_texts([request.render(), place], 15)
                return " ".join(digits[start : start + 6] for start in range(0, 30, 6))
            case _:
                return 1

    return value_of(whole, "")


@dataclass
class Recalled:
    """Cost of memoized replies of a real model, and its estimate.

    Attributes
    ----------
    calls : number of answers, re-asks included.
    tokens_in : prompt tokens as counted by the server.
    estimated : prompt tokens as estimated by `StubModel.prompt_tokens`.
    """

    n: int = 0
    calls: int = 0
    tokens_in: int = 0
    estimated: int = 0

    def __add__(self, other: "Recalled") -> "Recalled":
        return Recalled(
            self.n + other.n,
            self.calls + other.calls,
            self.tokens_in + other.tokens_in,
            self.estimated + other.estimated,
        )


class DryRunModel(LedgeredModel):
    """A stub model with memo and ledger, which reports memoized real replies.

    Parameters
    ----------
    on_recalled : called for each memoized reply of the real model.
    """

    def __init__(
        self,
        stub: StubModel,
        store: ParquetStore,
        ledger: Ledger,
        on_progress: OnProgress | None,
        on_failure: Callable[[str], None] | None,
        on_recalled: Callable[[Recalled], None],
        window: Callable[[], Window] | None = None,
    ) -> None:
        super().__init__(stub, store, ledger, on_progress, on_failure, window)
        self._stub = stub
        self._on_recalled = on_recalled

    def complete(self, requests: Sequence[Request], on_reply: OnReply | None = None) -> list[Reply]:
        """Return replies as `LedgeredModel.complete`; report memoized real ones."""
        replies = super().complete(requests, on_reply)
        for request, reply in zip(requests, replies, strict=True):
            if isinstance(reply, Completion) and reply.cached and reply.model != STUB:
                estimated = self._stub.prompt_tokens(request)
                self._on_recalled(Recalled(1, reply.calls, reply.tokens_in, estimated))
        return replies
