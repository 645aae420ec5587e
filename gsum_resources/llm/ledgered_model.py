"""A language model with memo and ledger: no reply is paid for twice, every request is recorded."""

import json
import logging
import queue
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from contextvars import copy_context
from functools import cached_property

from gsum_resources.endpoint.budget import Amount, Spending, free_of_charge
from gsum_resources.llm.ledger import Ledger, export_calls
from gsum_resources.llm.memo import as_json, decode, prompt_hash, storable
from gsum_resources.llm.replies import READING_VERSION
from gsum_resources.llm.tokens import Window
from gsum_resources.protocols.models import (
    Completion,
    CompletionError,
    LanguageModel,
    OnReply,
    Reply,
    Request,
)
from gsum_resources.state.database import reply_row, state_of
from gsum_resources.store.parquet_store import ParquetStore

OnProgress = Callable[[int, int, str], None]
"""Callback with done, total, and details."""
ReserveRequests = Callable[[Sequence[Request]], AbstractContextManager[Spending]]
"""Reserves the cost of requests while they are sent."""


class LedgeredModel:
    """Wraps a language model: answers from the memo if possible, and records every request.

    A failure is memoized only if the model would certainly fail again; then the request is repeated
    after the model's identity or the reading of replies has changed.

    Parameters
    ----------
    on_progress : called with the number of answered requests, their total, and details.
    on_failure : called with the `document_id` of each request without a valid reply.
    on_filtered : called instead where a content filter rejects the request, now and later.
    window : returns the model's context window; a request that exceeds it is not sent.
    reserve : reserves the cost of requests that are about to be sent; raises `BudgetError`.
    retries_failures : whether requests are sent again that failed before in a way that repeats.
    """

    def __init__(
        self,
        model: LanguageModel,
        store: ParquetStore,
        ledger: Ledger,
        on_progress: OnProgress | None = None,
        on_failure: Callable[[str], None] | None = None,
        window: Callable[[], Window] | None = None,
        on_filtered: Callable[[str], None] | None = None,
        reserve: ReserveRequests = lambda _: free_of_charge(Amount()),
        retries_failures: bool = False,
    ) -> None:
        self._retries_failures = retries_failures
        self._model, self._store, self._ledger = model, store, ledger
        self._find_window = window
        self._reserve = reserve
        self._failure_scope = ""
        if scope := getattr(model, "failure_scope", ""):
            self._failure_scope = f"{model.identity}/reading={READING_VERSION}/{scope}"
        self._on_progress = on_progress or (lambda done, total, detail: None)
        self._on_failure = on_failure or (lambda document_id: None)
        self._on_filtered = on_filtered or self._on_failure

    @property
    def identity(self) -> str:
        """Identity of the wrapped model."""
        return self._model.identity

    @property
    def reads_weights(self) -> bool:
        """Whether the wrapped model prefers sentences of passages by `Request.weights`."""
        return getattr(self._model, "reads_weights", False)

    @property
    def only_quotes(self) -> bool:
        """Whether the wrapped model puts sentences of the passages together, as `extractive`."""
        return getattr(self._model, "only_quotes", False)

    @cached_property
    def window(self) -> Window | None:
        """The model's context window; None if it is unknown."""
        return self._find_window() if self._find_window else None

    def complete(self, requests: Sequence[Request], on_reply: OnReply | None = None) -> list[Reply]:
        """Return one result or error for each request, in order; equal requests are sent once."""
        if not requests:
            return []
        indices_by_key: dict[bytes, list[int]] = {}
        for index, request in enumerate(requests):
            indices_by_key.setdefault(
                bytes.fromhex(prompt_hash(self.identity, request)), []
            ).append(index)
        equal = {key: [requests[index] for index in same] for key, same in indices_by_key.items()}
        on_stored = self._reply_callback(indices_by_key, len(requests), on_reply)
        # replies of rules are computed again sooner than a transaction ends
        behind = self._store.writes_behind if self.only_quotes else None
        writer = ReplyWriter(
            self._ledger, self.identity, self._failure_scope, equal, on_stored, behind
        )
        writer.recall(*self.known(equal))
        try:
            self._complete_missing(
                writer, {key: equal[key][0] for key in equal if key not in writer.replies}
            )
        finally:
            writer.close()
        replies = {
            index: writer.replies[key] for key, same in indices_by_key.items() for index in same
        }
        for index, request in enumerate(requests):
            reply = replies[index]
            if isinstance(reply, CompletionError):
                report = self._on_filtered if reply.is_filtered else self._on_failure
                report(request.document_id)
        return [replies[index] for index in range(len(requests))]

    def known(self, keys: Collection[bytes]) -> tuple[dict[bytes, bytes], dict[bytes, bytes]]:
        """Return the stored completions and the stored failures, by key."""
        state = state_of(self._store)
        replies = state.replies(COMPLETIONS, self.identity, keys)
        if not self._failure_scope or self._retries_failures:
            return replies, {}
        left = [key for key in keys if key not in replies]
        return replies, state.replies(FAILURES, self._failure_scope, left)

    def _complete_missing(self, writer: "ReplyWriter", missing: Mapping[bytes, Request]) -> None:
        """Send the requests that fit into the model's window; the others are errors."""
        keys = []
        window = self.window
        for key, request in missing.items():
            if window and (excess := window.excess(request)):
                message = f"{window.model}: {request.described} is not sent: {excess}"
                writer.add(key, CompletionError(message, window.model, calls=0))
            else:
                keys.append(key)
        if keys:
            sendable = [missing[key] for key in keys]
            with self._reserve(sendable) as spending:

                def add(index: int, reply: Reply) -> None:
                    tokens = reply.tokens_in + reply.tokens_out
                    spending.add(Amount(reply.calls, tokens, reply.cost_usd))
                    writer.add(keys[index], reply)

                for index, reply in enumerate(self._model.complete(sendable, add)):
                    if keys[index] not in writer.added:  # the model does not call `on_reply`
                        add(index, reply)

    def _reply_callback(
        self, indices_by_key: Mapping[bytes, Sequence[int]], total: int, on_reply: OnReply | None
    ) -> Callable[[bytes, Reply], None]:
        """Return a callback that passes a key's reply to `on_reply` and reports progress."""
        context = copy_context()  # a model's own threads do not inherit the progress display
        done, pace = 0, _Pace()

        def on_stored(key: bytes, reply: Reply) -> None:
            nonlocal done
            if on_reply:
                for index in indices_by_key[key]:
                    on_reply(index, reply)
            done += len(indices_by_key[key])
            context.run(self._on_progress, done, total, pace.after(reply))

        return on_stored


