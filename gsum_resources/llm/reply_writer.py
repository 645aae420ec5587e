"""Replies to one batch of requests, each stored with its row of the ledger before it is told."""

import queue
import threading
from collections.abc import Callable, Mapping, Sequence

from gsum_resources.llm.ledger import Ledger, export_calls
from gsum_resources.llm.stored_reply import decode, decode_failure, storable, storable_failure
from gsum_resources.protocols import Completion, CompletionError, Reply, Request
from gsum_resources.state import reply_row

COMPLETIONS, FAILURES = "completions", "failures"  # kinds of replies
_Arrived = tuple[bytes, Reply, dict, list[dict]]
"""A reply of a model with its key, its row of the ledger, and what is kept of it."""


class ReplyWriter:
    """The replies to the requests of one batch, stored as they come.

    A thread of its own stores replies: those that arrive while it waits for the disk are the next
    transaction. Of a killed run, only the calls in flight are lost.

    Parameters
    ----------
    identity : of the model.
    failure_scope : of a model that would fail again; "": of another one.
    requests : equal ones by their key.
    tell : called with every key and reply once it is stored, one at a time.

    Attributes
    ----------
    replies : those that were told.
    added : keys of those that came from the model.
    """

    def __init__(
        self,
        ledger: Ledger,
        identity: str,
        failure_scope: str,
        requests: Mapping[bytes, Sequence[Request]],
        tell: Callable[[bytes, Reply], None],
    ) -> None:
        self._ledger, self._identity, self._failure_scope = ledger, identity, failure_scope
        self._requests, self._tell = requests, tell
        self.replies: dict[bytes, Reply] = {}
        self.added: set[bytes] = set()
        self._arrived: queue.SimpleQueue[_Arrived | None] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._store, name="replies", daemon=True)
        self._error: Exception | None = None
        self._lock = threading.Lock()

    def recall(self, known: Mapping[bytes, bytes], failed: Mapping[bytes, bytes]) -> None:
        """Take completions and failures that are stored already."""
        for key, value in known.items():
            self._note(key, decode(value, self._requests[key][0].schema, cached=True))
        for key, value in failed.items():
            self._note(key, decode_failure(value))

    def add(self, key: bytes, reply: Reply) -> None:
        """Have a model's reply stored, which is then told. Called from any thread."""
        if self._error:
            raise self._error
        reply, value = storable(reply)
        kept = []
        if value is not None:
            kept = [reply_row(COMPLETIONS, self._identity, key, value)]
        elif isinstance(reply, CompletionError) and reply.repeats and self._failure_scope:
            kept = [reply_row(FAILURES, self._failure_scope, key, storable_failure(reply))]
        row = self._ledger.row(key, self._requests[key][0], reply)
        with self._lock:
            if not self.added:
                self._writer.start()
            self.added.add(key)
        self._arrived.put((key, reply, row, kept))

    def close(self) -> None:
        """Wait until everything is stored, and put what no model was asked on record, too.

        Raises
        ------
        Exception
            What kept a reply from being stored or told.
        """
        if self.added:
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
        if cached or self.added:
            export_calls(self._ledger.store, self._ledger.table, self._ledger.corpus)
        if self._error:
            raise self._error

    def _store(self) -> None:
        """Store what has arrived, and tell of it, until the end is there."""
        try:
            ended = False
            while not ended:
                group = [self._arrived.get()]
                while not self._arrived.empty():
                    group.append(self._arrived.get())
                ended = None in group
                if arrived := list(filter(None, group)):
                    kept = [row for *_, rows in arrived for row in rows]
                    self._ledger.enter([row for _, _, row, _ in arrived], kept)
                for key, reply, *_ in arrived:
                    self._note(key, reply)
        except Exception as error:  # for the model's thread, and the end
            self._error = error

    def _note(self, key: bytes, reply: Reply) -> None:
        self.replies[key] = reply
        self._tell(key, reply)
