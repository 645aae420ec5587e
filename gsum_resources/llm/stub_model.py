"""A language model's understudy: what a run would ask is counted, and nobody is paid.

It bears the identity of the real model, so that the memo is read as in a real run, and lets
another model write. Its tokens are estimates: one for four bytes. The real replies that the memo
has tell how far off that is.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gsum_resources.llm.dialect import Dialect
from gsum_resources.llm.ledger import Ledger
from gsum_resources.llm.ledgered_model import LedgeredModel, OnProgress
from gsum_resources.llm.openai_compatible import estimated_tokens, opening
from gsum_resources.llm.tokens import Window
from gsum_resources.parquet_store import ParquetStore
from gsum_resources.protocols import (
    Completion,
    CompletionError,
    LanguageModel,
    OnReply,
    Reply,
    Request,
)
from gsum_resources.settings import LlmSettings

STUB = "stub"
"""Name of the model in its replies, which tells them from what the memo has of the real one."""
_TOKENS_PER_WORD = 1.3  # of English


class StubModel:
    """A `LanguageModel` that stands in for another.

    Where the writer has nothing to say the beginning of the prompt is the reply. A schema that it
    cannot fill is an error, which counts like a reply of `max_words`.

    Parameters
    ----------
    settings : of the model that it stands in for.
    identity : of that model.
    writer : writes the replies.
    failure_scope : of that model, where it is `Repeating`: what it failed at is not counted again.
    """

    def __init__(
        self, settings: LlmSettings, identity: str, writer: LanguageModel, failure_scope: str = ""
    ) -> None:
        self._identity = identity
        self.failure_scope = failure_scope
        self._writer = writer
        asked = settings.structured_output
        if settings.backend != "openai_compatible":
            self._dialect = Dialect("prompt")
        else:
            self._dialect = Dialect("json_schema" if asked == "auto" else asked)

    @property
    def identity(self) -> str:
        """That of the real model."""
        return self._identity

    def prompt_tokens(self, request: Request) -> int:
        """Estimated tokens of a request's messages."""
        messages = opening(request, self._dialect)
        return sum(estimated_tokens(message["content"]) for message in messages)

    def complete(self, requests: Sequence[Request], on_reply: OnReply | None = None) -> list[Reply]:
        """One completion or error for each request, in order, with estimated tokens."""
        replies: dict[int, Reply] = {}

        def hear(place: int, written: Reply) -> None:
            replies[place] = self._as_served(requests[place], written)
            if on_reply:
                on_reply(place, replies[place])

        self._writer.complete(requests, hear)
        return [replies[place] for place in range(len(requests))]

    def _as_served(self, request: Request, written: Reply) -> Reply:
        tokens_in = self.prompt_tokens(request)
        if isinstance(written, CompletionError):
            if request.schema:
                tokens_out = round(request.max_words * _TOKENS_PER_WORD)
                why = written.message
                return CompletionError(why, STUB, tokens_in=tokens_in, tokens_out=tokens_out)
            written = Completion("", STUB, 0, 0, 0.0)
        text = written.text or " ".join(request.render().split()[: request.max_words])
        tokens_out = estimated_tokens(text)
        return Completion(text, STUB, tokens_in, tokens_out, 0.0, written.parsed)


@dataclass
class Recalled:
    """What remembered replies of a real model took, against what was estimated.

    Attributes
    ----------
    n : replies.
    calls : answers that these took, re-asks included.
    tokens_in : as the server counted them.
    estimated : as `Understudy.prompt_tokens` has them.
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
    """An understudy with memo and ledger, that tells which real replies the memo had.

    Parameters
    ----------
    on_recalled : hears of each.
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
        """As `LedgeredModel` does."""
        replies = super().complete(requests, on_reply)
        for request, reply in zip(requests, replies, strict=True):
            if isinstance(reply, Completion) and reply.cached and reply.model != STUB:
                estimated = self._stub.prompt_tokens(request)
                self._on_recalled(Recalled(1, reply.calls, reply.tokens_in, estimated))
        return replies
