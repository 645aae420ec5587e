"""Replies to a batch of requests, each stored with its row of the ledger before it is reported."""

import logging
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor

from gsum_resources.llm.ledger import Ledger, export_calls
from gsum_resources.llm.memo import decode, decode_failure, storable, storable_failure
from gsum_resources.protocols.models import Completion, CompletionError, Reply, Request
from gsum_resources.state.database import reply_row

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
    failure_scope : of a `Repeating` model; "" for others.
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
            self._note(key, decode_failure(value))

    def add(self, key: bytes, reply: Reply) -> None:
        """Queue a model's reply to be stored and reported. Called from any thread."""
        if self._error:
            raise self._error
        reply, value = storable(reply)
        memo_rows = []
        if value is not None:
            memo_rows = [reply_row(COMPLETIONS, self._identity, key, value)]
        elif isinstance(reply, CompletionError) and reply.repeats and self._failure_scope:
            memo_rows = [reply_row(FAILURES, self._failure_scope, key, storable_failure(reply))]
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
        """Wait until everything is stored, and record the memoized replies.

        Raises the error that prevented a reply from being stored or reported.
        """
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
