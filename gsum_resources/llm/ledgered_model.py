"""A language model with a ledger: no call is paid for twice, every request is on record."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextvars import copy_context
from functools import cached_property

from gsum_resources.llm.ledger import Ledger
from gsum_resources.llm.render import prompt_hash
from gsum_resources.llm.reply_writer import COMPLETIONS, FAILURES, ReplyWriter
from gsum_resources.llm.structure import READING_VERSION
from gsum_resources.llm.tokens import Window
from gsum_resources.parquet_store import ParquetStore
from gsum_resources.protocols import (
    Completion,
    CompletionError,
    LanguageModel,
    OnReply,
    Repeating,
    Reply,
    Request,
)
from gsum_resources.state import state_of

OnProgress = Callable[[int, int, str], None]
"""Called with done, total, and what else is known."""


class LedgeredModel:
    """Wraps a language model: answers from the memo where it can, and enters every request.

    A failed or invalid reply is entered, and not memoized unless it is certain that the model
    would fail again: then it is asked again only after its identity or the reading of replies has
    changed.

    Parameters
    ----------
    on_progress : called with how many requests are answered, of how many, and what these took:
        tokens a second, and the cost so far.
    on_failure : hears the `document_id` of each request that got no valid reply.
    window : gives what the model takes at once; a request that exceeds it is not sent.
    """

    def __init__(
        self,
        model: LanguageModel,
        store: ParquetStore,
        ledger: Ledger,
        on_progress: OnProgress | None = None,
        on_failure: Callable[[str], None] | None = None,
        window: Callable[[], Window] | None = None,
    ) -> None:
        self._model, self._store, self._ledger = model, store, ledger
        self._find_window = window
        self._failure_scope = ""
        if isinstance(model, Repeating):
            scope = f"reading={READING_VERSION}/{model.failure_scope}"
            self._failure_scope = f"{model.identity}/{scope}"
        self._on_progress = on_progress or (lambda done, total, detail: None)
        self._on_failure = on_failure or (lambda document_id: None)

    @property
    def identity(self) -> str:
        """That of the model within."""
        return self._model.identity

    @cached_property
    def window(self) -> Window | None:
        """What the model takes at once; None where nobody knows."""
        return self._find_window() if self._find_window else None

    def complete(self, requests: Sequence[Request], on_reply: OnReply | None = None) -> list[Reply]:
        """Return one result or one error for each request, in order; equal requests are asked once.

        Raises
        ------
        ModelUnavailableError
            If asking on is of no use. What was answered is kept.
        """
        if not requests:
            return []
        places: dict[bytes, list[int]] = {}
        for place, request in enumerate(requests):
            places.setdefault(bytes.fromhex(prompt_hash(self.identity, request)), []).append(place)
        equal = {key: [requests[place] for place in same] for key, same in places.items()}
        tell = self._teller(places, len(requests), on_reply)
        writer = ReplyWriter(self._ledger, self.identity, self._failure_scope, equal, tell)
        writer.recall(*self.known(equal))
        try:
            self._ask(writer, {key: equal[key][0] for key in equal if key not in writer.replies})
        finally:
            writer.close()
        replies = {place: writer.replies[key] for key, same in places.items() for place in same}
        for place, request in enumerate(requests):
            if isinstance(replies[place], CompletionError):
                self._on_failure(request.document_id)
        return [replies[place] for place in range(len(requests))]

    def known(self, keys: Collection[bytes]) -> tuple[dict[bytes, bytes], dict[bytes, bytes]]:
        """Return the completions and the failures that are known, by key."""
        state = state_of(self._store)
        replies = state.replies(COMPLETIONS, self.identity, keys)
        if not self._failure_scope:
            return replies, {}
        left = [key for key in keys if key not in replies]
        return replies, state.replies(FAILURES, self._failure_scope, left)

    def _ask(self, writer: ReplyWriter, missing: Mapping[bytes, Request]) -> None:
        """Ask the model what it has room for; the others are errors at once."""
        keys = []
        for key, request in missing.items():
            if excess := self._excess(request):
                writer.add(key, excess)
            else:
                keys.append(key)
        if keys:
            asked = [missing[key] for key in keys]
            replies = self._model.complete(asked, lambda i, reply: writer.add(keys[i], reply))
            for key, reply in zip(keys, replies, strict=True):
                if key not in writer.added:  # from a model that tells nothing on the way
                    writer.add(key, reply)

    def _excess(self, request: Request) -> CompletionError | None:
        """Return the error of a request that exceeds what the model takes at once."""
        window = self.window
        if window is None or window.context is None or not (excess := window.excess(request)):
            return None
        where = f"the {request.task} request for document '{request.document_id}'"
        message = f"{window.model}: {where} is not sent: {excess}"
        return CompletionError(message, window.model, calls=0)

    def _teller(
        self, places: Mapping[bytes, Sequence[int]], total: int, on_reply: OnReply | None
    ) -> Callable[[bytes, Reply], None]:
        """Tells the reply to a key for each place that wants it, and how many are done."""
        context = copy_context()  # where progress is shown is not known to a model's own threads
        done, pace = 0, _Pace()

        def tell(key: bytes, reply: Reply) -> None:
            nonlocal done
            if on_reply:
                for place in places[key]:
                    on_reply(place, reply)
            done += len(places[key])
            context.run(self._on_progress, done, total, pace.after(reply))

        return tell


class _Pace:
    """What a model took for the replies that were not remembered."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._tokens_out, self._usd = 0, 0.0

    def after(self, reply: Reply) -> str:
        """Return the words on all replies up to this one: `85 tokens a second, $0.12 so far`."""
        if not (isinstance(reply, Completion) and reply.cached):
            self._tokens_out += reply.tokens_out
            self._usd += reply.cost_usd
        seconds = max(time.monotonic() - self._began, 1e-3)
        words = [f"{self._tokens_out / seconds:,.0f} tokens a second"] if self._tokens_out else []
        return ", ".join([*words, f"${self._usd:,.2f} so far"] if self._usd else words)