class _Pace:
    """Tokens, time and cost of replies that were not memoized."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._tokens_out, self._usd = 0, 0.0

    def after(self, reply: Reply) -> str:
        """Return details on all replies up to this one: `85 tokens a second, $0.12 so far`."""
        if not (isinstance(reply, Completion) and reply.cached):
            self._tokens_out += reply.tokens_out
            self._usd += reply.cost_usd
        seconds = max(time.monotonic() - self._began, 1e-3)
        words = [f"{self._tokens_out / seconds:,.0f} tokens a second"] if self._tokens_out else []
        return ", ".join([*words, f"${self._usd:,.2f} so far"] if self._usd else words)


COMPLETIONS, FAILURES = "completions", "failures"  # kinds of replies
_MOST_WAITING = 16  # replies for the transaction after the present one
_LOG = logging.getLogger(__name__)
_Arrived = tuple[bytes, Reply, dict, list[dict]]
"""A key, its reply, its row of the ledger, and its rows of `REPLIES`."""


class ReplyWriter:
    """Stores the replies to one batch of requests as they arrive, in a separate thread.

    Replies that arrive while it waits for the disk form the next transaction. While the database
    does not answer, `add` waits, so that no further replies are paid for that may be lost.

    Parameters
    ----------
    failure_scope : what a failure that repeats depends on; "": none repeats.
    requests : equal requests by their key.
    on_stored : called with every key and reply once it is stored, one at a time.
    behind : stores replies later; None: they are awaited.
    """

    def __init__(
        self,
        ledger: Ledger,
        identity: str,
        failure_scope: str,
        requests: Mapping[bytes, Sequence[Request]],
        on_stored: Callable[[bytes, Reply], None],
        behind: Executor | None = None,
    ) -> None:
        self._ledger, self._identity, self._failure_scope = ledger, identity, failure_scope
        self._requests, self._on_stored, self._behind = requests, on_stored, behind
        self.replies: dict[bytes, Reply] = {}
        self.added: set[bytes] = set()
        self._arrived: queue.Queue[_Arrived | None] = queue.Queue(_MOST_WAITING)
        self._writer = threading.Thread(target=self._store, name="replies", daemon=True)
        self._error: Exception | None = None
        self._lock = threading.Lock()

    def recall(self, known: Mapping[bytes, bytes], failed: Mapping[bytes, bytes]) -> None:
        """Report completions and failures that are stored already."""
        for key, value in known.items():
            self._note(key, decode(value, self._requests[key][0].schema, cached=True))
        for key, value in failed.items():
            self._note(key, CompletionError(**json.loads(value)))

    def add(self, key: bytes, reply: Reply) -> None:
        """Queue a model's reply to be stored and reported. Called from any thread."""
        if self._error:
            raise self._error
        reply, value = storable(reply)
        memo_rows = []
        if value is not None:
            memo_rows = [reply_row(COMPLETIONS, self._identity, key, value)]
        elif isinstance(reply, CompletionError) and reply.repeats and self._failure_scope:
            value = as_json(vars(reply)).encode()
            memo_rows = [reply_row(FAILURES, self._failure_scope, key, value)]
        row = self._ledger.row(key, self._requests[key][0], reply)
        if self._behind:
            with self._lock:
                self.added.add(key)
                self._note(key, reply)
            self._behind.submit(_enter_behind, self._ledger, row, memo_rows)
            return
        with self._lock:
            if not self.added:
                self._writer.start()
            self.added.add(key)
        self._arrived.put((key, reply, row, memo_rows))

    def close(self) -> None:
        """Wait until all is stored, and record memoized replies; raise what prevented it."""
        if self.added and not self._behind:
            self._arrived.put(None)
            self._writer.join()
        cached = [
            self._ledger.row(key, request, reply, cached=True)
            for key, reply in self.replies.items()
            if isinstance(reply, Completion) or key not in self.added
            for request in self._requests[key][1 if key in self.added else 0 :]
        ]
        if cached:
            self._ledger.enter(cached)
        # a resident process exports the calls of many questions at once
        if (cached or self.added) and not self._ledger.store.writes_behind:
            export_calls(self._ledger.store, self._ledger.table, self._ledger.corpus)
        if self._error:
            raise self._error

    def _store(self) -> None:
        """Store and report replies from the queue until its end; after an error, drop them."""
        ended = False
        while not ended:
            group = [self._arrived.get()]
            while not self._arrived.empty():
                group.append(self._arrived.get())
            ended = None in group
            arrived = list(filter(None, group))
            if self._error or not arrived:
                continue
            try:
                memo_rows = [row for *_, rows in arrived for row in rows]
                self._ledger.enter([row for _, _, row, _ in arrived], memo_rows)
                for key, reply, *_ in arrived:
                    self._note(key, reply)
            except Exception as error:  # raised in the model's thread and by `close`
                self._error = error

    def _note(self, key: bytes, reply: Reply) -> None:
        self.replies[key] = reply
        self._on_stored(key, reply)


def _enter_behind(ledger: Ledger, row: dict, memo_rows: Sequence[dict]) -> None:
    try:
        ledger.enter([row], memo_rows)
    except Exception:
        _LOG.exception("a reply is not stored")
